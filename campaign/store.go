package campaign

import (
	"context"
	"errors"
	"fmt"
)

// Store keeps the logs and blobs of campaigns. Package campaign/storetest has the tests
// that every implementation passes.
//
// Its methods may be called from several goroutines, and several processes may have the
// same store open. A change is atomic and durable: when a method returns nil, the change
// survives the end of the process, and a change whose process died before it was
// acknowledged is stored completely or not at all. The store itself waits for other
// processes: being busy is not an error.
//
// Events and blobs belong to the caller before and after a call; a store keeps copies.
type Store interface {
	// Create begins a campaign with these events and blobs. If the name is taken,
	// the error is ErrExists.
	Create(ctx context.Context, name string, log []Event, blobs []Blob) error
	// Campaigns returns the names of all campaigns, sorted.
	Campaigns(ctx context.Context) ([]string, error)
	// Append adds events and blobs to a campaign whose log ends with the event number
	// after. If it ends elsewhere, the error is ErrConflict, and nothing changes. The
	// events are numbered from after+1. A blob whose key is taken replaces the one there.
	Append(ctx context.Context, name string, after int64, events []Event, blobs []Blob) error
	// Events returns the events after the given number, in order. If there is no
	// campaign of the name, the error is ErrNotFound. An event that cannot be read is an
	// error, never left out.
	Events(ctx context.Context, name string, after int64) ([]Event, error)
	// Blob returns a blob. If there is none, the error is ErrNotFound; if its bytes are
	// not those that were put there, it is another one.
	Blob(ctx context.Context, name, key string) ([]byte, error)
	// Blobs returns the keys of all blobs of a campaign, sorted.
	Blobs(ctx context.Context, name string) ([]string, error)
	// PutBlob keeps a blob that no event names, such as a trained network, in place of
	// the one that has its key. A blob without data is kept as an empty one.
	PutBlob(ctx context.Context, name string, blob Blob) error
	// Lock waits until nobody else holds the lock of a campaign for the purpose, or the
	// context ends, and takes it until unlock is called. The lock of a process that died
	// becomes free. Locks only save work that would be done twice; that no row is handed
	// out twice is up to Append.
	Lock(ctx context.Context, name, purpose string) (unlock func() error, err error)
	// Close ends the use of the store. Its locks become free.
	Close() error
}

// Blob is bytes with a key.
type Blob struct {
	Key  string
	Data []byte
}

// Errors of stores, for errors.Is.
var (
	ErrExists   = errors.New("a campaign of this name exists already")
	ErrNotFound = errors.New("there is no such campaign, or no such part of it")
	ErrConflict = errors.New("somebody else has appended to the log")
)

// StoreError reports a store that cannot be used.
type StoreError struct {
	Store  string // its kind and name, such as "campaign file c.db"
	Reason string
	Advice string
	Away   bool  // it does not answer, or has been busy for a long time; another attempt may succeed
	Cause  error // matches syscall.ENOSPC on a full disk; nothing was changed
}

func (e *StoreError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Store, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *StoreError) Unwrap() error { return e.Cause }

// shelf is where a campaign keeps its model, and the state of interrupted trainings.
type shelf struct {
	store Store
	name  string
}
