// Package sqlite keeps benchmark results in a file, an SQLite database. Several
// processes on one machine may work on the same file.
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/nextbatch/nextbatch/benchmark"
)

// Store is a results file that implements benchmark.Store. It may be used from
// several goroutines.
type Store struct {
	path    string
	db      *sql.DB
	process int64 // our row in processes; 0 until Join
}

var _ benchmark.Store = (*Store)(nil)

// Open opens a results file for work, and creates it if it does not exist. A file
// that is damaged, or not a results file, is an error and is left unchanged: all
// of a file is checked before anything is written to it.
func Open(ctx context.Context, path string) (*Store, error) {
	fresh, err := inspect(ctx, path, true)
	if err != nil {
		return nil, err
	}
	s, err := connect(path, "rwc", false)
	if err != nil {
		return nil, err
	}
	if fresh {
		err = s.create(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	return s, nil
}

// OpenReadOnly opens a results file for reading, even while others work on it.
// Opening reads only the names of tables; damage elsewhere is reported when it is
// read.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	fresh, err := inspect(ctx, path, false)
	if err != nil {
		return nil, err
	}
	if fresh {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return connectToRead(ctx, path)
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// inspect reports whether a results file has yet to be created, and rejects one
// that cannot be used, without writing to it. With whole, it reads every page.
func inspect(ctx context.Context, path string, whole bool) (fresh bool, err error) {
	header := make([]byte, 100)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	n, err := io.ReadFull(file, header)
	_ = file.Close()
	switch {
	case n == 0 && err == io.EOF:
		return true, nil
	case err != nil && err != io.ErrUnexpectedEOF:
		return false, err
	case n < len(header) || !bytes.HasPrefix(header, []byte("SQLite format 3\x00")):
		return false, &benchmark.StoreError{Store: storeName(path), Reason: "it is not a results file"}
	}
	s, err := connectToRead(ctx, path)
	if err != nil {
		return false, err
	}
	fresh, err = s.check(ctx)
	if err == nil && whole {
		err = s.checkPages(ctx)
	}
	return fresh, errors.Join(err, s.Close())
}

// check rejects a file that is not ours. If a database has no tables, its creator
// was stopped before it could write the schema.
func (s *Store) check(ctx context.Context) (fresh bool, err error) {
	var tables, application, version int
	err = errors.Join(
		s.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
		s.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application),
		s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version))
	switch {
	case err != nil:
		return false, s.explain(err)
	case tables == 0:
		return true, nil
	case application != applicationID:
		return false, s.fail("it is a database of another program", nil)
	case version != schemaVersion:
		return false, s.fail(fmt.Sprintf("it has version %d; this program needs version %d", version, schemaVersion), nil)
	}
	return false, s.checkSchema(ctx)
}

// checkSchema rejects a file with tables other than ours, or with triggers, views
// or indexes: these are code that a hostile file could make us run.
func (s *Store) checkSchema(ctx context.Context) error {
	missing := map[string]string{} // by name
	for statement := range strings.SplitSeq(strings.TrimSpace(schema), ";") {
		if words := strings.Fields(statement); len(words) > 0 {
			missing[words[2]] = strings.TrimSpace(statement)
		}
	}
	err := s.each(ctx, "SELECT name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'", func(row *sql.Rows) error {
		var name, text string
		if err := row.Scan(&name, &text); err != nil {
			return err
		}
		if want, ours := missing[name]; !ours || text != want {
			return fmt.Errorf("it contains %.80q, which is not part of a results file", name)
		}
		delete(missing, name)
		return nil
	})
	if err == nil && len(missing) > 0 {
		err = s.fail("it is damaged: a table is missing", nil)
	}
	return err
}

// checkPages reads the whole file and rejects it if it is damaged.
func (s *Store) checkPages(ctx context.Context) error {
	var verdict string
	if err := s.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return s.explain(err)
	}
	if verdict != "ok" {
		return s.fail("it is damaged: "+verdict, nil)
	}
	return nil
}

