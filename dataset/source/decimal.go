package source

// How the numbers of a file are written is guessed from its first rows: 1,5 has a decimal comma, 1,234,567
// and 1,234.5 have commas between thousands, and 1,234 alone may be either. Each column decides for itself
// as far as it can, and for the others the file does.

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/nextbatch/nextbatch/dataset"
)

// signs counts the numbers of a column by what they tell about its marks.
type signs struct {
	comma, point           int // numbers whose decimal mark is certain
	maybeComma, maybePoint int // 1,234 and 1.234
	commaGroups            int // 1,234,567 and 1,234.5
	pointGroups            int
	blanks, quotes         int     // 1 234 and 1'234
	short                  int     // whole numbers of at most three digits
	example                string  // of maybeComma, or else of maybePoint
	low, high              float64 // of the numbers that these would be with a decimal mark
}

func (s *signs) add(other signs) {
	s.comma += other.comma
	s.point += other.point
	s.maybeComma += other.maybeComma
	s.maybePoint += other.maybePoint
	s.commaGroups += other.commaGroups
	s.pointGroups += other.pointGroups
	s.short += other.short
	if other.high > 0 {
		s.sized(other.low)
		s.sized(other.high)
	}
	if s.example == "" || s.maybeComma > 0 && s.maybeComma == other.maybeComma {
		s.example = other.example
	}
}

// sized adds the size of a number that may have a decimal mark.
func (s *signs) sized(v float64) {
	if s.high == 0 || v < s.low {
		s.low = v
	}
	s.high = max(s.high, v)
}

// see counts a field.
func (s *signs) see(field []byte) {
	core := coreOf(field)
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
			s.short++
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
		if s.maybeComma++; s.maybeComma == 1 {
			s.example = string(plain)
		}
	case points == 1 && commas == 0 && (certain || !grouped(plain, '.')):
		s.point++
	case points == 1 && commas == 0:
		s.sized(withMark(plain, lastPoint))
		if s.maybePoint++; s.example == "" {
			s.example = string(plain)
		}
	case points == 0 && grouped(plain, ','):
		s.commaGroups++
	case commas == 0 && grouped(plain, '.'):
		s.pointGroups++
	}
}

// withMark returns the number with a decimal mark at a position.
func withMark(plain []byte, at int) float64 {
	v, _ := wholeNumber(slices.Concat(plain[:at], []byte{'.'}, plain[at+1:]))
	return v
}

// grouped reports whether digits are in groups of three, as in 1,234,567, and the first one is not a zero.
func grouped(text []byte, separator byte) bool {
	groups := bytes.Split(text, []byte{separator})
	for i, group := range groups {
		if !isDigits(group) || len(group) > 3 || i > 0 && len(group) != 3 {
			return false
		}
	}
	return groups[0][0] != '0'
}

func isDigits(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(c byte) bool { return c < '0' || c > '9' })
}

// coreOf returns the digits and marks of a field that may be a number, without its sign, its
// exponent and its unit; nil if it cannot be one.
func coreOf(field []byte) []byte {
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
		kind cellKind
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

// decimal returns the mark that is certain for a column, 0 if none is.
func (s signs) decimal() byte {
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
func (s signs) numeralsWith(decimal byte) numerals {
	n := numerals{decimal: decimal}
	switch {
	case s.blanks > 0:
		n.thousands = ' '
	case s.quotes > 0:
		n.thousands = '\''
	case decimal == ',' && s.pointGroups+s.maybePoint > 0:
		n.thousands = '.'
	case decimal == '.' && s.commaGroups+s.maybeComma > 0:
		n.thousands = ','
	}
	return n
}

// numeralsOf returns how the numbers of a column are written, given the decimal mark that the user asked for and that
// of the file, 0 for none. Stored means that the file has numbers as programs write them, besides those in text.
func (s signs) numeralsOf(asked, file byte, stored bool) numerals {
	decimal := cmp.Or(asked, s.decimal())
	if stored && (s.point+s.maybePoint > 0 || decimal == 0) || decimal == 0 && file == 0 {
		decimal = '.'
	}
	if stored && decimal == '.' && s.comma > 0 {
		typed := s.numeralsWith(',')
		return numerals{decimal: '.', typed: &typed}
	}
	return s.numeralsWith(cmp.Or(decimal, file))
}

// spellNumbers decides how the numbers of each column are written.
func (g *guesser) spellNumbers(body []sampled, columns int) {
	all, each := signs{}, make([]signs, columns)
	for _, s := range body {
		for j := range min(columns, len(s.fields)) {
			each[j].see(s.fields[j])
		}
	}
	for _, s := range each {
		all.add(s)
	}
	g.style.Decimal = g.opts.Decimal
	if g.style.Decimal == 0 {
		g.style.Decimal = g.fileDecimal(all)
	}
	g.spelled, g.signs = make([]*numerals, columns), each
	for j, s := range each {
		n := s.numeralsOf(g.opts.Decimal, g.style.Decimal, g.stored)
		if g.opts.Thousands != 0 {
			n.thousands = g.opts.Thousands
		}
		if g.stored && s.maybeComma > 0 && n.thousands == ',' && cmp.Or(g.opts.Decimal, g.opts.Thousands) == 0 {
			n = g.besideStored(body, j, s, n)
		}
		if n.decimal == n.thousands { // only where the options say one of them
			n.decimal = map[byte]byte{',': '.', '.': ','}[n.thousands]
		}
		if n.thousands != 0 && g.style.Thousands == 0 {
			g.style.Thousands = n.thousands
		}
		g.spell(j, n)
	}
}

// spell says how the numbers of a column are written.
func (g *guesser) spell(j int, n numerals) {
	if g.spelled[j] = nil; n.decimal != '.' || n.thousands != 0 || n.typed != nil {
		g.spelled[j] = &n
	}
}

// fileDecimal returns the decimal mark of columns that do not tell, 0 if nothing does.
func (g *guesser) fileDecimal(all signs) byte {
	if mark := all.decimal(); mark != 0 {
		return mark
	}
	switch g.opts.Thousands {
	case ',':
		return '.'
	case '.':
		return ','
	}
	switch {
	case all.maybeComma > 0:
		decimal := g.comma == ';' || g.comma != ',' && all.short == 0
		g.assumeComma(all.example, decimal)
		if decimal {
			return ','
		}
		return '.'
	case all.maybePoint > 0 && g.comma == ';' && all.short > 0:
		g.notes = append(g.notes,
			fmt.Sprintf(
				"it is not certain whether %s has a decimal point or is over a thousand; it is taken to have a decimal point%s",
				all.example, g.otherwise(",")))
	}
	if all.maybePoint > 0 {
		return '.'
	}
	return 0
}

// assumeComma notes how a number such as 1,234 is read.
func (g *guesser) assumeComma(example string, decimal bool) {
	text := "it is not certain whether %s has a decimal comma or is over a thousand; it is taken to have a decimal comma%s"
	other := "."
	if !decimal {
		other = ","
		text = "it is not certain whether %s has a decimal comma or is over a thousand; it is taken to be over a thousand%s"
	}
	g.notes = append(g.notes, fmt.Sprintf(text, example, g.otherwise(other)))
}

// otherwise says how to declare another decimal mark than the assumed one.
func (g *guesser) otherwise(decimal string) string {
	if setting := g.opts.setting("Decimal", decimal); setting != "" {
		return " (" + setting + " says otherwise)"
	}
	return "; make such columns numbers to be certain"
}
