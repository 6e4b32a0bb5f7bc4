package sqlitefile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
)

// Query reads the rows of a query from a database of any program, without writing to it. Begin gets the names of the
// columns, then row the values of each row, which it may keep: nil, int64, float64, bool, string, []byte or time.Time.
func Query(ctx context.Context, path, query string, begin func(names []string), row func(values []any) error) (
	err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	header := make([]byte, len(magic))
	_, err = io.ReadFull(file, header)
	_ = file.Close()
	f := Format{What: "SQLite file", Damaged: "take a copy from before", Full: "free some disk space"}
	if err != nil || !bytes.Equal(header, magic) {
		return &Error{File: f.What + " " + path, Reason: "it is not a database of SQLite", Cause: ErrOther}
	}
	s, err := f.connectToRead(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(s.Explain(err), s.Close()) }()
	if _, err := s.DB.ExecContext(ctx, "PRAGMA query_only = 1"); err != nil {
		return err
	}
	rows, err := s.DB.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	begin(names)
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}
