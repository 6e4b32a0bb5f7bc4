package cells

import (
	"bytes"
	"fmt"
)

// Record is a piece of text with the line on which it starts.
type Record struct {
	Text  []byte
	Line  int // from 1; 0 where the table has no lines
	Row   int // of a table without lines, from 1; 0 elsewhere
	Blank int // a blank line that was skipped before it, 0 for none
}

// QuoteShort quotes a value of the file for a message.
func QuoteShort(value []byte) string {
	const most = 40
	if len(value) > most {
		return fmt.Sprintf("%q…", value[:most])
	}
	return fmt.Sprintf("%q", value)
}

func SetOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

const NotUTF8 = " is not UTF-8"

func FieldEnd(text []byte, from int, comma byte) int {
	if n := bytes.IndexByte(text[from:], comma); n >= 0 {
		return from + n
	}
	return len(text)
}

// Trim removes blanks and tabs at both ends.
func Trim(text []byte) []byte {
	for len(text) > 0 && IsBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && IsBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func IsBlank(c byte) bool { return c == ' ' || c == '\t' }
