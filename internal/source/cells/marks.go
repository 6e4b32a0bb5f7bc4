package cells

// How the numbers of a file are written is guessed from its first rows: 1,5 has a decimal comma, 1,234,567
// and 1,234.5 have commas between thousands, and 1,234 alone may be either. Each column decides for itself
// as far as it can, and for the others the file does.

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/nextbatch/nextbatch/dataset"
)

// Signs counts the numbers of a column by what they tell about its marks.
type Signs struct {
	comma, point           int // numbers whose decimal mark is certain
	MaybeComma, MaybePoint int // 1,234 and 1.234
	commaGroups            int // 1,234,567 and 1,234.5
	pointGroups            int
	blanks, quotes         int     // 1 234 and 1'234
	Short                  int     // whole numbers of at most three digits
	Example                string  // of MaybeComma, or else of MaybePoint
	low, high              float64 // of the numbers that these would be with a decimal mark
}

func (s *Signs) Add(other Signs) {
	s.comma += other.comma
	s.point += other.point
	s.MaybeComma += other.MaybeComma
	s.MaybePoint += other.MaybePoint
	s.commaGroups += other.commaGroups
	s.pointGroups += other.pointGroups
	s.Short += other.Short
	if other.high > 0 {
		s.sized(other.low)
		s.sized(other.high)
	}
	if s.Example == "" || s.MaybeComma > 0 && s.MaybeComma == other.MaybeComma {
		s.Example = other.Example
	}
}

// sized adds the size of a number that may have a decimal mark.
func (s *Signs) sized(v float64) {
	if s.high == 0 || v < s.low {
		s.low = v
	}
	s.high = max(s.high, v)
}

// See counts a field.
func (s *Signs) See(field []byte) {
	core := CoreOf(field)
	if core == nil {
		return
	}
	plain, blanks, quotes := ungrouped(core)
	if plain == nil {
		return
	}
	switch {
	case blanks:
		s.blanks++
	case quotes:
		s.quotes++
	}
	commas, points := bytes.Count(plain, []byte(",")), bytes.Count(plain, []byte("."))
	lastComma, lastPoint := bytes.LastIndexByte(plain, ','), bytes.LastIndexByte(plain, '.')
	certain := blanks || quotes // a mark after groups is the decimal one
	switch {
	case commas == 0 && points == 0:
		if len(plain) <= 3 {
			s.Short++
		}
	case commas == 1 && lastComma > lastPoint && points > 0 && grouped(plain[:lastComma], '.'):
		s.comma++
		s.pointGroups++
	case points == 1 && lastPoint > lastComma && commas > 0 && grouped(plain[:lastPoint], ','):
		s.point++
		s.commaGroups++
	case commas == 1 && points == 0 && (certain || !grouped(plain, ',')):
		s.comma++
	case commas == 1 && points == 0:
		s.sized(withMark(plain, lastComma))
		if s.MaybeComma++; s.MaybeComma == 1 {
			s.Example = string(plain)
		}
	case points == 1 && commas == 0 && (certain || !grouped(plain, '.')):
		s.point++
	case points == 1 && commas == 0:
		s.sized(withMark(plain, lastPoint))
		if s.MaybePoint++; s.Example == "" {
			s.Example = string(plain)
		}
	case points == 0 && grouped(plain, ','):
		s.commaGroups++
	case commas == 0 && grouped(plain, '.'):
		s.pointGroups++
	}
}

// withMark returns the number with a decimal mark at a position.
func withMark(plain []byte, at int) float64 {
	v, _ := WholeNumber(slices.Concat(plain[:at], []byte{'.'}, plain[at+1:]))
	return v
}

// grouped reports whether digits are in groups of three, as in 1,234,567, and the first one is not a zero.
func grouped(text []byte, separator byte) bool {
	groups := bytes.Split(text, []byte{separator})
	for i, group := range groups {
		if !IsDigits(group) || len(group) > 3 || i > 0 && len(group) != 3 {
			return false
		}
	}
	return groups[0][0] != '0'
}

func IsDigits(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(c byte) bool { return c < '0' || c > '9' })
}

// CoreOf returns the digits and marks of a field that may be a number, without its sign, its
// exponent and its unit; nil if it cannot be one.
func CoreOf(field []byte) []byte {
	from := bytes.IndexAny(field, "0123456789")
	if from < 0 || len(field) > 60 {
		return nil
	}
	if from > 0 && (field[from-1] == ',' || field[from-1] == '.') {
		from--
	}
	if before := strings.ToLower(string(bytes.TrimFunc(field[:from], unicode.IsSpace))); !beforeNumber(before) {
		return nil
	}
	to := from
	for to < len(field) {
		size := markLength(field[to:])
		if size == 0 {
			break
		}
		to += size
	}
	after := field[to:]
	if len(after) > 0 && after[0]|0x20 == 'e' {
		_, length := parseExponent(after)
		after = after[length:]
	}
	after = bytes.TrimFunc(after, unicode.IsSpace)
	if len(after) > 0 && !dataset.KnownUnit(string(after), false) {
		return nil
	}
	return bytes.TrimFunc(field[from:to], unicode.IsSpace)
}

// beforeNumber reports whether a text may stand before the digits of a number.
func beforeNumber(text string) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(text, "-"), "+"), "−")
	if text == "" || text == "'" || slices.Contains(approximations, text) ||
		slices.Contains(dataset.Currencies, strings.ToUpper(text)) {
		return true
	}
	return slices.ContainsFunc(limitSigns, func(s struct {
		sign string
		kind Kind
	}) bool {
		return s.sign == text
	})
}

