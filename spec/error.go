package spec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error reports what is wrong with the text of a spec, and where.
type Error struct {
	Text    string // the whole text
	Offset  int    // the byte where the fault starts
	Length  int    // the bytes that it spans; 0 where something is missing
	Reason  string // what is wrong
	Suggest string // the likely intended text, or empty
}

// Error is one line. The position counts characters from 1.
func (e *Error) Error() string {
	line := fmt.Sprintf("spec %q, character %d: %s", e.Text, e.column()+1, e.Reason)
	if e.Suggest != "" {
		line += "; did you mean " + e.Suggest + "?"
	}
	return line
}

// Caret returns two lines: the text, and below it a caret under the first
// character in question, with a tilde under each one after it.
func (e *Error) Caret() string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' ' // a tab or a line break would move the caret
	}, e.Text)
	width := max(1, utf8.RuneCountInString(e.Text[e.Offset:e.Offset+e.Length]))
	return plain + "\n" + strings.Repeat(" ", e.column()) + "^" + strings.Repeat("~", width-1)
}

// column is the number of characters before the offset.
func (e *Error) column() int { return utf8.RuneCountInString(e.Text[:e.Offset]) }

// extent is a part of a spec's text: bytes from to to-1.
type extent struct{ from, to int }

func wrong(text string, at extent, format string, args ...any) *Error {
	return &Error{Text: text, Offset: at.from, Length: at.to - at.from, Reason: fmt.Sprintf(format, args...)}
}

// unknown reports a name that is not among the known ones.
func unknown(text string, at extent, what string, known []string) *Error {
	name := text[at.from:at.to]
	err := wrong(text, at, "%s %q is unknown", what, name)
	err.Suggest = nearest(name, known)
	if err.Suggest == "" {
		err.Reason += "; choose from " + strings.Join(known, ", ")
	}
	return err
}

// otherNames are other common names for ours.
var otherNames = map[string]string{
	"rp": "sketch", "random-projection": "sketch", "fw": "frankwolfe", "frank-wolfe": "frankwolfe",
	"kmeans++": "kmeanspp", "k-means++": "kmeanspp", "posterior": "post", "ensemble": "ens",
	"lin": "linear", "gradient": "grad", "last-layer": "ll", "core-set": "coreset",
}

// longestName is far longer than any known name, so a longer one resembles none.
const longestName = 40

// nearest returns the first of the known names that needs the fewest edits,
// provided that those are at most a third of the letters.
func nearest(name string, known []string) string {
	if len(name) > longestName {
		return ""
	}
	name = strings.ToLower(name)
	if other, ok := otherNames[name]; ok {
		return other
	}
	best, most := "", 1+len(name)/3
	for _, k := range known {
		if d := edits(name, k); d < most {
			best, most = k, d
		}
	}
	return best
}

// edits is the number of letters to insert, delete, replace or swap with their
// neighbour that turn a into b.
func edits(a, b string) int {
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old = old, row
	}
	return old[len(b)]
}

func differ(x, y byte) int {
	if x == y {
		return 0
	}
	return 1
}
