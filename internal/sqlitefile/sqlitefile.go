// Package sqlitefile opens SQLite databases that are files of this program: results of
// benchmarks, campaigns. It rejects files that are not, or are damaged, waits for other
// processes, and turns the errors of SQLite into plain words.
package sqlitefile

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Format is a kind of file.
type Format struct {
	What          string // in messages, such as "results file"
	Schema        string // statements that create the tables of version 1, each CREATE TABLE name …
	ApplicationID int    // marks a database as such a file, in the header field meant for that
	// Later are the tables that each later version adds, in the form of Schema. Open brings a
	// file of an earlier version up to date.
	Later []string
	// Longest is how many bytes a value, or a row, may have; 0 means as many as SQLite allows. A
	// crafted file cannot take more memory than that with one value.
	Longest int
	// Damaged and Full are what to do about a damaged file and a full disk.
	Damaged, Full string
}

// version is the number of the present schema.
func (f Format) version() int { return 1 + len(f.Later) }

// schema returns the statements that create the tables of a version.
func (f Format) schema(version int) string { return f.Schema + strings.Join(f.Later[:version-1], "") }

// File is an open file. It may be used from several goroutines, which take turns: there
// is one connection.
type File struct {
	DB      *sql.DB
	path    string
	format  Format
	version int

	statements sync.Map // by query
}

// ErrOther is the cause of an Error about a file of another kind.
var ErrOther = errors.New("the file is of another kind")

// Error reports a file that cannot be used.
type Error struct {
	File   string // what it is and its path
	Reason string
	Advice string
	Busy   bool  // another process has locked it for too long
	Cause  error // see Explain
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.File, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// Open opens a file for work, and creates it if it does not exist. One that is damaged,
// or of another program, is an error and is left unchanged. With whole, all of it is
// read before anything is written to it; otherwise damage is reported when it is read.
func (f Format) Open(ctx context.Context, path string, whole bool) (*File, error) {
	found, err := f.inspect(ctx, path, whole)
	if err != nil {
		return nil, err
	}
	s, err := f.connect(path, "rwc", false)
	if err != nil {
		return nil, err
	}
	s.version = f.version()
	if err = s.limitValues(ctx); err == nil {
		err = s.logAhead(ctx)
	}
	switch {
	case err != nil:
	case found == 0:
		err = s.create(ctx)
	case found < f.version():
		err = s.upgrade(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.Explain(err), s.Close())
	}
	return s, nil
}

// OpenReadOnly opens a file for reading, even while others work on it. Opening reads
// only the names of tables; damage elsewhere is reported when it is read. A file of an
// earlier version stays as it is and lacks the tables of later ones: see Version.
func (f Format) OpenReadOnly(ctx context.Context, path string) (*File, error) {
	found, err := f.inspect(ctx, path, false)
	switch {
	case err != nil:
		return nil, err
	case found == 0:
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	s, err := f.connectToRead(ctx, path)
	if err == nil {
		s.version = found
	}
	return s, err
}

// Close closes the file.
func (s *File) Close() error { return s.DB.Close() }

// Version returns the number of the file's schema, from 1. It is that of the last schema
// unless the file was opened for reading.
func (s *File) Version() int { return s.version }

// Path returns the path that the file was opened with.
func (s *File) Path() string { return s.path }

// Check reads every page of a file, and rejects one that is damaged or of another kind. It
// takes about a second for a gigabyte that the system has in memory, and changes nothing. A
// file that is not there, or empty, has yet to be created and is fine.
func (f Format) Check(ctx context.Context, path string) error {
	_, err := f.inspect(ctx, path, true)
	return err
}

// magic is how databases begin.
var magic = []byte("SQLite format 3\x00")

// inspect returns the version of a file, 0 if it has yet to be created, and rejects one
// that cannot be used, without writing to it. With whole, it reads every page.
func (f Format) inspect(ctx context.Context, path string, whole bool) (version int, err error) {
	header := make([]byte, 100)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(file, header)
	_ = file.Close()
	switch {
	case n == 0 && err == io.EOF:
		return 0, nil
	case err != nil && err != io.ErrUnexpectedEOF:
		return 0, err
	case n < len(header) || !bytes.HasPrefix(header, magic):
		return 0, &Error{File: f.What + " " + path, Reason: "it is not a " + f.What, Cause: ErrOther}
	}
	s, err := f.connectToRead(ctx, path)
	if err != nil {
		return 0, err
	}
	version, err = s.check(ctx)
	if err == nil && whole {
		err = s.checkPages(ctx)
	}
	return version, errors.Join(err, s.Close())
}

// check rejects a file that is not ours, and returns its version. If a database has no
// tables, its creator was stopped before it could write the schema: the version is 0.
func (s *File) check(ctx context.Context) (version int, err error) {
	var tables, application int
	err = s.wait(ctx, func() error {
		return errors.Join(
			s.DB.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
			s.DB.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application),
			s.DB.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version))
	})
	switch {
	case err != nil:
		return 0, s.Explain(err)
	case tables == 0:
		return 0, nil
	case application != s.format.ApplicationID:
		return 0, s.Fail("it is a database of another program", ErrOther)
	case version < 1 || version > s.format.version():
		return 0, s.Fail(s.format.mismatch(version), nil)
	}
	return version, s.checkSchema(ctx, version)
}

