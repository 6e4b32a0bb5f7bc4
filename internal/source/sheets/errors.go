package sheets

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/internal/options"
)

// What can be wrong with a file, for errors.Is.
var (
	ErrFormat   = errors.New("the format is unknown")
	ErrEncoding = errors.New("the text is not in the expected encoding")
	ErrEmpty    = errors.New("the file has no rows")
	ErrHeader   = errors.New("the header cannot be used")
	ErrColumn   = errors.New("there is no such column")
	ErrRagged   = errors.New("the number of fields differs from that of the first row")
	ErrBlank    = errors.New("the line is blank")
	ErrQuote    = errors.New("the quotes do not match")
	ErrNumber   = errors.New("the value is not a number")
	ErrUnit     = errors.New("the units of the column do not fit together")
	ErrMark     = errors.New("it is not certain what a mark in the numbers means")
	ErrLimit    = errors.New("the label may lie beyond a limit that is not known")
	ErrLevel    = errors.New("the value is not a declared level")
	ErrJSON     = errors.New("the line is not a JSON object")
	ErrNested   = errors.New("the value is an object or a list")
	ErrTooLong  = errors.New("the row is too long")
	ErrRead     = errors.New("the file cannot be read completely")
	ErrShape    = errors.New("the array cannot become a table")
	ErrRange    = errors.New("the number is out of range")
	ErrArray    = errors.New("there is no such array")
	ErrSheet    = errors.New("there is no such sheet")
	ErrMore     = errors.New("the workbook holds more than the table")
	ErrFormula  = errors.New("the formula has no stored value")
	ErrID       = errors.New("the id does not identify one row")
	ErrColumns  = errors.New("there are too many columns")
	ErrRows     = errors.New("there are too many rows")
	ErrMemory   = errors.New("reading the file would take more memory than is allowed")
)

// Error reports where a file is wrong, how, and what to do.
type Error struct {
	File   string         // empty if the reader was given no name
	Line   int            // from 1; 0 if no single line is at fault
	Row    int            // of the data, from 1, in files without lines; 0 if no single row is at fault
	Column int            // from 1; 0 if no single column is at fault
	Name   string         // of the column, where it has one
	Kind   error          // one of the errors above
	Detail string         // what was found
	Advice string         // what to do
	Hints  []options.Hint // which end the advice, as Worded adds them
	Cause  error          // the underlying error, if any

	late []int // columns, from 0, that looked numeric but are not; see ReadFile
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

// Worded ends the advice of an error with its hints, in the words of the options, and returns it.
func Worded(err error, opts Options) error {
	at := (*Error)(nil)
	if !errors.As(err, &at) {
		return err
	}
	if opts.Format == "" && len(at.Hints) > 0 && at.Hints[0].Option == "Format" && at.Kind == ErrEncoding {
		at.Advice = "rename the file to end in ." + at.Hints[0].Value[0] + ", or "
	}
	if at.Advice == Advice[ErrEncoding] {
		at.Hints = encodings
	}
	at.Advice += options.In(opts.setting, at.Hints...)
	at.Hints = nil
	return err
}

var encodings = []options.Hint{{Before: ", such as ", Option: "Encoding", Value: []string{"windows-1252"}},
	{Before: " or ", Option: "Encoding", Value: []string{"latin1"}}}

func (e *Error) where() string {
	var parts []string
	if e.File != "" {
		parts = append(parts, e.File)
	}
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d (from 0)", e.Row-1)) // as batches and ids count
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

// LateColumns returns the columns, from 0, that looked numeric in the first rows but are not; nil if something else is
// wrong.
func LateColumns(err error) []int {
	if at := (*Error)(nil); errors.As(err, &at) {
		return at.late
	}
	return nil
}
