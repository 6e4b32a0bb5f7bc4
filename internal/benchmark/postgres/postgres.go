// Package postgres keeps benchmark results in a PostgreSQL database, and distributes the
// runs among processes on many machines.
//
// The table of runs is the queue: a process takes the first run that is queued and has no
// owner. It may write rounds of a run only while it owns the run, and no round can be
// written twice. Processes are alive while they hold an advisory lock, which the server
// frees when their connection ends; others then free the runs of a lost process.
package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/postgresdb"
)

// Store is a database of results, which implements benchmark.Queue. It may be used from
// several goroutines.
type Store struct {
	db      *postgresdb.Database
	process int32 // our row in benchmark_processes; 0 until Join
	host    string
	times   times
	leaving atomic.Bool // a server that restarts is not worth waiting for
}

var _ benchmark.Queue = (*Store)(nil)

// times is how long things take, which tests shorten.
type times struct {
	patience time.Duration // for which a change waits for a server that restarts
	check    time.Duration // between checks whether work is left and others are alive
	job      time.Duration // for which a run may be worked on at a stretch
}

func usualTimes() times {
	return times{patience: 2 * time.Minute, check: time.Second, job: 12 * time.Hour}
}

// connections is how many a process has at most, besides the one that shows that it is alive.
const connections = 4

//go:embed schema.sql
var schema string

//go:embed schema2.sql
var schema2 string

var tables = postgresdb.Tables{Versions: "benchmark_schema", Schema: schema, Later: []string{schema2}}

// Open connects to a database with an address such as
// postgres://user:password@host/database for work, and creates or migrates its tables, in
// the first schema of the search path. Tables of a newer version are an error.
func Open(ctx context.Context, address string) (*Store, error) {
	return open(ctx, address, func(db *postgresdb.Database) error { return db.Migrate(ctx, tables) })
}

// OpenReadOnly connects to a database for reading, and creates nothing in it.
func OpenReadOnly(ctx context.Context, address string) (*Store, error) {
	return open(ctx, address, func(db *postgresdb.Database) error {
		return db.Current(ctx, tables, "nextbatch bench run creates them")
	})
}

func open(ctx context.Context, address string, prepare func(*postgresdb.Database) error) (*Store, error) {
	db, err := postgresdb.Connect(ctx, address, connections)
	if err != nil {
		return nil, inTerms(err)
	}
	s := &Store{db: db, times: usualTimes()}
	if err := prepare(db); err != nil {
		db.Close()
		return nil, inTerms(err)
	}
	return s, nil
}

// Name returns the name of the database in an address.
func Name(address string) (string, error) {
	name, err := postgresdb.Named(address)
	return name, inTerms(err)
}

// Close implements benchmark.Reader.
func (s *Store) Close() error {
	s.db.Close()
	return nil
}

// inTerms returns an error of the database as one of a store.
func inTerms(err error) error {
	if at := (*postgresdb.Error)(nil); errors.As(err, &at) {
		return &benchmark.StoreError{Store: at.Store, Reason: at.Reason, Advice: at.Advice, Away: at.Away, Cause: err}
	}
	return err
}

// fault is an error that a change reports about its input; the database is well.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// explain turns an error of the database into one of a store.
func (s *Store) explain(err error) error {
	f := fault{}
	switch {
	case errors.As(err, &f):
		return f.error
	case errors.Is(err, benchmark.ErrTaken), errors.Is(err, benchmark.ErrFinished),
		errors.As(err, new(*benchmark.StoreError)):
		return err
	}
	return inTerms(s.db.Explain(err))
}

// damaged reports rows that this program cannot have written.
func (s *Store) damaged(cause error) error {
	return inTerms(s.db.Fail("it is damaged: "+cause.Error(), "restore a copy, or use another database", cause))
}

// attempt bounds one attempt of a change, so that a lost network cannot hold up a process
// for ever.
const attempt = time.Minute

// write applies a change atomically. If the server restarts in the meantime, it waits and
// tries again; again is true if an earlier attempt may have succeeded.
func (s *Store) write(change func(ctx context.Context, tx pgx.Tx, again bool) error) error {
	return s.patiently(func(again bool) error {
		return s.once(func(ctx context.Context, tx pgx.Tx) error { return change(ctx, tx, again) })
	})
}

// patiently repeats what fails because the server restarts, until it is back.
func (s *Store) patiently(try func(again bool) error) error {
	begin := time.Now()
	for again := false; ; again = true {
		err := try(again)
		if err == nil || !postgresdb.Lost(err) || s.leaving.Load() || time.Since(begin) > s.times.patience {
			return s.lost(err)
		}
		time.Sleep(s.times.check / 2)
	}
}

func (s *Store) once(change func(context.Context, pgx.Tx) error) error {
	ctx, stop := context.WithTimeout(context.Background(), attempt)
	defer stop()
	return pgx.BeginFunc(ctx, s.db.Pool, func(tx pgx.Tx) error { return change(ctx, tx) })
}

// lost explains an error; for a lost connection it adds how to resume.
func (s *Store) lost(err error) error {
	gone := err != nil && (postgresdb.Lost(err) || errors.Is(err, context.DeadlineExceeded))
	if err = s.explain(err); !gone {
		return err
	}
	reason := err.Error()
	if at := (*benchmark.StoreError)(nil); errors.As(err, &at) {
		reason = at.Reason
	}
	return &benchmark.StoreError{Store: s.db.Name(), Reason: "the connection is lost: " + reason,
		Advice: "the rounds written so far are safe; when the server runs again, the same command resumes", Cause: err}
}

// collect returns the rows of a query.
func collect[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, err := s.db.Query(ctx, query, args...)
	if err != nil {
		return nil, postgresdb.Ended(ctx, s.explain(err))
	}
	list, err := pgx.CollectRows(rows, scan)
	return list, postgresdb.Ended(ctx, s.explain(err))
}

// notPlanned is the error of a run that Plan does not know.
func notPlanned(run benchmark.Run) error { return fault{fmt.Errorf("%v: the run is not planned", run)} }
