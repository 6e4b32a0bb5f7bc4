package source

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Censored determines how values of which only a limit is known, such as <0.5, are read.
type Censored uint8

const (
	// CensoredLimit takes the limit, and marks such values in a column of their own
	// (dataset.CensoredColumn), unless they are labels.
	CensoredLimit Censored = iota
	CensoredDrop           // makes them missing
)

// ParseCensored reads limit or drop.
func ParseCensored(text string) (Censored, error) {
	switch text {
	case "", "limit":
		return CensoredLimit, nil
	case "drop":
		return CensoredDrop, nil
	}
	return 0, fmt.Errorf("must be limit or drop, not %q", text)
}

// tally counts the cells of a column of numbers that are not simply numbers.
type tally struct {
	censored     Censored
	words        spellings // that are no numbers at all
	marks        spellings // of missing values
	limits       spellings // beyond which values lie
	approximated spellings
	unit         string
	known        bool         // the unit is known without the cells; empty means that there is none
	history      bool         // other numbers of the column told
	measured     spellings    // with the unit
	converted    spellings    // with another one of the quantity
	foreign      spellings    // with one that does not fit
	beside       record       // with the first of these
	small        int          // numbers written as percentages that might be fractions without the sign
	sides        map[int]int8 // by row: -1 below a limit, 1 above it
	unsaid       bool         // a limit is not said
	first        record       // with the first word

	label       bool      // the column holds labels
	lod         float64   // of the labels; NaN if it is not known
	beyond      spellings // labels beyond a limit that is not known
	unclear     spellings // labels that are missing or below the limit of detection, which is not known
	firstBeyond record    // with the first of these two
	returned    bool      // the labels are those of a batch that comes back
}

// spellings counts texts, in order of appearance.
type spellings struct {
	total int
	list  []string
	by    map[string]*spelling
}

type spelling struct {
	count int
	lines []int // the first few; 0 where the table has no lines
	rows  []int // these, from 0
}

const (
	mostSpellings = 1000
	mostLines     = 3
)

func (s *spellings) add(field []byte, line, row int) {
	s.total++
	if s.by == nil {
		s.by = map[string]*spelling{}
	}
	one := s.by[string(field)]
	if one == nil {
		if len(s.list) == mostSpellings {
			return
		}
		one = &spelling{}
		s.by[string(field)] = one
		s.list = append(s.list, string(field))
	}
	if one.count++; len(one.lines) < mostLines {
		one.lines, one.rows = append(one.lines, line), append(one.rows, row)
	}
}

// String lists the texts with their counts and lines, the most frequent ones first.
func (s *spellings) String() string { return s.with(nil) }

// with lists the texts as String does, with the ids of their rows unless the column of ids is nil.
func (s *spellings) with(ids dataset.Column) string {
	const most = 8
	list := slices.Clone(s.list)
	slices.SortStableFunc(list, func(a, b string) int { return s.by[b].count - s.by[a].count })
	var parts []string
	for _, text := range list[:min(most, len(list))] {
		parts = append(parts, quoteShort([]byte(text))+" ("+s.by[text].String()+s.by[text].ids(ids)+")")
	}
	if len(list) > most {
		parts = append(parts, words.Count(len(list)-most, "other", "others"))
	}
	return strings.Join(parts, ", ")
}

func (s *spelling) String() string {
	what, numbers, base := "line", s.lines, ""
	if s.lines[0] == 0 {
		what, numbers, base = "row", s.rows, " from 0"
	}
	places := make([]string, len(numbers))
	for i, number := range numbers {
		places[i] = fmt.Sprint(number)
	}
	if s.count > len(places) {
		places = append(places, "…")
	}
	list := strings.Join(places, ", ") + base
	switch {
	case s.count == 1:
		return what + " " + list
	case s.count == len(numbers):
		return what + "s " + list
	}
	return fmt.Sprintf("%d times: %ss %s", s.count, what, list)
}

