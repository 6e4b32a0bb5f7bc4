package cli

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/report"
)

// Ids, names of columns, levels and files, and the names in results files come
// from others. Printed raw, they could move the cursor, hide lines or turn the
// direction of writing. All text for people passes through shown; JSON and table
// files stay exact.

// shown is text in which everything that a terminal would not print is escaped as
// in a Go string: control characters, line breaks, marks of direction, invisible
// characters, and bytes that are no UTF-8.
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

// shownError is the text of an error, with a line for each error that was joined.
// A line break in anything else is escaped.
func shownError(err error) string {
	text := err.Error()
	var b strings.Builder
	for i, inner := range causes(err) {
		before, after, found := strings.Cut(text, inner.Error())
		switch {
		case !found:
			continue // the error tells it in words of its own
		case i > 0 && before == "\n":
			b.WriteString("\n")
		default:
			b.WriteString(shown(before))
		}
		b.WriteString(shownError(inner))
		text = after
	}
	b.WriteString(shown(text))
	return b.String()
}

// causes are the errors that an error was made of.
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
func printTable(out io.Writer, t *report.Table) error { return t.Map(shown).WriteText(out) }
