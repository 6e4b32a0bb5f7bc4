// Package storetest has the tests that every store of campaigns passes, and a store in
// memory for other tests.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/limits"
)

// Opener opens a store. All stores that it opens show the same campaigns, as those of
// several processes do.
type Opener func() campaign.Store

// Run runs the suite. The function returns an opener of an empty store.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Opener)
	}{
		{"Create", testCreate}, {"Append", testAppend}, {"Conflict", testConflict},
		{"NotFound", testNotFound}, {"Blobs", testBlobs},
		{"EventsComeBack", testEventsComeBack}, {"Lock", testLock}, {"LockEndsWithTheContext", testLockEnds},
		{"AllAtOnce", testAllAtOnce},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fresh(t)) })
	}
}

// Created returns the first event of a campaign with one input, "x", and the target "y".
func Created() campaign.Event {
	return campaign.Event{Seq: 1, Time: instant(1), Person: "ada", Created: &campaign.Created{
		Identity: "identity", Targets: []string{"y"}, Columns: []campaign.Column{{Name: "x", Kind: "numeric"}},
	}}
}

func instant(seq int64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, int(seq), 123456789, time.UTC)
}

func event(seq int64, reason string) campaign.Event {
	return campaign.Event{Seq: seq, Time: instant(seq),
		Retired: &campaign.RowList{Rows: []campaign.RowRef{{Row: seq, ID: "id"}}, Reason: reason}}
}

func create(t *testing.T, s campaign.Store, name string) {
	t.Helper()
	if err := s.Create(t.Context(), name, []campaign.Event{Created()}, nil); err != nil {
		t.Fatal(err)
	}
}

func mustAppend(t *testing.T, s campaign.Store, name string, after int64, blobs []campaign.Blob,
	events ...campaign.Event) {
	t.Helper()
	if err := s.Append(t.Context(), name, after, events, blobs); err != nil {
		t.Fatal(err)
	}
}

func log(t *testing.T, s campaign.Store, name string, after int64) []campaign.Event {
	t.Helper()
	list, err := s.Events(t.Context(), name, after)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func text(t *testing.T, log []campaign.Event) string {
	t.Helper()
	var all bytes.Buffer
	for _, e := range log {
		raw, err := campaign.EncodeEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(raw, '\n'))
	}
	return all.String()
}

func testCreate(t *testing.T, open Opener) {
	s, other := open(), open()
	if names, err := s.Campaigns(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("a new store has the campaigns %v, %v", names, err)
	}
	create(t, s, "zebra")
	create(t, s, "Ärger '\"; --")
	if err := other.Create(t.Context(), "zebra", []campaign.Event{Created()},
		[]campaign.Blob{{Key: "k"}}); !errors.Is(err, campaign.ErrExists) {
		t.Errorf("the second campaign of the same name: %v", err)
	}
	if _, err := s.Blob(t.Context(), "zebra", "k"); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a refused campaign left a blob: %v", err)
	}
	names, err := other.Campaigns(t.Context())
	if want := []string{"zebra", "Ärger '\"; --"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("campaigns are %q, %v; want %q", names, err, want)
	}
	invalid := Created()
	invalid.Created = nil
	if err := s.Create(t.Context(), "invalid", []campaign.Event{invalid}, nil); err == nil {
		t.Error("an event without a payload was stored")
	}
	if _, err := s.Events(t.Context(), "invalid", 0); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a refused campaign exists: %v", err)
	}
}

func testAppend(t *testing.T, open Opener) {
	s := open()
	create(t, s, "a")
	create(t, s, "b")
	mustAppend(t, s, "a", 1, nil, event(2, "two"), event(3, "three"))
	mustAppend(t, open(), "a", 3, nil, event(4, "four"))
	if got, want := text(t, log(t, open(), "a", 0)), text(t, []campaign.Event{Created(), event(2, "two"),
		event(3, "three"), event(4, "four")}); got != want {
		t.Errorf("the log is\n%s, want\n%s", got, want)
	}
	if got := log(t, s, "a", 3); len(got) != 1 || got[0].Seq != 4 {
		t.Errorf("after event 3 there is %v", got)
	}
	if got := log(t, s, "a", 4); len(got) != 0 {
		t.Errorf("after the last event there is %v", got)
	}
	if got := log(t, s, "b", 0); len(got) != 1 {
		t.Errorf("the log of another campaign has %d events", len(got))
	}
}