// markLength returns the length of a digit or a mark at the start of a text; a blank or an apostrophe counts
// only before a digit. It is 0 for anything else.
func markLength(text []byte) int {
	if c := text[0]; c >= '0' && c <= '9' || c == ',' || c == '.' {
		return 1
	}
	for _, separator := range slices.Concat(blankGroups, quoteGroups) {
		n := len(separator)
		if bytes.HasPrefix(text, []byte(separator)) && len(text) > n && text[n] >= '0' && text[n] <= '9' {
			return n
		}
	}
	return 0
}

var (
	blankGroups = []string{" ", "\u00a0", "\u202f", "\u2009"}
	quoteGroups = []string{"'", "’"}
)

// ungrouped removes blanks or apostrophes between groups of digits. It returns nil where these are not
// groups of three.
func ungrouped(core []byte) (plain []byte, blanks, quotes bool) {
	plain = core
	remove := func(separators []string) bool {
		found := false
		for _, s := range separators {
			if bytes.Contains(plain, []byte(s)) {
				plain, found = bytes.ReplaceAll(plain, []byte(s), []byte{' '}), true
			}
		}
		return found
	}
	blanks = remove(blankGroups)
	quotes = remove(quoteGroups)
	if !blanks && !quotes {
		return core, false, false
	}
	whole, rest := plain, []byte(nil)
	if at := bytes.IndexAny(plain, ",."); at >= 0 {
		whole, rest = plain[:at], plain[at:]
	}
	if blanks && quotes || !grouped(whole, ' ') {
		return nil, false, false
	}
	return slices.Concat(bytes.ReplaceAll(whole, []byte{' '}, nil), rest), blanks, quotes
}

// Decimal returns the mark that is certain for a column, 0 if none is.
func (s Signs) Decimal() byte {
	commas, points := s.comma+s.pointGroups, s.point+s.commaGroups
	switch {
	case commas > points:
		return ','
	case points > 0:
		return '.'
	}
	return 0
}

// numeralsWith returns how the numbers of a column are written, given its decimal mark.
func (s Signs) numeralsWith(decimal byte) Numerals {
	n := Numerals{Decimal: decimal}
	switch {
	case s.blanks > 0:
		n.Thousands = ' '
	case s.quotes > 0:
		n.Thousands = '\''
	case decimal == ',' && s.pointGroups+s.MaybePoint > 0:
		n.Thousands = '.'
	case decimal == '.' && s.commaGroups+s.MaybeComma > 0:
		n.Thousands = ','
	}
	return n
}

// NumeralsOf returns how the numbers of a column are written, given the decimal mark that the user asked for and that
// of the file, 0 for none. Stored means that the file has numbers as programs write them, besides those in text.
func (s Signs) NumeralsOf(asked, file byte, stored bool) Numerals {
	decimal := cmp.Or(asked, s.Decimal())
	if stored && (s.point+s.MaybePoint > 0 || decimal == 0) || decimal == 0 && file == 0 {
		decimal = '.'
	}
	if stored && decimal == '.' && s.comma > 0 {
		typed := s.numeralsWith(',')
		return Numerals{Decimal: '.', Typed: &typed}
	}
	return s.numeralsWith(cmp.Or(decimal, file))
}

// Decide returns how the numbers of a column are written, where 1,234 or 1.234 may be over a thousand or have a decimal
// mark: as the sizes of others say. Said tells how that is, if the file itself suggests something else. Where the
// others cannot say it, it returns false.
func Decide(h *dataset.History, s Signs, n Numerals, stored bool) (decided Numerals, said string, ok bool) {
	if stored {
		s.MaybePoint = 0 // as programs write numbers
	}
	mark := s.Uncertain()
	decimal := n.Decimal == mark
	switch {
	case mark == 0, n.Typed != nil:
		return n, "", true
	case s.MaybeComma > 0 && s.MaybePoint > 0: // one of them is a decimal mark
		return n, "", s.Decimal() != 0 && h.Like(s.low, 1000*s.high)
	case decimal && h.Mark() == mark, !decimal && n.Thousands != mark:
		return n, "", true
	}
	fitsDecimal, fitsGroups := h.Like(s.low, s.high), h.Like(1000*s.low, 1000*s.high)
	certain := s.Decimal() != 0 && !stored
	switch {
	case decimal && fitsDecimal && !fitsGroups, !decimal && fitsGroups && !fitsDecimal, certain &&
		fitsDecimal == fitsGroups:
		return n, "", true
	case certain || fitsDecimal == fitsGroups:
		return n, "", false
	case decimal:
		return Grouping(mark), s.Example + " is over a thousand", true
	case stored:
		return Numerals{Decimal: '.', Typed: &Numerals{Decimal: mark}}, s.Example + " has a decimal mark", true
	}
	return Numerals{Decimal: mark}, s.Example + " has a decimal mark", true
}

// Uncertain returns the mark of numbers such as 1,234 and 1.234; 0 if there are none.
func (s Signs) Uncertain() byte {
	switch {
	case s.MaybeComma > 0:
		return ','
	case s.MaybePoint > 0:
		return '.'
	}
	return 0
}

// Grouping returns how numbers are written with a mark between thousands.
func Grouping(mark byte) Numerals {
	if mark == ',' {
		return Numerals{Decimal: '.', Thousands: ','}
	}
	return Numerals{Decimal: ',', Thousands: '.'}
}
