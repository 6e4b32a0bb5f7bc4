package source

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a file, for errors.Is.
var (
	ErrFormat   = errors.New("the format is not known")
	ErrEncoding = errors.New("the text is not UTF-8")
	ErrEmpty    = errors.New("the file has no rows")
	ErrHeader   = errors.New("the header cannot be used")
	ErrColumn   = errors.New("there is no such column")
	ErrRagged   = errors.New("the row has another number of fields than the first")
	ErrBlank    = errors.New("the line is blank")
	ErrQuote    = errors.New("the quotes do not match")
	ErrNumber   = errors.New("the value is not a number")
	ErrLevel    = errors.New("the value is not a declared level")
	ErrTooLong  = errors.New("the row is too long")
	ErrRead     = errors.New("the file cannot be read to its end")
	ErrShape    = errors.New("the array is no table")
	ErrRange    = errors.New("the number does not fit")
	ErrArray    = errors.New("there is no such array")
	ErrID       = errors.New("the id does not name one row")
	ErrColumns  = errors.New("there are too many columns")
	ErrMemory   = errors.New("reading the file would take more memory than is allowed")
)

// Error says where a file is wrong, how, and what to do.
type Error struct {
	File   string // empty where the reader was given no name
	Line   int    // from 1; 0 where no line is to blame
	Row    int    // of the data, from 1, in files without lines; 0 where no row is to blame
	Column int    // from 1; 0 where no column is to blame
	Name   string // of the column, where it has one
	Kind   error  // one of the errors above
	Detail string // what was found
	Advice string // what to do
	Cause  error  // the error of the system, if there is one

	late []int // columns, from 0, that looked numeric and are not, see ReadFile
}

func (e *Error) Error() string {
	var b strings.Builder
	if where := e.where(); where != "" {
		b.WriteString(where + ": ")
	}
	b.WriteString(e.Kind.Error())
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	if e.Advice != "" {
		b.WriteString("; " + e.Advice)
	}
	return b.String()
}

func (e *Error) where() string {
	var parts []string
	if e.File != "" {
		parts = append(parts, e.File)
	}
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d", e.Row))
	}
	switch {
	case e.Column > 0 && e.Name != "":
		parts = append(parts, fmt.Sprintf("column %d (%s)", e.Column, e.Name))
	case e.Column > 0:
		parts = append(parts, fmt.Sprintf("column %d", e.Column))
	}
	return strings.Join(parts, ", ")
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// quoteShort prints a value of the file for a message.
func quoteShort(value []byte) string {
	const most = 40
	if len(value) > most {
		return fmt.Sprintf("%q…", value[:most])
	}
	return fmt.Sprintf("%q", value)
}