// ids names the first few rows by a column, unless that is nil.
func (s *spelling) ids(column dataset.Column) string {
	if column == nil {
		return ""
	}
	names := make([]string, len(s.rows))
	for i, row := range s.rows {
		names[i] = column.Format(row)
	}
	if len(names) == 1 {
		return ", id " + names[0]
	}
	return ", ids " + strings.Join(names, ", ")
}

// number returns the value of a cell that is not simply a number, in a row of the column, and
// counts it.
func (t *tally) number(n *numerals, field []byte, rec record, row int) float64 {
	c := t.inUnit(n.loose(field), field, rec, row)
	if math.IsInf(c.value, 0) { // among labels, see numberSink
		c = looseCell{value: math.NaN()}
	}
	if t.label && notDetected[compacted(field)] {
		c = t.notDetected(field, rec, row)
	}
	switch c.kind {
	case otherCell:
		if t.words.total == 0 {
			t.first = record{line: rec.line, row: rec.row}
		}
		t.words.add(field, rec.line, row)
		return math.NaN()
	case foreignCell:
		return math.NaN()
	case missingCell:
		t.marks.add(field, rec.line, row)
		return math.NaN()
	case belowCell, aboveCell:
		if t.label && c.kind == belowCell && math.IsNaN(c.value) {
			c.value = t.lod
		}
		if t.label && math.IsNaN(c.value) && t.censored == CensoredLimit {
			t.beyondUnknown(&t.beyond, field, rec, row)
			return math.NaN()
		}
		t.limits.add(field, rec.line, row)
		return t.limited(c, row)
	}
	if c.approx {
		t.approximated.add(field, rec.line, row)
	}
	return c.value
}

// inUnit returns a cell in the unit of the column, which is that of the first cell with one if nothing else says it. A
// cell whose unit does not fit is missing, and settle reports it.
func (t *tally) inUnit(c looseCell, field []byte, rec record, row int) looseCell {
	if c.unit == "" {
		return c
	}
	if !t.known && t.unit == "" {
		t.unit = c.unit
	}
	convert := dataset.ConvertUnit(c.unit, t.unit)
	switch {
	case dataset.SameUnit(c.unit, t.unit):
		t.measured.add(field, rec.line, row)
	case convert != nil:
		t.converted.add(field, rec.line, row)
		c.value = convert(c.value)
	default:
		if t.foreign.total == 0 {
			t.beside = record{line: rec.line, row: rec.row}
		}
		t.foreign.add(field, rec.line, row)
		return looseCell{kind: foreignCell, value: math.NaN()}
	}
	if dataset.MayBeShare(c.value) {
		t.small++
	}
	return c
}

// unitFault says what is wrong with the units of a column, and what to do; empty if nothing is.
func (t *tally) unitFault(c *dataset.Numeric) (detail, advice string) {
	bare := 0
	if t.unit == "%" && (t.history || !t.known) {
		for row := range c.Len() {
			if dataset.MayBeShare(c.Float(row)) {
				bare++
			}
		}
		bare -= t.small
	}
	switch {
	case t.foreign.total > 0 && t.unit == "":
		return fmt.Sprintf("%v, but the column has had no unit so far", &t.foreign),
			"write the numbers alone, in the unit of the others"
	case t.foreign.total > 0:
		return fmt.Sprintf("%v, but the column is in %s", &t.foreign, t.unit), "write them in " + t.unit
	case bare > 0 && t.history:
		return fmt.Sprintf("%s without a sign may be fractions, but the column is in %%",
			words.Count(bare, "number up to 1", "numbers up to 1")), "write them with %"
	case bare > 0:
		return fmt.Sprintf("%v beside %s without a sign, which may be fractions", &t.measured,
			words.Count(bare, "number up to 1", "numbers up to 1")), "write all of them with %, or none"
	}
	return "", ""
}