func testConflict(t *testing.T, open Opener) {
	s := open()
	create(t, s, "c")
	mustAppend(t, s, "c", 1, []campaign.Blob{{Key: "k", Data: []byte("old")}}, event(2, "mine"))
	for after := range int64(5) {
		if after == 2 {
			continue
		}
		err := open().Append(t.Context(), "c", after, []campaign.Event{event(after+1, "theirs")},
			[]campaign.Blob{{Key: "k", Data: []byte("new")}})
		if !errors.Is(err, campaign.ErrConflict) {
			t.Errorf("appending after event %d of 2: %v", after, err)
		}
	}
	if err := s.Append(t.Context(), "c", 2, []campaign.Event{event(4, "a gap")}, nil); err == nil ||
		errors.Is(err, campaign.ErrConflict) {
		t.Errorf("an event with the wrong number: %v", err)
	}
	if err := s.Append(t.Context(), "c", 2, []campaign.Event{event(3, "right"), {Seq: 4}}, nil); err == nil {
		t.Error("an event without a payload was stored")
	}
	if got := log(t, s, "c", 0); len(got) != 2 {
		t.Errorf("refused events are in the log: %v", got)
	}
	if data, err := s.Blob(t.Context(), "c", "k"); err != nil || string(data) != "old" {
		t.Errorf("the blob is %q, %v", data, err)
	}
}

func testNotFound(t *testing.T, open Opener) {
	s := open()
	_, events := s.Events(t.Context(), "none", 0)
	_, blob := s.Blob(t.Context(), "none", "k")
	_, keys := s.Blobs(t.Context(), "none")
	_, lock := s.Lock(t.Context(), "none", "ask")
	for what, err := range map[string]error{
		"Events": events, "Blob": blob, "Blobs": keys, "Lock": lock,
		"Append":  s.Append(t.Context(), "none", 0, []campaign.Event{Created()}, nil),
		"PutBlob": s.PutBlob(t.Context(), "none", campaign.Blob{Key: "k"}),
	} {
		if !errors.Is(err, campaign.ErrNotFound) {
			t.Errorf("%s of a campaign that does not exist: %v", what, err)
		}
	}
}

func testBlobs(t *testing.T, open Opener) {
	s := open()
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(i * i >> 7)
	}
	if err := s.Create(t.Context(), "c", []campaign.Event{Created()},
		[]campaign.Blob{{Key: "big", Data: big}, {Key: "empty", Data: []byte{}}}); err != nil {
		t.Fatal(err)
	}
	create(t, s, "d")
	for _, data := range []string{"one", "another, longer"} {
		if err := s.PutBlob(t.Context(), "c", campaign.Blob{Key: "b/ö", Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutBlob(t.Context(), "c", campaign.Blob{Key: "nil"}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]byte{"big": big, "empty": {}, "nil": {}, "b/ö": []byte("another, longer")} {
		if got, err := open().Blob(t.Context(), "c", key); err != nil || !bytes.Equal(got, want) {
			t.Errorf("blob %q has %d bytes, %v; want %d", key, len(got), err, len(want))
		}
	}
	if keys, err := s.Blobs(t.Context(), "c"); err != nil || !slices.Equal(keys, []string{"b/ö", "big", "empty", "nil"}) {
		t.Errorf("keys are %q, %v", keys, err)
	}
	if _, err := s.Blob(t.Context(), "d", "big"); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("the blob of another campaign: %v", err)
	}
}

// testEventsComeBack stores events with everything that they can have.
func testEventsComeBack(t *testing.T, open Opener) {
	s := open()
	end, row := instant(99), campaign.RowRef{Row: 1, ID: "a \x00 null, \u2028 and 'quotes'"}
	created := Created()
	created.Created.Settings = campaign.Settings{Spec: "lcmd-tp:grad>sketch(512)", Audit: new(0.25),
		Lease: campaign.Duration(time.Hour), Choices: fitted.Choices{Seed: 1<<64 - 1},
		Limits: limits.Limits{CostColumn: "x", Budget: new(0.1)}}
	list := []campaign.Event{
		created,
		{Added: &campaign.Added{First: 0, Blocks: []campaign.Block{{Rows: 5, Blob: "rows"}}}},
		{Asked: &campaign.Asked{Ask: 1, LeaseEnd: &end, Spec: "random", Seed: 1 << 52, Result: "ask-1",
			Rows: []campaign.AskedRow{
				{RowRef: row, Audit: true, Predictions: []fitted.Prediction{{Value: 1e-300, Low: new(fitted.Float(-1.5)),
					High: new(fitted.Float(0.1))}}},
			}}},
		{Told: &campaign.Told{Labels: []campaign.Label{{RowRef: row, Values: []fitted.Float{0.1 + 0.2}}}}},
		{Corrected: &campaign.Told{Labels: []campaign.Label{{RowRef: row, Values: []fitted.Float{5e-324}}}}},
		{Failed: &campaign.Failed{Rows: []campaign.RowRef{row}, Reason: "broke", Again: true}},
		{Returned: &campaign.RowList{Rows: []campaign.RowRef{row}}},
		{Retired: &campaign.RowList{Rows: []campaign.RowRef{row}, Reason: "gone"}},
		{Settings: &campaign.Settings{Latest: true}},
		{Undone: &campaign.Undone{Seq: 3, Reason: "a mistake"}},
	}
	for i := range list {
		list[i].Seq, list[i].Time, list[i].Person, list[i].Request = int64(i+1), instant(int64(i+1)), "Zoë",
			fmt.Sprint("request ", i)
		list[i].Digest = fmt.Sprint("digest ", i)
	}
	if err := s.Create(t.Context(), "c", list[:1], nil); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, "c", 1, nil, list[1:]...)
	if got, want := text(t, log(t, open(), "c", 0)), text(t, list); got != want {
		t.Errorf("the log is\n%s, want\n%s", got, want)
	}
}

