package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/report"
)

// Ids, names of columns, levels and files, and the names in results files come
// from others. Printed raw, they could move the cursor, hide lines or reverse
// the direction of text. All text for people passes through shown; JSON and
// table files stay exact.

// shown returns text with everything that a terminal would not print escaped as
// in a Go string: control characters, line breaks, direction marks, invisible
// characters, and bytes that are not UTF-8.
func shown(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0])+0x100, 16)[1:])
		case unprintable(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// shownError returns the text of an error and its hints, with a line for each joined error.
// Any other line break is escaped.
func shownError(err error) string {
	if at, ok := err.(*fs.PathError); ok {
		return shown(plainPath(at))
	}
	if of, ok := err.(*options.Fault); ok {
		return shown(of.In(options.Flag))
	}
	text := err.Error()
	var b strings.Builder
	for i, inner := range causes(err) {
		before, after, found := strings.Cut(text, inner.Error())
		switch {
		case !found:
			continue // the error describes it in its own words
		case i > 0 && before == "\n":
			b.WriteString("\n")
		default:
			b.WriteString(shown(before))
		}
		b.WriteString(shownError(inner))
		text = after
	}
	b.WriteString(shown(text))
	if hinted, ok := err.(options.Hinted); ok {
		b.WriteString(options.In(options.Flag, hinted.Hints()...))
	}
	return b.String()
}

// plainPath reports what is wrong with a file, without the name of the system call.
func plainPath(e *fs.PathError) string {
	if errors.Is(e, fs.ErrNotExist) {
		return fmt.Sprintf("%s: there is no such file; check its name and the folder", e.Path)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Err)
}

// causes returns the errors that an error wraps.
func causes(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}

// printTable prints a table.
func printTable(out io.Writer, t *report.Table) error {
	return t.Map(shown).WriteWrapped(out, terminalWidth)
}

// terminalWidth is how many columns text takes at most, as far as its words allow.
const terminalWidth = 100
