package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Who holds a lock signals that it is alive, and loses the lock when it no longer does.

const poll = 50 * time.Millisecond // while waiting for a lock

// Lock implements campaign.Store.
func (s *store) Lock(ctx context.Context, name, purpose string) (unlock func() error, err error) {
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
func (s *store) tryLock(ctx context.Context, name, purpose, holder string) (taken bool, err error) {
	id, err := s.id(ctx, name)
	if err != nil {
		return false, err
	}
	var p sqlitefile.Presence
	const query = "SELECT host, pid, seen FROM locks WHERE campaign = ? AND purpose = ?"
	err = s.file.Row(ctx, query, []any{&p.Host, &p.PID, &p.Seen}, id, purpose)
	switch {
	case err == nil && p.Working():
		return false, nil
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return false, inTerms(err)
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRow(query, id, purpose).Scan(&p.Host, &p.PID, &p.Seen)
		switch {
		case err == nil && p.Working():
			return campaign.ErrConflict
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		_, err = tx.Exec("INSERT OR REPLACE INTO locks VALUES (?, ?, ?, ?, ?, ?)", id, purpose, holder, s.host,
			os.Getpid(), sqlitefile.Now())
		return err
	})
	if errors.Is(err, campaign.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// keepLock signals until the lock is released.
func (s *store) keepLock(holder string) (unlock func() error) {
	stop := sqlitefile.Beat(func(ctx context.Context) {
		// If no signal arrives, others take the lock, and the log decides whose ask counts.
		_, _ = s.file.DB.ExecContext(ctx, "UPDATE locks SET seen = ? WHERE holder = ?", sqlitefile.Now(), holder)
	})
	return func() error {
		stop()
		return s.write(context.Background(), func(tx *sql.Tx) error {
			_, err := tx.Exec("DELETE FROM locks WHERE holder = ?", holder)
			return err
		})
	}
}