func testLock(t *testing.T, open Opener) {
	s, other := open(), open()
	create(t, s, "c")
	create(t, s, "d")
	unlock := lock(t, s, "c", "ask")
	lockedElsewhere := []func() error{lock(t, other, "c", "train"), lock(t, other, "d", "ask")}
	got := make(chan struct{})
	go func() {
		defer close(got)
		again, err := other.Lock(context.Background(), "c", "ask")
		if err == nil {
			err = again()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-got:
		t.Error("the lock was taken twice")
	case <-time.After(100 * time.Millisecond):
	}
	for _, f := range append(lockedElsewhere, unlock) {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	<-got
}

func lock(t *testing.T, s campaign.Store, name, purpose string) func() error {
	t.Helper()
	unlock, err := s.Lock(t.Context(), name, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

func testLockEnds(t *testing.T, open Opener) {
	s := open()
	create(t, s, "c")
	unlock := lock(t, s, "c", "ask")
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := open().Lock(ctx, "c", "ask"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a lock until the context ended: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := lock(t, open(), "c", "ask")(); err != nil {
		t.Fatal(err)
	}
}

// testAllAtOnce appends from many goroutines with stores of their own.
func testAllAtOnce(t *testing.T, open Opener) {
	const writers, each = 8, 10
	s := open()
	create(t, s, "c")
	var all sync.WaitGroup
	for w := range writers {
		mine := open()
		all.Go(func() {
			for i := range each {
				if err := appendSomewhere(mine, fmt.Sprintf("%d of %d", i, w)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := map[string]int{}
	for i, e := range log(t, s, "c", 0) {
		if e.Seq != int64(i)+1 {
			t.Fatalf("event %d is at place %d", e.Seq, i)
		}
		if e.Retired != nil {
			seen[e.Retired.Reason]++
			if data, err := s.Blob(t.Context(), "c", e.Retired.Reason); err != nil || string(data) != e.Retired.Reason {
				t.Errorf("the blob of event %d is %q, %v", e.Seq, data, err)
			}
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d events are there, want %d", len(seen), writers*each)
	}
}

func appendSomewhere(s campaign.Store, reason string) error {
	for {
		list, err := s.Events(context.Background(), "c", 0)
		if err != nil {
			return err
		}
		after := int64(len(list))
		err = s.Append(context.Background(), "c", after, []campaign.Event{event(after+1, reason)},
			[]campaign.Blob{{Key: reason, Data: []byte(reason)}})
		if !errors.Is(err, campaign.ErrConflict) {
			return err
		}
	}
}