func (f Format) mismatch(version int) string {
	return fmt.Sprintf("it has version %d; this program needs version %d", version, f.version())
}

// checkSchema rejects a file with tables other than those of its version, or with triggers, views
// or indexes: these are code that a hostile file could make us run.
func (s *File) checkSchema(ctx context.Context, version int) error {
	missing := map[string]string{} // by name
	for statement := range strings.SplitSeq(strings.TrimSpace(s.format.schema(version)), ";") {
		if words := strings.Fields(statement); len(words) > 0 {
			missing[words[2]] = strings.TrimSpace(statement)
		}
	}
	err := s.Each(ctx, "SELECT name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'",
		func(row *sql.Rows) error {
			var name, text string
			if err := row.Scan(&name, &text); err != nil {
				return err
			}
			if want, ours := missing[name]; !ours || text != want {
				return fmt.Errorf("it contains %.80q, which is not part of a %s", name, s.format.What)
			}
			delete(missing, name)
			return nil
		})
	if err == nil && len(missing) > 0 {
		err = s.Fail(damage+"a table is missing", nil)
	}
	return err
}

// checkPages reads the whole file and rejects it if it is damaged.
func (s *File) checkPages(ctx context.Context) error {
	var verdict string
	err := s.wait(ctx, func() error { return s.DB.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict) })
	if err != nil {
		return s.Explain(err)
	}
	if verdict != "ok" {
		return s.Fail(damage+strings.Join(strings.Fields(strings.TrimPrefix(verdict, "*** in database main ***")), " "), nil)
	}
	return nil
}

// connectToRead opens the database for reading. SQLite needs files beside it to
// coordinate with writers; if they do not exist and cannot be created because the
// folder is read-only, there are no writers, and it is read without them.
func (f Format) connectToRead(ctx context.Context, path string) (*File, error) {
	s, err := f.connect(path, "ro", false)
	if err != nil {
		return nil, err
	}
	var version int
	at := (*sqlite.Error)(nil)
	if errors.As(s.DB.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version), &at) && !exists(path+"-wal") {
		switch at.Code() & 0xff {
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			_ = s.Close()
			if s, err = f.connect(path, "ro", true); err != nil {
				return nil, err
			}
		}
	}
	return s, s.limitValues(ctx)
}

// limitValues limits the values of the one connection.
func (s *File) limitValues(ctx context.Context) error {
	if s.format.Longest == 0 {
		return nil
	}
	c, err := s.DB.Conn(ctx)
	if err != nil {
		return s.Explain(err)
	}
	defer c.Close() // gives it back
	_, err = sqlite.Limit(c, sqlite3.SQLITE_LIMIT_LENGTH, s.format.Longest)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// connect opens the database. One connection suffices: what is written takes far
// longer to compute.
func (f Format) connect(path, mode string, immutable bool) (*File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	options := url.Values{
		"mode":    {mode},
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(full)", "trusted_schema(0)", "cell_size_check(1)"},
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
	return &File{DB: db, path: path, format: f}, nil
}

// logAhead makes SQLite write changes to a log beside the file first, so that readers do not wait
// for writers. The file keeps this mode, but a copy that SQLite has made does not.
func (s *File) logAhead(ctx context.Context) error {
	return s.wait(ctx, func() error {
		_, err := s.DB.ExecContext(ctx, "PRAGMA journal_mode = wal")
		return err
	})
}

// create creates the tables, unless another process was faster.
func (s *File) create(ctx context.Context) error {
	return s.Write(ctx, func(tx *sql.Tx) error {
		var tables int
		if err := tx.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables > 0 {
			return err
		}
		latest := s.format.version()
		_, err := tx.Exec(s.format.schema(latest) + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;",
			s.format.ApplicationID, latest))
		return err
	})
}

// upgrade adds the tables of later versions, unless another process was faster.
func (s *File) upgrade(ctx context.Context) error {
	return s.Write(ctx, func(tx *sql.Tx) error {
		var version int
		latest := s.format.version()
		if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version == latest {
			return err
		}
		_, err := tx.Exec(strings.Join(s.format.Later[version-1:], "") + fmt.Sprintf("PRAGMA user_version = %d;", latest))
		return err
	})
}

// patience is how long to wait for other processes in total. SQLite itself waits for
// a few seconds at a time, without noticing that the context has ended.
const patience = 2 * time.Minute

// wait does something again and again while other processes keep the file busy.
func (s *File) wait(ctx context.Context, do func() error) error {
	for end := time.Now().Add(patience); ; {
		err := do()
		at := (*sqlite.Error)(nil)
		if !errors.As(err, &at) || at.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(1+rand.IntN(20)) * time.Millisecond): // so that those who wait do not collide again
		}
	}
}