// setUnit tells a column its unit, unless its name says it.
func (t *tally) setUnit(c *dataset.Numeric) {
	if t.unit == "" || t.unit == dataset.HeaderUnit(c.Name()) {
		return
	}
	u := dataset.Unit{Name: t.unit, Row: -1, Mixed: !t.known && t.bare(c) > 0}
	if !t.known {
		u.Row = t.measured.by[t.measured.list[0]].rows[0]
	}
	c.SetUnit(u)
}

// bare returns how many numbers have no unit.
func (t *tally) bare(c *dataset.Numeric) (n int) {
	for row := range c.Len() {
		if !c.Missing(row) {
			n++
		}
	}
	return n - t.measured.total - t.converted.total
}

// notDetected reads a label that is a mark such as n.d.: below the limit of detection if that is known, and missing
// otherwise.
func (t *tally) notDetected(field []byte, rec record, row int) looseCell {
	if math.IsNaN(t.lod) {
		t.beyondUnknown(&t.unclear, field, rec, row)
		return looseCell{kind: numberCell, value: math.NaN()}
	}
	return looseCell{kind: belowCell, value: t.lod}
}

// beyondUnknown counts a label that lies beyond a limit that is not known, or may.
func (t *tally) beyondUnknown(s *spellings, field []byte, rec record, row int) {
	if t.beyond.total+t.unclear.total == 0 {
		t.firstBeyond = record{line: rec.line, row: rec.row}
	}
	s.add(field, rec.line, row)
}

// limitsUnknown reports whether labels lie beyond a limit that is not known. A mark such as n.d. says that of a row of
// a batch that comes back, or where other rows are not measured in another way, mostly empty; where it is the only
// mark, it means that there is no label.
func (t *tally) limitsUnknown(c *dataset.Numeric) bool {
	if t.beyond.total > 0 || t.unclear.total == 0 || t.censored == CensoredDrop {
		return t.beyond.total > 0
	}
	missing := 0
	for row := range c.Len() {
		if c.Missing(row) {
			missing++
		}
	}
	return t.returned || missing > t.unclear.total
}

// limited returns the value of a cell beyond a limit.
func (t *tally) limited(c looseCell, row int) float64 {
	if t.censored == CensoredDrop {
		return math.NaN()
	}
	if t.sides == nil {
		t.sides = map[int]int8{}
	}
	t.unsaid = t.unsaid || math.IsNaN(c.value)
	t.sides[row] = -1
	if c.kind == aboveCell {
		t.sides[row] = 1
	}
	return c.value
}

// A column is one of numbers if at most one in fewWords of its values, besides the marks of missing ones, is a word.
const fewWords = 5

// A column whose numbers have at most this many values may be one of codes.
const mostCodes = 50

// isNumeric reports whether a column that has words is one of numbers all the same. It is one of codes if most of
// the words have digits in them (12B), or if its numbers are few, whole, and repeated, and a word is as frequent
// as they are (the chromosomes 1 to 22, X and Y).
func (t *tally) isNumeric(c *dataset.Numeric) bool {
	if t.words.total == 0 {
		return true
	}
	numbers, counts := 0, map[float64]int{}
	whole := true
	for row := range c.Len() {
		v := c.Float(row)
		if math.IsNaN(v) {
			continue
		}
		numbers++
		if whole = whole && v == math.Trunc(v); len(counts) <= mostCodes {
			counts[v]++
		}
	}
	if t.words.total*(fewWords-1) > numbers+t.foreign.total {
		return false
	}
	withDigits, most := 0, 0
	for _, one := range t.words.by {
		most = max(most, one.count)
	}
	for _, text := range t.words.list {
		if strings.ContainsAny(text, "0123456789") && len(text) > 1 {
			withDigits += t.words.by[text].count
		}
	}
	if 2*withDigits > t.words.total {
		return false
	}
	if !whole || len(counts) > mostCodes {
		return true
	}
	var frequencies []int
	for _, n := range counts {
		frequencies = append(frequencies, n)
	}
	slices.Sort(frequencies)
	middle := frequencies[len(frequencies)/2]
	return middle < 2 || most < middle
}

