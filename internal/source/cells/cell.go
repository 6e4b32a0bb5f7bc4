package cells

// Tables of laboratories have cells in columns of numbers that are not simply numbers: marks of
// missing values (n.d.), limits (<0.5), guesses (ca. 5) and units (12 °C). This file reads such a
// cell; tally.go counts them and decides whether the column is one of numbers.

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nextbatch/nextbatch/dataset"
)

// Kind is what a cell of a column of numbers is.
type Kind uint8

const (
	OtherCell   Kind = iota // a word, or anything else
	numberCell              // a number, perhaps with a unit or said to be approximate
	MissingCell             // a mark of a missing value
	belowCell               // below a limit, which is the value, or NaN if it is not said
	aboveCell               // above a limit
	foreignCell             // a number in a unit that is not that of the column
)

// Cell is what a cell says.
type Cell struct {
	Kind   Kind
	value  float64 // NaN where it is missing
	unit   string  // empty if there is none
	approx bool    // the cell says that the number is not exact
}

// missingMarks are marks of missing values that a word could not be taken for in a column of numbers, in lower
// case and without blanks. DefaultMissing lists those that are missing in any column.
var missingMarks = SetOf([]string{
	"-", "–", "—", "−", "--", "---", ".", "..", "...", "…", "na", "n/a", "n.a.", "n.a", "#n/a", "#nv", "#na", "nd", "n.d.",
	"n.d", "n/d", "nv", "n.v.",
	"n.b.", "n.e.", "n.m.", "k.a.", "k.a", "s.o.", "nan", "null", "none", "nil", "missing", "void", "<na>", "(null)",
	"(leer)", "(blank)", "(empty)", "empty",
	"unknown", "unbekannt", "inconnu", "#div/0!", "#wert!", "#value!", "#valeur!", "#ref!", "#bezug!", "#name?", "#num!",
	"#zahl!", "#null!", "?", "??", "???",
})

// unnamedLimits are values below a limit of detection or of quantification without its number.
var unnamedLimits = SetOf([]string{
	"lod", "loq", "ld", "lq", "dl", "ql", "mdl", "mql", "lloq", "llod", "nwg", "rl", "uloq",
	"bdl", "bql", "bloq", "blod", "b.d.l.", "b.d.", "belowlod", "belowloq", "u.n.g.", "n.n.",
})

// unsaidLimits are those of them that need no sign before them.
var unsaidLimits = SetOf([]string{"lod", "loq", "lloq", "llod", "bdl", "bql", "bloq", "blod", "b.d.l.", "b.d.",
	"belowlod", "belowloq", "u.n.g.", "n.n."})

// notDetected are marks of missing values that a person may also write for a label below a limit of detection.
var notDetected = SetOf([]string{"nd", "n.d.", "n.d", "n/d", "n.b."})

// limitSigns are the signs of values that are known to lie beyond a limit.
var limitSigns = []struct {
	sign string
	kind Kind
}{{"<=", belowCell}, {">=", aboveCell}, {"<", belowCell}, {">", aboveCell}, {"≤", belowCell}, {"≥", aboveCell}}

var approximations = []string{"approx.", "approx", "about", "circa", "ca.", "ca", "c.", "~", "≈", "±"}

// Loose reads a cell of a column of numbers. Units must be ones that are known: a code such as 12B is not a number.
func (n *Numerals) Loose(field []byte) Cell {
	text := bytes.TrimFunc(field, unicode.IsSpace)
	text = bytes.TrimPrefix(text, []byte("'")) // with which Excel marks text
	if v, ok := n.Number(text); ok {
		return Cell{Kind: numberCell, value: v}
	}
	if v, ok := n.signed(text); ok {
		return Cell{Kind: numberCell, value: v}
	}
	word := Compacted(text)
	switch {
	case missingMarks[word]:
		return Cell{Kind: MissingCell, value: math.NaN()}
	case unsaidLimits[word]:
		return Cell{Kind: belowCell, value: math.NaN()}
	}
	for _, s := range limitSigns {
		if rest, found := bytes.CutPrefix(text, []byte(s.sign)); found {
			return n.limit(rest, s.kind)
		}
	}
	for _, word := range approximations {
		if len(text) > len(word) && strings.EqualFold(string(text[:len(word)]), word) {
			c := n.measured(bytes.TrimFunc(text[len(word):], unicode.IsSpace))
			c.approx = true
			return c
		}
	}
	return n.measured(text)
}

// limit reads what stands after the sign of a limit.
func (n *Numerals) limit(text []byte, kind Kind) Cell {
	text = bytes.TrimFunc(text, unicode.IsSpace)
	if unnamedLimits[Compacted(text)] {
		return Cell{Kind: kind, value: math.NaN()}
	}
	c := n.measured(text)
	if c.Kind == numberCell {
		c.Kind = kind
	}
	return c
}

// signed reads a number whose minus is not that of ASCII.
func (n *Numerals) signed(text []byte) (float64, bool) {
	for _, minus := range []string{"−", "–"} {
		if rest, found := bytes.CutPrefix(text, []byte(minus)); found && len(rest) > 0 && rest[0] != '-' && rest[0] != '+' {
			v, ok := n.Number(bytes.TrimFunc(rest, unicode.IsSpace))
			return -v, ok
		}
	}
	return 0, false
}

// measured reads a number with a unit.
func (n *Numerals) measured(text []byte) Cell {
	if v, ok := n.Number(text); ok {
		return Cell{Kind: numberCell, value: v}
	}
	number, unit, glued := splitUnit(string(text))
	if unit == "" || !dataset.KnownUnit(unit, glued) {
		return Cell{value: math.NaN()}
	}
	v, ok := n.Number([]byte(number))
	if !ok {
		v, ok = n.signed([]byte(number))
	}
	if !ok {
		return Cell{value: math.NaN()}
	}
	return Cell{Kind: numberCell, value: v, unit: strings.Trim(unit, "[]()")}
}

// Compacted writes a word in lower case and without blanks.
func Compacted(text []byte) string {
	const longest = 16 // of the marks
	if len(text) > longest {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, string(text))
}

// splitUnit divides a text into a number and the unit after it, or the currency before it. Glued means that
// nothing stands between them.
func splitUnit(text string) (number, unit string, glued bool) {
	for _, money := range dataset.Currencies {
		if rest, found := strings.CutPrefix(text, money); found {
			return strings.TrimFunc(rest, unicode.IsSpace), money, false
		}
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if power, length := parseExponent([]byte(text[at:])); (r == 'e' || r == 'E') && length > 0 && power < 1000 && at > 0 {
			at += length
			continue
		}
		if unicode.IsLetter(r) || strings.ContainsRune("°%‰€$£¥µ[(", r) {
			number := strings.TrimFunc(text[:at], unicode.IsSpace)
			return number, text[at:], len(number) == at
		}
		at += size
	}
	return text, "", false
}
