package source

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
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
	measured     spellings // with a unit
	unit         string
	sides        map[int]int8 // by row: -1 below a limit, 1 above it
	unsaid       bool         // a limit is not said
	first        record       // with the first word
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
	c := n.loose(field)
	if c.unit != "" && t.unit == "" {
		t.unit = c.unit
	}
	if c.unit != "" && c.unit != t.unit { // another quantity, perhaps
		c = looseCell{value: math.NaN()}
	}
	if math.IsInf(c.value, 0) { // among labels, see numberSink
		c = looseCell{value: math.NaN()}
	}
	switch c.kind {
	case otherCell:
		if t.words.total == 0 {
			t.first = record{line: rec.line, row: rec.row}
		}
		t.words.add(field, rec.line, row)
		return math.NaN()
	case missingCell:
		t.marks.add(field, rec.line, row)
		return math.NaN()
	case belowCell, aboveCell:
		t.limits.add(field, rec.line, row)
		return t.limited(c, row)
	}
	if c.approx {
		t.approximated.add(field, rec.line, row)
	}
	if c.unit != "" {
		t.measured.add(field, rec.line, row)
	}
	return c.value
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
	if t.words.total*(fewWords-1) > numbers {
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

// remarks are what people should know about the cells of a column, given what messages call options.
func (t *tally) remarks(name string, label bool, setting func(field, value string) string) (warnings, notes []string) {
	of := fmt.Sprintf("column %q", name)
	if t.words.total > 0 {
		advice := "correct such cells, or make them empty if they are missing"
		if marks := setting("Missing", strings.Join(t.words.list[:min(3, len(t.words.list))], ",")); marks != "" {
			advice = "correct such cells, or confirm them with " + marks
		}
		warnings = append(warnings, fmt.Sprintf("%s is numbers but for %s, which %s taken as missing: %v; %s; %s makes it a column of categories",
			of, words.Count(t.words.total, "cell", "cells"), isAre(t.words.total), &t.words, advice, setting("Categorical", name)))
	}
	if t.limits.total > 0 {
		text := fmt.Sprintf("%s: %s beyond a limit: %v; ", of, words.Count(t.limits.total, "value is", "values are"), &t.limits)
		limit := "each is taken as the limit itself"
		if t.unsaid {
			limit += ", or as missing where the limit is not said"
		}
		switch {
		case t.censored == CensoredDrop:
			text += "taken as missing"
		case label:
			text += limit + "; " + setting("Censored", "drop") + " makes such labels missing"
		default:
			text += fmt.Sprintf("%s, and column %q marks them; %s makes them missing", limit, dataset.CensoredColumn(name), setting("Censored", "drop"))
		}
		warnings = append(warnings, text)
	}
	if t.marks.total > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s missing: %v", of, words.Count(t.marks.total, "cell means", "cells mean"), &t.marks))
	}
	if t.approximated.total > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s taken as exact: %v", of, words.Count(t.approximated.total, "number is", "numbers are"), &t.approximated))
	}
	if t.measured.total > 0 {
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

// PlainNumbers returns a column of labels as text in which numbers are written as programs do, and missing ones
// are empty. The origin is that of the table with the column; cells that are no numbers stay as they are.
// The warnings tell about values beyond a limit.
func PlainNumbers(c dataset.Column, opts Options, origin dataset.Origin) (plain *dataset.Text, warnings []string) {
	s := signs{}
	for row := range c.Len() {
		s.see([]byte(c.Format(row)))
	}
	n := s.numeralsOf(opts.Decimal, origin.Decimal, origin.Stored)
	n.thousands = cmp.Or(opts.Thousands, n.thousands)
	plain, t := dataset.NewText(c.Name()), tally{censored: opts.Censored}
	for row := range c.Len() {
		text := c.Format(row)
		if text == "" {
			plain.Append(nil)
			continue
		}
		before := t.words.total
		v := t.number(&n, []byte(text), record{line: origin.Lines.Of(row)}, row)
		switch {
		case t.words.total > before:
			plain.Append([]byte(text))
		case math.IsNaN(v):
			plain.Append(nil)
		default:
			plain.Append(strconv.AppendFloat(nil, v, 'g', -1, 64))
		}
	}
	if t.limits.total > 0 {
		t.words, t.marks = spellings{}, spellings{}
		warnings, _ = t.remarks(c.Name(), true, opts.setting)
	}
	return plain, warnings
}
