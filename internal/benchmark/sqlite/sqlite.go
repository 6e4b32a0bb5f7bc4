// Package sqlite keeps benchmark results in a file, an SQLite database. Several
// processes on one machine may work on the same file.
package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/sqlitefile"
)

// Store is a results file that implements benchmark.Store. It may be used from
// several goroutines.
type Store struct {
	file    *sqlitefile.File
	path    string
	db      *sql.DB
	process int64 // our row in processes; 0 until Join
}

var _ benchmark.Store = (*Store)(nil)

var format = sqlitefile.Format{
	What: "results file", Schema: schema, Later: []string{schema2}, ApplicationID: applicationID, Longest: 64 << 20,
	Damaged: "restore a copy, or start another results file",
	Full:    "the rounds written so far are safe; free some disk space and run the command again",
}

// Open opens a results file for work, and creates it if it does not exist. One of an
// earlier version gets the tables that it lacks. A file
// that is damaged, or not a results file, is an error and is left unchanged: all
// of a file is checked before anything is written to it.
func Open(ctx context.Context, path string) (*Store, error) {
	return newStore(format.Open(ctx, path, true))
}

// OpenReadOnly opens a results file for reading, even while others work on it.
// Opening reads only the names of tables; damage elsewhere is reported when it is
// read. A file of an earlier version is read as it is.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	return newStore(format.OpenReadOnly(ctx, path))
}

// Check reads all of a results file and rejects one that is damaged.
func Check(ctx context.Context, path string) error { return inTerms(format.Check(ctx, path)) }

func newStore(file *sqlitefile.File, err error) (*Store, error) {
	if err != nil {
		return nil, inTerms(err)
	}
	return &Store{file: file, path: file.Path(), db: file.DB}, nil
}

// inTerms returns an error of the file as one of a store.
func inTerms(err error) error {
	if at := (*sqlitefile.Error)(nil); errors.As(err, &at) {
		return &benchmark.StoreError{Store: at.File, Reason: at.Reason, Advice: at.Advice, Away: at.Busy, Cause: err}
	}
	return err
}

// Close closes the file.
func (s *Store) Close() error { return s.file.Close() }

// write applies a change atomically.
func (s *Store) write(change func(*sql.Tx) error) error {
	return inTerms(s.file.Write(context.Background(), change))
}

// each calls a function for every row of a plain query.
func (s *Store) each(ctx context.Context, query string, row func(*sql.Rows) error, args ...any) error {
	return inTerms(s.file.Each(ctx, query, row, args...))
}

// fail returns an error about the file.
func (s *Store) fail(reason string, cause error) error { return inTerms(s.file.Fail(reason, cause)) }

// explain turns an error of SQLite into plain words.
func (s *Store) explain(err error) error { return inTerms(s.file.Explain(err)) }
