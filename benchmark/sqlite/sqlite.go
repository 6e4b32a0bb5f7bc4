// Package sqlite keeps the results of the benchmark in a file, an SQLite database.
// Several processes of one machine may work on one file.
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

// Store is a results file, a benchmark.Store. Several processes may work on one at the same time,
// on one machine; a Store may be used from several goroutines.
type Store struct {
	path    string
	db      *sql.DB
	process int64 // our row in processes; 0 until Join
}

var _ benchmark.Store = (*Store)(nil)

// Open opens a results file to work on. One that does not exist is made; one that
// is damaged, or no results file, is an error and stays as it is: before anything
// is written to a file, all of it is checked.
func Open(path string) (*Store, error) {
	fresh, err := inspect(path, true)
	if err != nil {
		return nil, err
	}
	s, err := connect(path, "rwc", false)
	if err != nil {
		return nil, err
	}
	if fresh {
		err = s.create()
	}
	if err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	return s, nil
}

// OpenReadOnly opens a results file to read, also while others work on it. Damage
// is reported where it is met: opening reads no more than the names of tables.
func OpenReadOnly(path string) (*Store, error) {
	fresh, err := inspect(path, false)
	if err != nil {
		return nil, err
	}
	if fresh {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return connectToRead(path)
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// inspect tells whether a results file is still to be made, and refuses one that
// cannot be used, without writing to it. With whole, it reads every page.
func inspect(path string, whole bool) (fresh bool, err error) {
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
		return false, &benchmark.StoreError{Store: storeName(path), Reason: "it is no results file"}
	}
	s, err := connectToRead(path)
	if err != nil {
		return false, err
	}
	fresh, err = s.check()
	if err == nil && whole {
		err = s.checkPages()
	}
	return fresh, errors.Join(err, s.Close())
}

// check refuses a file that is not ours. A database without any table is one whose
// maker was stopped before the schema was there.
func (s *Store) check() (fresh bool, err error) {
	var tables, application, version int
	err = errors.Join(
		s.db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables),
		s.db.QueryRow("PRAGMA application_id").Scan(&application),
		s.db.QueryRow("PRAGMA user_version").Scan(&version))
	switch {
	case err != nil:
		return false, s.explain(err)
	case tables == 0:
		return true, nil
	case application != applicationID:
		return false, s.fail("it is a database of another program", nil)
	case version != schemaVersion:
		return false, s.fail(fmt.Sprintf("it has version %d, this program works with version %d", version, schemaVersion), nil)
	}
	return false, s.checkSchema()
}

// checkSchema refuses a file with other tables than ours, or with triggers, views
// or indexes: these are programs, which a hostile file could have us run.
func (s *Store) checkSchema() error {
	missing := map[string]string{} // by name
	for statement := range strings.SplitSeq(strings.TrimSpace(schema), ";") {
		if words := strings.Fields(statement); len(words) > 0 {
			missing[words[2]] = strings.TrimSpace(statement)
		}
	}
	err := s.each("SELECT name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'", func(row *sql.Rows) error {
		var name, text string
		if err := row.Scan(&name, &text); err != nil {
			return err
		}
		if want, ours := missing[name]; !ours || text != want {
			return fmt.Errorf("%.80q in it is not of this program", name)
		}
		delete(missing, name)
		return nil
	})
	if err == nil && len(missing) > 0 {
		err = s.fail("it is damaged: a table is missing", nil)
	}
	return err
}

// checkPages reads the whole file and refuses one that is damaged.
func (s *Store) checkPages() error {
	var verdict string
	if err := s.db.QueryRow("PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return s.explain(err)
	}
	if verdict != "ok" {
		return s.fail("it is damaged: "+verdict, nil)
	}
	return nil
}

// connectToRead opens the database to look at. SQLite needs files beside it that
// tell what others write to it; where these are not there and cannot be made, as
// the folder cannot be written, nobody writes, and it is read without them.
func connectToRead(path string) (*Store, error) {
	s, err := connect(path, "ro", false)
	if err != nil {
		return nil, err
	}
	var version int
	at := (*sqlite.Error)(nil)
	if errors.As(s.db.QueryRow("PRAGMA schema_version").Scan(&version), &at) && !exists(path+"-wal") {
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

// connect opens the database. One connection is enough: a row takes a millisecond
// to write, and minutes to compute.
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

// create makes the tables, unless another process was faster.
func (s *Store) create() error {
	if _, err := s.db.Exec("PRAGMA journal_mode = wal"); err != nil {
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

// write does all of a change, or nothing of it.
func (s *Store) write(change func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return s.explain(err)
	}
	if err := change(tx); err != nil {
		_ = tx.Rollback() // after some errors the database has done so itself
		return s.explain(err)
	}
	return s.explain(tx.Commit())
}

// each calls a function for every row of a plain query. The pages of a hostile
// file can lead in circles, so it ends where there are more rows than the file has
// room for.
func (s *Store) each(query string, row func(*sql.Rows) error, args ...any) error {
	var bytes int64
	if err := s.db.QueryRow("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&bytes); err != nil {
		return s.explain(err)
	}
	rows, err := s.db.Query(query, args...)
	if err != nil {
		return s.explain(err)
	}
	defer rows.Close()
	const smallest = 8 // bytes of a row, at least
	for most := bytes / smallest; rows.Next(); most-- {
		if err := row(rows); err != nil {
			return s.fail("it is damaged: "+inPlainWords(err), err)
		}
		if most <= 0 {
			return s.fail("it is damaged: its pages lead in circles", nil)
		}
	}
	return s.explain(rows.Err())
}

// inPlainWords is the error of a row, without the words of the driver.
func inPlainWords(err error) string {
	if _, column, found := strings.Cut(err.Error(), "sql: Scan error on column index "); found {
		_, column, _ = strings.Cut(column, "name ")
		return "column " + strings.Replace(column, "sql/driver: ", "", 1)
	}
	return err.Error()
}

// fail is an error of the file.
func (s *Store) fail(reason string, cause error) error {
	return &benchmark.StoreError{Store: storeName(s.path), Reason: reason, Cause: cause}
}

func storeName(path string) string { return "results file " + path }

// explain says in plain words what SQLite complains about.
func (s *Store) explain(err error) error {
	at := (*sqlite.Error)(nil)
	if !errors.As(err, &at) {
		return err
	}
	e := &benchmark.StoreError{Store: storeName(s.path), Reason: at.Error(), Cause: err}
	switch at.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_FULL:
		e.Full, e.Reason = true, "there is no room left to write"
		e.Advice = "rounds that were written are safe; make room and run the command again"
	case sqlite3.SQLITE_IOERR:
		e.Reason, e.Advice = "the disk cannot be read or written: "+at.Error(), "see whether it is full"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Reason, e.Advice = "it is damaged: "+at.Error(), "go back to a copy, or begin another results file"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Reason = "it cannot be opened or written: " + at.Error()
	case sqlite3.SQLITE_BUSY:
		e.Reason, e.Advice = "another process holds it for too long", "run the command again"
	}
	return e
}
