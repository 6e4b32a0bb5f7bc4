package sheets

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/cells"
)

// Rows splits records and passes the fields to the sinks of their columns.
type Rows struct {
	Comma  byte
	Names  []string
	Sinks  []Sink // nil where a column is ignored
	Choice *Choice
	file   *rowfile.Store // that rows have moved to; nil if none have
	Late   *Error         // the first value that shows that a column is not numeric, with all such columns
	Lines  dataset.Lines  // of the rows
}

// AddPlain adds a record without quotes. Numbers are parsed in place, which
// saves the search for the end of the field.
func (r *Rows) AddPlain(rec cells.Record) error {
	text, at := rec.Text, 0
	for j, s := range r.Sinks {
		if at > len(text) {
			return r.ragged(rec, j)
		}
		if numbers, ok := s.(*NumberSink); ok && numbers.numerals == nil {
			v, n := cells.ParseNumber(text[at:])
			if end := at + n; n > 0 && (end == len(text) || text[end] == r.Comma) {
				numbers.Into.Append(v)
				at = end + 1
				continue
			}
		}
		end := cells.FieldEnd(text, at, r.Comma)
		if err := r.Add(rec, j, cells.Trim(text[at:end])); err != nil {
			return r.blame(rec, bytes.Count(text, []byte{r.Comma})+1, err)
		}
		at = end + 1
	}
	if at <= len(text) {
		return r.ragged(rec, bytes.Count(text, []byte{r.Comma})+1)
	}
	r.choose(rec)
	return nil
}

// AddFields adds a record that is already split.
func (r *Rows) AddFields(rec cells.Record, fields [][]byte) error {
	if len(fields) != len(r.Sinks) {
		return r.ragged(rec, len(fields))
	}
	for j, field := range fields {
		if err := r.Add(rec, j, field); err != nil {
			return err
		}
	}
	r.choose(rec)
	return nil
}

func (r *Rows) Add(rec cells.Record, j int, field []byte) error {
	if r.Sinks[j] == nil {
		return nil
	}
	return r.Outcome(rec, j, field, r.Sinks[j].Add(field))
}

// Outcome handles what a sink returned for a field.
func (r *Rows) Outcome(rec cells.Record, j int, field []byte, kind error) error {
	if kind == errOdd {
		if !utf8.Valid(field) {
			return r.fieldError(rec, j, ErrEncoding, field)
		}
		r.Sinks[j].(*NumberSink).addOdd(rec, field)
		return nil
	}
	if kind == errGuess {
		if r.Late == nil {
			r.Late = r.fieldError(rec, j, ErrNumber, field)
		}
		r.Late.late = append(r.Late.late, j)
		return nil
	}
	if kind != nil {
		return r.fieldError(rec, j, kind, field)
	}
	return nil
}

func (r *Rows) fieldError(rec cells.Record, j int, kind error, field []byte) *Error {
	e := &Error{Line: rec.Line, Row: rec.Row, Column: j + 1, Name: r.Names[j], Kind: kind,
		Detail: cells.QuoteShort(field), Advice: Advice[kind]}
	if kind == ErrEncoding {
		e.Detail += cells.NotUTF8
	}
	return e
}

var Advice = map[error]string{
	ErrNumber:   "correct it, or leave it empty if it is missing",
	ErrLevel:    "correct it, add it to the attribute's list, or declare the column categorical or text",
	ErrEncoding: "give its encoding",
}

// blame turns an error of a field into one of the row if the row has too many
// or too few fields: then a value is in the wrong column.
func (r *Rows) blame(rec cells.Record, fields int, err error) error {
	if fields != len(r.Sinks) {
		return r.ragged(rec, fields)
	}
	return err
}

// ragged names the first column without a field, or the first field without a column.
func (r *Rows) ragged(rec cells.Record, fields int) error {
	e := &Error{Line: rec.Line, Kind: ErrRagged, Column: min(fields, len(r.Names)) + 1,
		Detail: fmt.Sprintf("%d instead of %d", fields, len(r.Names)),
		Advice: "add or remove a field, or quote a field that contains the delimiter"}
	if fields < len(r.Names) {
		e.Name = r.Names[fields]
	}
	return e
}

// growing yields the columns that are read, as they are so far.
func (r *Rows) growing() iter.Seq[dataset.Column] {
	return func(yield func(dataset.Column) bool) {
		for _, s := range r.Sinks {
			if s != nil && !yield(s.SoFar()) {
				return
			}
		}
	}
}

// Bytes returns the memory that the columns take.
func (r *Rows) Bytes() (total int64) {
	for c := range r.growing() {
		total += c.Bytes()
	}
	return total
}

// length returns the number of rows in the longest column.
func (r *Rows) length() (most int) {
	for c := range r.growing() {
		most = max(most, c.Len())
	}
	return most
}

// MoveTo moves the rows to a file.
func (r *Rows) MoveTo(file *rowfile.Store) error {
	r.file = file
	for c := range r.growing() {
		if err := c.MoveTo(file); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rows) Table() (*dataset.Table, error) {
	var columns []dataset.Column
	for _, s := range r.Sinks {
		if s != nil {
			columns = append(columns, s.column())
		}
	}
	if r.file != nil {
		_ = r.MoveTo(r.file) // what finds no space may stay, as it did before
	}
	t, err := dataset.NewTable(columns...)
	if at := (*dataset.ColumnError)(nil); errors.As(err, &at) {
		return nil, &Error{Kind: ErrHeader, Name: at.Column, Detail: err.Error()}
	}
	return t, err
}
