package source

import (
	"fmt"
	"slices"
)

// numerals is how the numbers of a text are written, where that is not as
// programs write them.
type numerals struct {
	decimal   byte
	thousands byte   // 0 if digits are not grouped
	plain     []byte // scratch
}

// numerals returns nil where numbers are written as programs do.
func (o Options) numerals() (*numerals, error) {
	if o.Decimal == 0 && o.Thousands == 0 {
		return nil, nil
	}
	n := &numerals{decimal: o.Decimal, thousands: o.Thousands}
	if n.decimal == 0 {
		n.decimal = '.'
	}
	refuse := func(mark byte, what, advice string) error {
		return &Error{Kind: ErrFormat, Detail: fmt.Sprintf("%q cannot %s", mark, what), Advice: advice}
	}
	switch {
	case n.decimal != '.' && n.decimal != ',':
		return nil, refuse(n.decimal, "be the decimal mark", "use a point or a comma")
	case !slices.Contains([]byte{0, ',', '.', ' ', '\'', '_'}, n.thousands):
		return nil, refuse(n.thousands, "separate thousands", "use a comma, a point, a blank, an apostrophe or an underscore")
	case n.thousands == n.decimal:
		return nil, refuse(n.decimal, "be the decimal mark and separate thousands, too", "declare one of them differently")
	}
	return n, nil
}

// number reads a field that is entirely a number.
func (n *numerals) number(field []byte) (float64, bool) {
	if n == nil {
		return wholeNumber(field)
	}
	if !n.rewrite(field) {
		return 0, false
	}
	return wholeNumber(n.plain)
}

// rewrite writes a number as programs do. Separators must lie between groups of
// three digits: 1,5 is not fifteen. It returns false where they do not, or where
// there is a decimal point that is not declared.
func (n *numerals) rewrite(field []byte) bool {
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
		case c == n.decimal:
			c = '.'
		case c == '.' || c == ',':
			return false
		}
		n.plain = append(n.plain, c)
	}
	return true
}

// separator returns the length of the separator of thousands at the start of the
// text, 0 if there is none. A blank may be one of those that keep a number on one
// line.
func (n *numerals) separator(text []byte) int {
	if n.thousands == 0 {
		return 0
	}
	if text[0] == n.thousands {
		return 1
	}
	if n.thousands == ' ' {
		for _, blank := range []string{"\u00a0", "\u202f", "\u2009"} {
			if len(text) >= len(blank) && string(text[:len(blank)]) == blank {
				return len(blank)
			}
		}
	}
	return 0
}

// spellings are ways to write numbers that a reader could mistake for words, and
// the flags that declare them.
var spellings = []struct {
	numerals
	flags string
}{
	{numerals{decimal: ','}, "--decimal ,"},
	{numerals{decimal: '.', thousands: ','}, "--thousands ,"},
	{numerals{decimal: ',', thousands: '.'}, "--decimal , --thousands ."},
	{numerals{decimal: ',', thousands: ' '}, "--decimal , --thousands space"},
}

// flagsFor returns the flags with which all values would be numbers; the last
// two only if the first do not suffice.
func flagsFor(values [][]byte) (flags []string) {
	for i, s := range spellings {
		if i >= 2 && len(flags) > 0 {
			break
		}
		n := s.numerals
		if !slices.ContainsFunc(values, func(v []byte) bool { _, ok := n.number(v); return !ok }) {
			flags = append(flags, s.flags)
		}
	}
	return flags
}
