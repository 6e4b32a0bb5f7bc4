package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// A process signals that it is alive, and loses its claims when it no longer does.

// Join registers this process, with settings that must equal those of the file. It
// keeps signalling that the process is alive until leave is called, which releases
// all claims.
func (s *Store) Join(p benchmark.Process, settings benchmark.Settings) (leave func() error, err error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	err = s.write(func(tx *sql.Tx) error {
		if err := s.checkSettings(tx, settings.Text()); err != nil {
			return err
		}
		row, err := tx.Exec(`INSERT INTO processes (host, pid, version, revision, platform, cpu, simd, started, seen)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, host, os.Getpid(), p.Version, p.Revision, p.Platform, p.CPU, p.SIMD,
			sqlitefile.Now(), sqlitefile.Now())
		if err != nil {
			return err
		}
		s.process, err = row.LastInsertId()
		return err
	})
	if err != nil {
		return nil, err
	}
	stop := sqlitefile.Beat(func(context.Context) {
		// If no signal arrives, the next result cannot be written either.
		_, _ = s.db.Exec("UPDATE processes SET seen = ? WHERE id = ?", sqlitefile.Now(), s.process)
	})
	return func() error {
		stop()
		err := s.write(func(tx *sql.Tx) error {
			_, err := tx.Exec("UPDATE runs SET owner = NULL WHERE owner = ?", s.process)
			return err
		})
		return errors.Join(err, s.checkpoint())
	}, nil
}

// checkpoint moves the last rounds from the write-ahead log into the file. While
// other processes are working, it leaves this to them.
func (s *Store) checkpoint() error {
	var busy, pages, moved int
	err := s.db.QueryRow("PRAGMA wal_checkpoint(truncate)").Scan(&busy, &pages, &moved)
	if err = s.explain(err); err == nil {
		return nil
	}
	at := (*benchmark.StoreError)(nil)
	if errors.As(err, &at) {
		at.Advice = fmt.Sprintf(
			"the last rounds are in %s-wal, which belongs to it: keep both, free some disk space, and run the command again",
			s.path)
	}
	return err
}

// checkSettings writes the settings, or compares them with those of the file.
func (s *Store) checkSettings(tx *sql.Tx, ours string) error {
	if _, err := tx.Exec("INSERT INTO settings VALUES (1, ?) ON CONFLICT DO NOTHING", ours); err != nil {
		return err
	}
	var theirs string
	if err := tx.QueryRow("SELECT value FROM settings").Scan(&theirs); err != nil {
		return err
	}
	if theirs != ours {
		return &benchmark.StoreError{Store: format.What + " " + s.path, Reason: "its runs have the settings " + theirs +
			", not " + ours, Advice: "use its settings or another file"}
	}
	return nil
}

// CheckSet records the size and fingerprint of a data set, or compares the
// fingerprint with that of the file.
func (s *Store) CheckSet(set benchmark.Set) error {
	return s.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO sets VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", set.Name, set.Rows,
			set.Features, set.Fingerprint)
		if err != nil {
			return err
		}
		var theirs string
		if err := tx.QueryRow("SELECT fingerprint FROM sets WHERE name = ?", set.Name).Scan(&theirs); err != nil {
			return err
		}
		if theirs != set.Fingerprint {
			return fmt.Errorf(
				"it has changed: its runs in %s saw other numbers; restore the old data, or use another results file", s.path)
		}
		return nil
	})
}

// Plan announces the runs to all readers of the file.
func (s *Store) Plan(runs []benchmark.Run) error {
	for _, r := range runs {
		if err := r.CheckSize(); err != nil {
			return err
		}
	}
	return s.write(func(tx *sql.Tx) error {
		insert, err := tx.Prepare(`INSERT INTO runs (dataset, activation, spec, compat, batch, rounds, split)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if _, err := insert.Exec(r.DataSet, r.Activation, r.Spec, r.Compat, r.BatchSize, r.Rounds, r.Split); err != nil {
				return err
			}
		}
		return insert.Close()
	})
}

// Claim takes a planned run that no other process is working on.
// benchmark.ErrFinished and benchmark.ErrTaken mean that there is nothing to do. A
// process may claim its own runs again.
func (s *Store) Claim(run benchmark.Run) (*benchmark.Claim, error) {
	c := &benchmark.Claim{Run: run}
	err := s.write(func(tx *sql.Tx) error {
		var owner sql.NullInt64
		var last sql.NullInt64
		err := tx.QueryRow(`SELECT id, owner, (SELECT max(round) FROM rounds WHERE run = id) FROM runs
			WHERE dataset = ? AND activation = ? AND spec = ? AND compat = ? AND batch = ? AND rounds = ? AND split = ?`,
			run.DataSet, run.Activation, run.Spec, run.Compat, run.BatchSize, run.Rounds, run.Split).Scan(&c.Key, &owner, &last)
		switch {
		case err != nil:
			return err
		case last.Valid && int(last.Int64) == run.Rounds:
			return benchmark.ErrFinished
		case owner.Valid:
			if held, err := s.held(tx, owner.Int64); held || err != nil {
				return cmp.Or(err, benchmark.ErrTaken)
			}
		}
		_, err = tx.Exec("UPDATE runs SET owner = ?, error = NULL WHERE id = ?", s.process, c.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	rounds, err := s.rounds(context.Background(), "WHERE run = ?", c.Key)
	if err != nil {
		return nil, err
	}
	c.Done, err = s.records(context.Background(), rounds, map[int64]storedRun{c.Key: {Run: run}})
	return c, err
}

// held reports whether another process may still be working.
func (s *Store) held(tx *sql.Tx, process int64) (bool, error) {
	if process == s.process {
		return false, nil
	}
	var p sqlitefile.Presence
	err := tx.QueryRow("SELECT host, pid, seen FROM processes WHERE id = ?", process).Scan(&p.Host, &p.PID, &p.Seen)
	return err == nil && p.Working(), err
}

// checkOwner fails with benchmark.ErrTaken unless the claim is still ours.
func (s *Store) checkOwner(tx *sql.Tx, c *benchmark.Claim) error {
	var owner sql.NullInt64
	if err := tx.QueryRow("SELECT owner FROM runs WHERE id = ?", c.Key).Scan(&owner); err != nil {
		return err
	}
	if !owner.Valid || owner.Int64 != s.process {
		return benchmark.ErrTaken
	}
	return nil
}

// Release releases a claim; a failure of the run is kept until it is claimed again.
func (s *Store) Release(c *benchmark.Claim, failure error) error {
	var text sql.NullString
	if failure != nil {
		text = sql.NullString{String: failure.Error(), Valid: true}
	}
	return s.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE runs SET owner = NULL, error = ? WHERE id = ? AND owner = ?", text, c.Key, s.process)
		return err
	})
}

// Fail records why unclaimed runs failed, until they are claimed.
func (s *Store) Fail(runs []benchmark.Run, failure error) error {
	return s.write(func(tx *sql.Tx) error {
		update, err := tx.Prepare(`UPDATE runs SET error = ? WHERE owner IS NULL
			AND dataset = ? AND activation = ? AND spec = ? AND compat = ? AND batch = ? AND rounds = ? AND split = ?`)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if _, err := update.Exec(failure.Error(), r.DataSet, r.Activation, r.Spec, r.Compat, r.BatchSize,
				r.Rounds, r.Split); err != nil {
				return err
			}
		}
		return update.Close()
	})
}
