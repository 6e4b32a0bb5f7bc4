package cells

import (
	"unicode/utf8"
)

// Numerals is how the numbers of a text are written, where that is not as programs write them.
type Numerals struct {
	Decimal   byte
	Thousands byte // 0 if digits are not grouped
	// of numbers that people typed as text, such as <0,5, beside numbers that a workbook stores; nil if they are alike
	Typed *Numerals
	plain []byte // scratch
}

// Number reads a field that is entirely a number.
func (n *Numerals) Number(field []byte) (float64, bool) {
	if n == nil {
		return WholeNumber(field)
	}
	if n.rewrite(field) {
		if v, ok := WholeNumber(n.plain); ok {
			return v, true
		}
	}
	if n.Typed != nil {
		return n.Typed.Number(field)
	}
	return 0, false
}

// rewrite writes a number as programs do. Separators must lie between groups of three digits: 1,5 is not fifteen. It
// returns false where they do not, or where there is a decimal point that is not declared.
func (n *Numerals) rewrite(field []byte) bool {
	n.plain = n.plain[:0]
	if len(field) > 0 && (field[0] == '-' || field[0] == '+') {
		n.plain, field = append(n.plain, field[0]), field[1:]
	}
	digits, groups := 0, 0 // of the current group; separators so far
	at := 0
	for at < len(field) {
		if field[at]-'0' <= 9 {
			n.plain = append(n.plain, field[at])
			digits++
			at++
			continue
		}
		size := n.separator(field[at:])
		if size == 0 {
			break
		}
		if digits == 0 || digits > 3 || groups > 0 && digits != 3 {
			return false
		}
		digits, groups = 0, groups+1
		at += size
	}
	if groups > 0 && digits != 3 {
		return false
	}
	for _, c := range field[at:] {
		switch {
		case c == n.Decimal:
			c = '.'
		case c == '.' || c == ',':
			return false
		}
		n.plain = append(n.plain, c)
	}
	return true
}

// separator returns the length of the separator of thousands at the start of the text, 0 if there is none. A blank
// may be one of those that keep a number on one line, and an apostrophe a typographic one.
func (n *Numerals) separator(text []byte) int {
	if n.Thousands == 0 {
		return 0
	}
	if text[0] == n.Thousands {
		return 1
	}
	if text[0] < utf8.RuneSelf || n.Thousands != ' ' && n.Thousands != '\'' {
		return 0
	}
	others := quoteGroups
	if n.Thousands == ' ' {
		others = blankGroups
	}
	for _, other := range others {
		if len(text) >= len(other) && string(text[:len(other)]) == other {
			return len(other)
		}
	}
	return 0
}