// connectToRead opens the database for reading. SQLite needs files beside it to
// coordinate with writers; if they do not exist and cannot be created because the
// folder is read-only, there are no writers, and it is read without them.
func connectToRead(ctx context.Context, path string) (*Store, error) {
	s, err := connect(path, "ro", false)
	if err != nil {
		return nil, err
	}
	var version int
	at := (*sqlite.Error)(nil)
	if errors.As(s.db.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version), &at) && !exists(path+"-wal") {
		switch at.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			_ = s.Close()
			return connect(path, "ro", true)
		}
	}
	return s, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// connect opens the database. One connection suffices: a row takes a millisecond
// to write and minutes to compute.
func connect(path, mode string, immutable bool) (*Store, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	options := url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(30000)", "foreign_keys(1)", "synchronous(full)", "trusted_schema(0)", "cell_size_check(1)"},
	}
	if immutable {
		options.Set("immutable", "1")
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: options.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &Store{path: path, db: db}, nil
}

// create creates the tables, unless another process was faster.
func (s *Store) create(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, "PRAGMA journal_mode = wal"); err != nil {
		return err
	}
	return s.write(func(tx *sql.Tx) error {
		var tables int
		if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables > 0 {
			return err
		}
		_, err := tx.Exec(schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, schemaVersion))
		return err
	})
}

// write applies a change atomically.
func (s *Store) write(change func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return s.explain(err)
	}
	if err := change(tx); err != nil {
		_ = tx.Rollback() // after some errors the database has already done so
		return s.explain(err)
	}
	return s.explain(tx.Commit())
}

// each calls a function for every row of a plain query. The pages of a hostile
// file can form a cycle, so it stops after more rows than the file has space for.
func (s *Store) each(ctx context.Context, query string, row func(*sql.Rows) error, args ...any) error {
	var bytes int64
	if err := s.db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&bytes); err != nil {
		return s.explain(err)
	}
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return s.explain(err)
	}
	defer rows.Close()
	const minRowBytes = 8
	for left := bytes / minRowBytes; rows.Next(); left-- {
		if err := row(rows); err != nil {
			if ctx.Err() != nil { // the end of the context closes the rows
				return ctx.Err()
			}
			return s.fail("it is damaged: "+inPlainWords(err), err)
		}
		if left <= 0 {
			return s.fail("it is damaged: its pages form a cycle", nil)
		}
	}
	return s.explain(rows.Err())
}

// inPlainWords is the error of a row without the driver's jargon.
func inPlainWords(err error) string {
	if _, column, found := strings.Cut(err.Error(), "sql: Scan error on column index "); found {
		_, column, _ = strings.Cut(column, "name ")
		return "column " + strings.Replace(column, "sql/driver: ", "", 1)
	}
	return err.Error()
}

// fail returns an error about the file.
func (s *Store) fail(reason string, cause error) error {
	return &benchmark.StoreError{Store: storeName(s.path), Reason: reason, Cause: cause}
}

func storeName(path string) string { return "results file " + path }

// explain turns an error of SQLite into plain words.
func (s *Store) explain(err error) error {
	at := (*sqlite.Error)(nil)
	if !errors.As(err, &at) {
		return err
	}
	e := &benchmark.StoreError{Store: storeName(s.path), Reason: at.Error(), Cause: err}
	switch at.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_FULL:
		e.Full, e.Reason = true, "there is no space left to write"
		e.Advice = "the rounds written so far are safe; free some disk space and run the command again"
	case sqlite3.SQLITE_IOERR:
		e.Reason, e.Advice = "the disk cannot be read or written: "+at.Error(), "check whether it is full"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Reason, e.Advice = "it is damaged: "+at.Error(), "restore a copy, or start another results file"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Reason = "it cannot be opened or written: " + at.Error()
	case sqlite3.SQLITE_BUSY:
		e.Reason, e.Advice = "another process has locked it for too long", "run the command again"
	}
	return e
}