// remarks are what people should know about the cells of a column, given what messages call options and the column of
// ids, which may be nil.
func (t *tally) remarks(c *dataset.Numeric, ids dataset.Column,
	setting func(field string, value ...string) string) (warnings, notes []string) {
	name := c.Name()
	of := fmt.Sprintf("column %q", name)
	if t.words.total > 0 {
		advice := "correct such cells, or make them empty if they are missing"
		if marks := setting("MissingMarks", strings.Join(t.words.list[:min(3, len(t.words.list))], ",")); marks != "" {
			advice = "correct such cells, or confirm them with " + marks
		}
		warnings = append(warnings,
			fmt.Sprintf("%s is numbers but for %s, which %s taken as missing: %v; %s; %s makes it a column of categories",
				of, words.Count(t.words.total, "cell", "cells"), isAre(t.words.total), &t.words, advice,
				setting("Kinds", name)))
	}
	if t.limits.total > 0 {
		if !t.label {
			ids = nil
		}
		text := fmt.Sprintf("%s: %s beyond a limit: %s; ", of, words.Count(t.limits.total, "value is",
			"values are"), t.limits.with(ids))
		limit := "each is taken as the limit itself"
		if t.unsaid {
			limit += ", or as missing where the limit is not said"
		}
		switch {
		case t.censored == CensoredDrop:
			text += "taken as missing"
		case t.label:
			text += limit + "; " + setting("Censored", "drop") + " makes such labels missing"
		default:
			text += fmt.Sprintf("%s, and column %q marks them; %s makes them missing", limit, dataset.CensoredColumn(name),
				setting("Censored", "drop"))
		}
		warnings = append(warnings, text)
	}
	if t.unclear.total > 0 {
		text := fmt.Sprintf("%s: %s: %s", of, words.Count(t.unclear.total,
			"label is taken not to be measured yet, so that its row may be picked",
			"labels are taken not to be measured yet, so that their rows may be picked"), t.unclear.with(ids))
		if lod := setting("Lod", "0.5"); lod != "" {
			text += "; if that means below a limit of detection, give the limit, as in " + lod
		}
		warnings = append(warnings, text)
	}
	if t.marks.total > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s missing: %v", of,
			words.Count(t.marks.total, "cell means", "cells mean"), &t.marks))
	}
	if t.approximated.total > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s taken as exact: %v", of,
			words.Count(t.approximated.total, "number is", "numbers are"), &t.approximated))
	}
	if t.converted.total > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: %s converted to %s: %v", of,
			words.Count(t.converted.total, "number is", "numbers are"), t.unit, &t.converted))
	}
	if t.measured.total == 0 {
		return warnings, notes
	}
	if bare := t.bare(c); bare > 0 && !t.known {
		warnings = append(warnings, fmt.Sprintf("%s: %s the unit %s, the other %d none: all are taken as %s", of,
			words.Count(t.measured.total, "number has", "numbers have"), t.unit, bare, t.unit))
	} else {
		notes = append(notes, fmt.Sprintf("%s: the unit %s is left out", of, t.unit))
	}
	return warnings, notes
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// signOf are the signs of limits by their sides.
var signOf = map[int8]string{-1: "<", 1: ">"}

// CutSign returns a number of PlainNumbers without the sign of a limit, and on which side of it the true one lies: -1
// below, 1 above.
func CutSign(text string) (number string, side int8) {
	for side, sign := range signOf {
		if number, found := strings.CutPrefix(strings.TrimSpace(text), sign); found {
			return number, side
		}
	}
	return strings.TrimSpace(text), 0
}

// UnknownLimit reports whether a label is one beyond a limit that is not said, such as <LOD, or a mark that may mean
// that, such as n.d.
func UnknownLimit(text string) bool {
	c := (&numerals{}).loose([]byte(text))
	return (c.kind == belowCell || c.kind == aboveCell) && math.IsNaN(c.value) || notDetected[compacted([]byte(text))]
}
