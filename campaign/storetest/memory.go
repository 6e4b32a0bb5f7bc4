package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/nextbatch/nextbatch/campaign"
)

// Memory is a store that lives as long as the process. Events are kept as JSON, so what
// cannot be stored elsewhere cannot be stored here. The zero value is an empty store.
type Memory struct {
	mu    sync.Mutex
	byKey map[string]*kept
}

type kept struct {
	log   [][]byte
	blobs map[string][]byte
	locks map[string]chan struct{}
}

var _ campaign.Store = (*Memory)(nil)

// Create implements campaign.Store.
func (m *Memory) Create(_ context.Context, name string, log []campaign.Event, blobs []campaign.Blob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey[name] != nil {
		return campaign.ErrExists
	}
	k := &kept{blobs: map[string][]byte{}, locks: map[string]chan struct{}{}}
	if err := k.insert(0, log, blobs); err != nil {
		return err
	}
	if m.byKey == nil {
		m.byKey = map[string]*kept{}
	}
	m.byKey[name] = k
	return nil
}

func (k *kept) insert(after int64, log []campaign.Event, blobs []campaign.Blob) error {
	var list [][]byte
	for i, e := range log {
		if e.Seq != after+1+int64(i) {
			return fmt.Errorf("event %d cannot follow event %d", e.Seq, after+int64(i))
		}
		raw, err := campaign.EncodeEvent(e)
		if err != nil {
			return err
		}
		list = append(list, raw)
	}
	k.log = append(k.log, list...)
	for _, b := range blobs {
		k.blobs[b.Key] = slices.Clone(b.Data)
	}
	return nil
}

func (m *Memory) find(name string) (*kept, error) {
	if k := m.byKey[name]; k != nil {
		return k, nil
	}
	return nil, campaign.ErrNotFound
}

// Campaigns implements campaign.Store.
func (m *Memory) Campaigns(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.byKey)), nil
}

// Append implements campaign.Store.
func (m *Memory) Append(_ context.Context, name string, after int64, events []campaign.Event,
	blobs []campaign.Blob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(name)
	if err != nil {
		return err
	}
	if int64(len(k.log)) != after {
		return campaign.ErrConflict
	}
	return k.insert(after, events, blobs)
}

// Events implements campaign.Store.
func (m *Memory) Events(_ context.Context, name string, after int64) (list []campaign.Event, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(name)
	if err != nil {
		return nil, err
	}
	for _, raw := range k.log[min(after, int64(len(k.log))):] {
		e, err := new(campaign.EventDecoder).Decode(raw)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Blob implements campaign.Store.
func (m *Memory) Blob(_ context.Context, name, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(name)
	if err != nil {
		return nil, err
	}
	data, ok := k.blobs[key]
	if !ok {
		return nil, campaign.ErrNotFound
	}
	return slices.Clone(data), nil
}

// Blobs implements campaign.Store.
func (m *Memory) Blobs(_ context.Context, name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(k.blobs)), nil
}

// PutBlob implements campaign.Store.
func (m *Memory) PutBlob(_ context.Context, name string, blob campaign.Blob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(name)
	if err != nil {
		return err
	}
	return k.insert(0, nil, []campaign.Blob{blob})
}

// Lock implements campaign.Store.
func (m *Memory) Lock(ctx context.Context, name, purpose string) (unlock func() error, err error) {
	m.mu.Lock()
	k, err := m.find(name)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	lock := k.locks[purpose]
	if lock == nil {
		lock = make(chan struct{}, 1)
		k.locks[purpose] = lock
	}
	m.mu.Unlock()
	select {
	case lock <- struct{}{}:
		return func() error { <-lock; return nil }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements campaign.Store.
func (m *Memory) Close() error { return nil }