// Write applies a change atomically.
func (s *File) Write(ctx context.Context, change func(*sql.Tx) error) error {
	return s.Explain(s.wait(ctx, func() error {
		tx, err := s.DB.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := change(tx); err != nil {
			_ = tx.Rollback() // after some errors the database has already done so
			return err
		}
		return tx.Commit()
	}))
}

// Each calls a function for every row of a plain query. The pages of a hostile
// file can form a cycle, so it stops after more rows than the file has space for.
func (s *File) Each(ctx context.Context, query string, row func(*sql.Rows) error, args ...any) error {
	bytes, err := s.size()
	if err != nil {
		return err
	}
	var rows *sql.Rows
	err = s.wait(ctx, func() (err error) {
		statement, err := s.prepared(ctx, query)
		if err == nil {
			rows, err = statement.QueryContext(ctx, args...)
		}
		return err
	})
	if err != nil {
		return s.Explain(err)
	}
	defer rows.Close()
	const minRowBytes = 8
	for left := bytes / minRowBytes; rows.Next(); left-- {
		if err := row(rows); err != nil {
			if ctx.Err() != nil { // the end of the context closes the rows
				return ctx.Err()
			}
			return s.Damaged(err)
		}
		if left <= 0 {
			return s.Fail(damage+"its pages form a cycle", nil)
		}
	}
	return s.Explain(rows.Err())
}

// size returns the bytes of the file and of the log beside it.
func (s *File) size() (bytes int64, err error) {
	for _, path := range []string{s.path, s.path + "-wal"} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && path != s.path {
			continue // the log has been taken over
		}
		if err != nil {
			return 0, err
		}
		bytes += info.Size()
	}
	return bytes, nil
}

// Row scans the first row of a query; without one, the error is sql.ErrNoRows.
func (s *File) Row(ctx context.Context, query string, into []any, args ...any) error {
	return s.Explain(s.wait(ctx, func() error {
		statement, err := s.prepared(ctx, query)
		if err != nil {
			return err
		}
		return statement.QueryRowContext(ctx, args...).Scan(into...)
	}))
}

// prepared returns the statement of a query. Queries are constants of the program, and SQLite
// takes longer to read one than to answer it, so statements are kept until the file is closed.
func (s *File) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if kept, there := s.statements.Load(query); there {
		return kept.(*sql.Stmt), nil
	}
	statement, err := s.DB.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if kept, there := s.statements.LoadOrStore(query, statement); there {
		_ = statement.Close() // another goroutine was faster
		return kept.(*sql.Stmt), nil
	}
	return statement, nil
}

// inPlainWords is the error of a row without the driver's jargon.
func inPlainWords(err error) string {
	if _, column, found := strings.Cut(err.Error(), "sql: Scan error on column index "); found {
		_, column, _ = strings.Cut(column, "name ")
		return "column " + strings.Replace(column, "sql/driver: ", "", 1)
	}
	return err.Error()
}

// damage begins the reason of every error about a damaged file.
const damage = "it is damaged: "

// Fail returns an error about the file, with advice if the reason is damage.
func (s *File) Fail(reason string, cause error) error {
	e := &Error{File: s.format.What + " " + s.path, Reason: reason, Cause: cause}
	if strings.HasPrefix(reason, damage) {
		e.Advice = s.format.Damaged
	}
	return e
}

// Damaged returns the error of a file whose content is not what a program of ours wrote.
func (s *File) Damaged(err error) error { return s.Fail(damage+inPlainWords(err), err) }

// Explain turns an error of SQLite into plain words. It matches syscall.ENOSPC if the disk is full, syscall.EIO if it
// cannot be read or written, and fs.ErrPermission if the file cannot be opened or written.
func (s *File) Explain(err error) error {
	at := (*sqlite.Error)(nil)
	if !errors.As(err, &at) {
		return err
	}
	e := &Error{File: s.format.What + " " + s.path, Reason: at.Error(), Cause: err}
	switch at.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_FULL:
		e.Cause = errors.Join(err, syscall.ENOSPC)
		e.Reason, e.Advice = "there is no space left to write", s.format.Full
	case sqlite3.SQLITE_IOERR:
		e.Cause = errors.Join(err, syscall.EIO)
		e.Reason, e.Advice = "the disk cannot be read or written: "+at.Error(), "check whether it is full"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Reason, e.Advice = damage+at.Error(), s.format.Damaged
	case sqlite3.SQLITE_TOOBIG:
		e.Reason, e.Advice = fmt.Sprintf("%sa value has more than %d MiB", damage, s.format.Longest>>20), s.format.Damaged
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Cause = errors.Join(err, fs.ErrPermission)
		e.Reason = "it cannot be opened or written: " + at.Error()
	case sqlite3.SQLITE_BUSY:
		e.Busy, e.Reason, e.Advice = true, "another process has locked it for too long", "run the command again"
	}
	return e
}
