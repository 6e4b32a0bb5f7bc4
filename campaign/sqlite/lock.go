package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
)

// Who holds a lock signals every few seconds that it is alive. A holder that has not done
// so for the length of a lease, or whose process no longer exists on this machine, loses the lock.
const (
	heartbeat = 10 * time.Second
	lease     = 60 * time.Second
	poll      = 50 * time.Millisecond
)

// Lock implements campaign.Store.
func (s *Store) Lock(ctx context.Context, name, purpose string) (unlock func() error, err error) {
	holder := rand.Text()
	for {
		taken, err := s.tryLock(ctx, name, purpose, holder)
		if err != nil {
			return nil, err
		}
		if taken {
			return s.keepLock(holder), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// tryLock takes the lock if it is free. It looks before it writes, so that those who wait
// do not keep the file busy.
func (s *Store) tryLock(ctx context.Context, name, purpose, holder string) (taken bool, err error) {
	id, err := s.id(ctx, name)
	if err != nil {
		return false, err
	}
	var p presence
	const query = "SELECT host, pid, seen FROM locks WHERE campaign = ? AND purpose = ?"
	err = s.file.Row(ctx, query, []any{&p.host, &p.pid, &p.seen}, id, purpose)
	switch {
	case err == nil && s.alive(p):
		return false, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return false, inTerms(err)
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRow(query, id, purpose).Scan(&p.host, &p.pid, &p.seen)
		switch {
		case err == nil && s.alive(p):
			return campaign.ErrConflict
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		_, err = tx.Exec("INSERT OR REPLACE INTO locks VALUES (?, ?, ?, ?, ?, ?)", id, purpose, holder, s.host, os.Getpid(), now())
		return err
	})
	if errors.Is(err, campaign.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// keepLock signals until the lock is released.
func (s *Store) keepLock(holder string) (unlock func() error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				// After a failed signal the next may succeed; if none does, others take
				// the lock, and the log decides whose ask counts.
				_, _ = s.file.DB.ExecContext(ctx, "UPDATE locks SET seen = ? WHERE holder = ?", now(), holder)
			}
		}
	}()
	return func() error {
		stop()
		<-done
		return s.write(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec("DELETE FROM locks WHERE holder = ?", holder)
			return err
		})
	}
}

// presence is where the holder of a lock runs, and when it last signalled.
type presence struct {
	host string
	pid  int
	seen int64
}

// alive reports whether the holder of a lock may still be working.
func (s *Store) alive(p presence) bool {
	if p.host == s.host && !processExists(p.pid) {
		return false
	}
	return time.Duration(now()-p.seen)*time.Millisecond < lease
}

// processExists reports whether a process exists on this machine.
func processExists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// now is in milliseconds since 1970.
func now() int64 { return time.Now().UnixMilli() }
