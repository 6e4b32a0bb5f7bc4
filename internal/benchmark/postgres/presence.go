package postgres

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
)

// A process is alive while it holds an advisory lock: the server frees the lock when the
// connection ends, so no clocks are compared.

// lockSpace keeps the locks of the processes of one schema apart from other locks.
const lockSpace = "(hashtextextended(current_schema() || ' benchmark processes', 0) & 2147483647)::integer"

// alive selects the processes that are alive.
const alive = `(SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted
	AND classid::bigint = ` + lockSpace + ` AND database = (SELECT oid FROM pg_database WHERE datname =
	current_database()))`

// Join implements benchmark.Store.
func (s *Store) Join(p benchmark.Process, settings benchmark.Settings) (leave func() error, err error) {
	if s.host, err = os.Hostname(); err != nil {
		return nil, err
	}
	err = s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		if err := s.checkSettings(ctx, tx, settings.Text()); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO benchmark_processes (host, pid, version, revision, platform, cpu, simd)
			VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`, s.host, os.Getpid(), p.Version, p.Revision, p.Platform, p.CPU,
			p.SIMD).Scan(&s.process)
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	conn, err := s.hold(ctx)
	if err != nil {
		stop()
		return nil, inTerms(err)
	}
	s.leaving.Store(false)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.stay(ctx, conn)
	}()
	return func() error {
		s.leaving.Store(true) // the claims become free without us, too
		err := s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
			_, err := tx.Exec(ctx, "UPDATE benchmark_runs SET owner = NULL WHERE owner = $1", s.process)
			return err
		})
		stop()
		<-done
		return err
	}, nil
}

// checkSettings writes the settings, or compares them with those of the database.
func (s *Store) checkSettings(ctx context.Context, tx pgx.Tx, ours string) error {
	if _, err := tx.Exec(ctx, "INSERT INTO benchmark_settings VALUES (1, $1) ON CONFLICT DO NOTHING", ours); err != nil {
		return err
	}
	var theirs string
	if err := tx.QueryRow(ctx, "SELECT value FROM benchmark_settings").Scan(&theirs); err != nil {
		return err
	}
	if theirs != ours {
		return &benchmark.StoreError{Store: s.db.Name(), Reason: "its runs have the settings " + theirs + ", not " + ours,
			Advice: "use its settings, or another database or schema"}
	}
	return nil
}

// hold shows that this process is alive.
func (s *Store) hold(ctx context.Context) (*pgx.Conn, error) {
	return s.db.Hold(ctx, "SELECT pg_advisory_lock("+lockSpace+", $1::integer)", s.process)
}

// stay keeps the process alive in the eyes of others until the context ends. If the
// connection is lost, it makes another: unless others have taken the runs in the meantime,
// the work goes on.
func (s *Store) stay(ctx context.Context, conn *pgx.Conn) {
	for ctx.Err() == nil {
		if conn == nil {
			select {
			case <-ctx.Done():
			case <-time.After(s.times.check / 4):
				conn, _ = s.hold(ctx) // the next attempt may succeed; if none does, no change succeeds either
			}
			continue
		}
		if _, err := conn.WaitForNotification(ctx); err != nil { // it waits for the end of the connection
			_ = postgresdb.CloseSoon(conn)
			conn = nil
		}
	}
	if conn != nil {
		_ = postgresdb.CloseSoon(conn)
	}
}

// CheckSet implements benchmark.Store.
func (s *Store) CheckSet(set benchmark.Set) error {
	return s.write(func(ctx context.Context, tx pgx.Tx, _ bool) error {
		_, err := tx.Exec(ctx, "INSERT INTO benchmark_sets VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", set.Name,
			set.Rows, set.Features, set.Fingerprint)
		if err != nil {
			return err
		}
		var theirs string
		if err := tx.QueryRow(ctx, "SELECT fingerprint FROM benchmark_sets WHERE name = $1",
			set.Name).Scan(&theirs); err != nil {
			return err
		}
		if theirs != set.Fingerprint {
			return fault{errors.New("it has changed: its runs in " + s.db.Name() +
				" saw other numbers; restore the old data, or use another database or schema")}
		}
		return nil
	})
}
