package source

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rowfile"
)

// rows splits records and passes the fields to the sinks of their columns.
type rows struct {
	comma  byte
	names  []string
	sinks  []sink // nil where a column is ignored
	choice *Choice
	file   *rowfile.Store // that rows have moved to; nil if none have
	late   *Error         // the first value that shows that a column is not numeric, with all such columns
	lines  dataset.Lines  // of the rows
}

// addPlain adds a record without quotes. Numbers are parsed in place, which
// saves the search for the end of the field.
func (r *rows) addPlain(rec record) error {
	text, at := rec.text, 0
	for j, s := range r.sinks {
		if at > len(text) {
			return r.ragged(rec, j)
		}
		if numbers, ok := s.(*numberSink); ok && numbers.numerals == nil {
			v, n := parseNumber(text[at:])
			if end := at + n; n > 0 && (end == len(text) || text[end] == r.comma) {
				numbers.into.Append(v)
				at = end + 1
				continue
			}
		}
		end := fieldEnd(text, at, r.comma)
		if err := r.add(rec, j, trim(text[at:end])); err != nil {
			return r.blame(rec, bytes.Count(text, []byte{r.comma})+1, err)
		}
		at = end + 1
	}
	if at <= len(text) {
		return r.ragged(rec, bytes.Count(text, []byte{r.comma})+1)
	}
	r.choose(rec)
	return nil
}

// addFields adds a record that is already split.
func (r *rows) addFields(rec record, fields [][]byte) error {
	if len(fields) != len(r.sinks) {
		return r.ragged(rec, len(fields))
	}
	for j, field := range fields {
		if err := r.add(rec, j, field); err != nil {
			return err
		}
	}
	r.choose(rec)
	return nil
}

func (r *rows) add(rec record, j int, field []byte) error {
	if r.sinks[j] == nil {
		return nil
	}
	return r.outcome(rec, j, field, r.sinks[j].add(field))
}

// outcome handles what a sink returned for a field.
func (r *rows) outcome(rec record, j int, field []byte, kind error) error {
	if kind == errOdd {
		if !utf8.Valid(field) {
			return r.fieldError(rec, j, ErrEncoding, field)
		}
		r.sinks[j].(*numberSink).addOdd(rec, field)
		return nil
	}
	if kind == errGuess {
		if r.late == nil {
			r.late = r.fieldError(rec, j, ErrNumber, field)
		}
		r.late.late = append(r.late.late, j)
		return nil
	}
	if kind != nil {
		return r.fieldError(rec, j, kind, field)
	}
	return nil
}

func (r *rows) fieldError(rec record, j int, kind error, field []byte) *Error {
	e := &Error{Line: rec.line, Row: rec.row, Column: j + 1, Name: r.names[j], Kind: kind,
		Detail: quoteShort(field), Advice: advice[kind]}
	if kind == ErrEncoding {
		e.Detail += notUTF8
	}
	return e
}

const notUTF8 = " is not UTF-8"

var advice = map[error]string{
	ErrNumber:   "correct it, or leave it empty if it is missing",
	ErrLevel:    "correct it, add it to the attribute's list, or declare the column categorical or text",
	ErrEncoding: "give its encoding, such as --encoding windows-1252 or --encoding latin1",
}

// blame turns an error of a field into one of the row if the row has too many
// or too few fields: then a value is in the wrong column.
func (r *rows) blame(rec record, fields int, err error) error {
	if fields != len(r.sinks) {
		return r.ragged(rec, fields)
	}
	return err
}

// ragged names the first column without a field, or the first field without a
// column.
func (r *rows) ragged(rec record, fields int) error {
	e := &Error{Line: rec.line, Kind: ErrRagged, Column: min(fields, len(r.names)) + 1,
		Detail: fmt.Sprintf("%d instead of %d", fields, len(r.names)),
		Advice: "add or remove a field, or quote a field that contains the delimiter"}
	if fields < len(r.names) {
		e.Name = r.names[fields]
	}
	return e
}

// growing yields the columns that are read, as they are so far.
func (r *rows) growing() iter.Seq[dataset.Column] {
	return func(yield func(dataset.Column) bool) {
		for _, s := range r.sinks {
			if s != nil && !yield(s.soFar()) {
				return
			}
		}
	}
}

// bytes returns the memory that the columns take.
func (r *rows) bytes() (total int64) {
	for c := range r.growing() {
		total += c.Bytes()
	}
	return total
}

// length returns the number of rows in the longest column.
func (r *rows) length() (most int) {
	for c := range r.growing() {
		most = max(most, c.Len())
	}
	return most
}

// moveTo moves the rows to a file.
func (r *rows) moveTo(file *rowfile.Store) error {
	r.file = file
	for c := range r.growing() {
		if err := c.MoveTo(file); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) table() (*dataset.Table, error) {
	var columns []dataset.Column
	for _, s := range r.sinks {
		if s != nil {
			columns = append(columns, s.column())
		}
	}
	if r.file != nil {
		_ = r.moveTo(r.file) // what finds no space may stay, as it did before
	}
	t, err := dataset.NewTable(columns...)
	if at := (*dataset.ColumnError)(nil); errors.As(err, &at) {
		return nil, &Error{Kind: ErrHeader, Name: at.Column, Detail: err.Error()}
	}
	return t, err
}

func fieldEnd(text []byte, from int, comma byte) int {
	if n := bytes.IndexByte(text[from:], comma); n >= 0 {
		return from + n
	}
	return len(text)
}

// trim removes blanks and tabs at both ends.
func trim(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
