package cells

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

// Tally counts the cells of a column of numbers that are not simply numbers.
type Tally struct {
	Censored     Censored
	Words        Spellings // that are not numbers at all
	Marks        Spellings // of missing values
	limits       Spellings // beyond which values lie
	approximated Spellings
	Unit         string
	Known        bool         // the unit is known without the cells; empty means that there is none
	History      bool         // other numbers of the column told
	measured     Spellings    // with the unit
	converted    Spellings    // with another one of the quantity
	foreign      Spellings    // with one that does not fit
	Beside       Record       // with the first of these
	small        int          // numbers written as percentages that might be fractions without the sign
	Sides        map[int]int8 // by row: -1 below a limit, 1 above it
	unsaid       bool         // a limit is not said
	First        Record       // with the first word

	Label       bool      // the column holds labels
	Lod         float64   // of the labels; NaN if it is not known
	Beyond      Spellings // labels beyond a limit that is not known
	Unclear     Spellings // labels that are missing or below the limit of detection, which is not known
	FirstBeyond Record    // with the first of these two
	Returned    bool      // the labels are those of a batch that comes back
}

// Spellings counts texts, in order of appearance.
type Spellings struct {
	Total int
	List  []string
	By    map[string]*spelling
}

type spelling struct {
	count int
	lines []int // the first few; 0 where the table has no lines
	Rows  []int // these, from 0
}

const (
	mostSpellings = 1000
	mostLines     = 3
)

func (s *Spellings) add(field []byte, line, row int) {
	s.Total++
	if s.By == nil {
		s.By = map[string]*spelling{}
	}
	one := s.By[string(field)]
	if one == nil {
		if len(s.List) == mostSpellings {
			return
		}
		one = &spelling{}
		s.By[string(field)] = one
		s.List = append(s.List, string(field))
	}
	if one.count++; len(one.lines) < mostLines {
		one.lines, one.Rows = append(one.lines, line), append(one.Rows, row)
	}
}

// String lists the texts with their counts and lines, the most frequent ones first.
func (s *Spellings) String() string { return s.With(nil) }

// With lists the texts as String does, with the ids of their rows unless the column of ids is nil.
func (s *Spellings) With(ids dataset.Column) string {
	const most = 8
	list := slices.Clone(s.List)
	slices.SortStableFunc(list, func(a, b string) int { return s.By[b].count - s.By[a].count })
	var parts []string
	for _, text := range list[:min(most, len(list))] {
		parts = append(parts, QuoteShort([]byte(text))+" ("+s.By[text].String()+s.By[text].ids(ids)+")")
	}
	if len(list) > most {
		parts = append(parts, words.Count(len(list)-most, "other", "others"))
	}
	return strings.Join(parts, ", ")
}

func (s *spelling) String() string {
	what, numbers, base := "line", s.lines, ""
	if s.lines[0] == 0 {
		what, numbers, base = "row", s.Rows, " from 0"
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
	names := make([]string, len(s.Rows))
	for i, row := range s.Rows {
		names[i] = column.Format(row)
	}
	if len(names) == 1 {
		return ", id " + names[0]
	}
	return ", ids " + strings.Join(names, ", ")
}

// Number returns the value of a cell that is not simply a number, in a row of the column, and counts it.
func (t *Tally) Number(n *Numerals, field []byte, rec Record, row int) float64 {
	c := t.inUnit(n.Loose(field), field, rec, row)
	if math.IsInf(c.value, 0) { // among labels, see NumberSink
		c = Cell{value: math.NaN()}
	}
	if t.Label && notDetected[Compacted(field)] {
		c = t.notDetected(field, rec, row)
	}
	switch c.Kind {
	case OtherCell:
		if t.Words.Total == 0 {
			t.First = Record{Line: rec.Line, Row: rec.Row}
		}
		t.Words.add(field, rec.Line, row)
		return math.NaN()
	case foreignCell:
		return math.NaN()
	case MissingCell:
		t.Marks.add(field, rec.Line, row)
		return math.NaN()
	case belowCell, aboveCell:
		if t.Label && c.Kind == belowCell && math.IsNaN(c.value) {
			c.value = t.Lod
		}
		if t.Label && math.IsNaN(c.value) && t.Censored == CensoredLimit {
			t.beyondUnknown(&t.Beyond, field, rec, row)
			return math.NaN()
		}
		t.limits.add(field, rec.Line, row)
		return t.limited(c, row)
	}
	if c.approx {
		t.approximated.add(field, rec.Line, row)
	}
	return c.value
}

// inUnit returns a cell in the unit of the column, which is that of the first cell with one if nothing else says it. A
// cell whose unit does not fit is missing, and settle reports it.
func (t *Tally) inUnit(c Cell, field []byte, rec Record, row int) Cell {
	if c.unit == "" {
		return c
	}
	if !t.Known && t.Unit == "" {
		t.Unit = c.unit
	}
	convert := dataset.ConvertUnit(c.unit, t.Unit)
	switch {
	case dataset.SameUnit(c.unit, t.Unit):
		t.measured.add(field, rec.Line, row)
	case convert != nil:
		t.converted.add(field, rec.Line, row)
		c.value = convert(c.value)
	default:
		if t.foreign.Total == 0 {
			t.Beside = Record{Line: rec.Line, Row: rec.Row}
		}
		t.foreign.add(field, rec.Line, row)
		return Cell{Kind: foreignCell, value: math.NaN()}
	}
	if dataset.MayBeShare(c.value) {
		t.small++
	}
	return c
}

// UnitFault says what is wrong with the units of a column, and what to do; empty if nothing is.
func (t *Tally) UnitFault(c *dataset.Numeric) (detail, advice string) {
	bare := 0
	if t.Unit == "%" && (t.History || !t.Known) {
		for row := range c.Len() {
			if dataset.MayBeShare(c.Float(row)) {
				bare++
			}
		}
		bare -= t.small
	}
	switch {
	case t.foreign.Total > 0 && t.Unit == "":
		return fmt.Sprintf("%v, but the column has had no unit so far", &t.foreign),
			"write the numbers alone, in the unit of the others"
	case t.foreign.Total > t.measured.Total+t.converted.Total && !t.Known: // the first cell with a unit is an exception
		return fmt.Sprintf("%v beside %v", &t.foreign, &t.measured), "write all of them in one unit"
	case t.foreign.Total > 0:
		return fmt.Sprintf("%v, but the column is in %s", &t.foreign, t.Unit), "write them in " + t.Unit
	case bare > 0 && t.History:
		return fmt.Sprintf("%s without a sign may be fractions, but the column is in %%",
			words.Count(bare, "number up to 1", "numbers up to 1")), "write them with %"
	case bare > 0:
		return fmt.Sprintf("%v beside %s without a sign, which may be fractions", &t.measured,
			words.Count(bare, "number up to 1", "numbers up to 1")), "write all of them with %, or none"
	}
	return "", ""
}

// SetUnit tells a column its unit, unless its name says it.
func (t *Tally) SetUnit(c *dataset.Numeric) {
	if t.Unit == "" || t.Unit == dataset.HeaderUnit(c.Name()) {
		return
	}
	u := dataset.Unit{Name: t.Unit, Row: -1, Mixed: !t.Known && t.bare(c) > 0}
	if !t.Known {
		u.Row = t.measured.By[t.measured.List[0]].Rows[0]
	}
	c.OwnUnit = u
}

// bare returns how many numbers have no unit.
func (t *Tally) bare(c *dataset.Numeric) (n int) {
	for row := range c.Len() {
		if !c.Missing(row) {
			n++
		}
	}
	return n - t.measured.Total - t.converted.Total
}

// notDetected reads a label that is a mark such as n.d.: below the limit of detection if that is known, and missing
// otherwise.
func (t *Tally) notDetected(field []byte, rec Record, row int) Cell {
	if math.IsNaN(t.Lod) {
		t.beyondUnknown(&t.Unclear, field, rec, row)
		return Cell{Kind: numberCell, value: math.NaN()}
	}
	return Cell{Kind: belowCell, value: t.Lod}
}

// beyondUnknown counts a label that lies beyond a limit that is not known, or may.
func (t *Tally) beyondUnknown(s *Spellings, field []byte, rec Record, row int) {
	if t.Beyond.Total+t.Unclear.Total == 0 {
		t.FirstBeyond = Record{Line: rec.Line, Row: rec.Row}
	}
	s.add(field, rec.Line, row)
}

// LimitsUnknown reports whether labels lie beyond a limit that is not known. A mark such as n.d. says that of a row of
// a batch that comes back, or where other rows are not measured in another way, mostly empty; where it is the only
// mark, it means that there is no label.
func (t *Tally) LimitsUnknown(c *dataset.Numeric) bool {
	if t.Beyond.Total > 0 || t.Unclear.Total == 0 || t.Censored == CensoredDrop {
		return t.Beyond.Total > 0
	}
	missing := 0
	for row := range c.Len() {
		if c.Missing(row) {
			missing++
		}
	}
	return t.Returned || missing > t.Unclear.Total
}

// limited returns the value of a cell beyond a limit.
func (t *Tally) limited(c Cell, row int) float64 {
	if t.Censored == CensoredDrop {
		return math.NaN()
	}
	if t.Sides == nil {
		t.Sides = map[int]int8{}
	}
	t.unsaid = t.unsaid || math.IsNaN(c.value)
	t.Sides[row] = -1
	if c.Kind == aboveCell {
		t.Sides[row] = 1
	}
	return c.value
}

// A column is one of numbers if at most one in FewWords of its values, besides the marks of missing ones, is a word.
const FewWords = 5

// A column whose numbers have at most this many values may be one of codes.
const mostCodes = 50

// IsNumeric reports whether a column that has words is one of numbers all the same. It is one of codes if most of
// the words have digits in them (12B), or if its numbers are few, whole, and repeated, and a word is as frequent
// as they are (the chromosomes 1 to 22, X and Y).
func (t *Tally) IsNumeric(c *dataset.Numeric) bool {
	if t.Words.Total == 0 {
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
	if t.Words.Total*(FewWords-1) > numbers+t.foreign.Total {
		return false
	}
	withDigits, most := 0, 0
	for _, one := range t.Words.By {
		most = max(most, one.count)
	}
	for _, text := range t.Words.List {
		if strings.ContainsAny(text, "0123456789") && len(text) > 1 {
			withDigits += t.Words.By[text].count
		}
	}
	if 2*withDigits > t.Words.Total {
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

// Remarks are what people should know about the cells of a column, given what messages call options and the column of
// ids, which may be nil.
func (t *Tally) Remarks(c *dataset.Numeric, ids dataset.Column,
	setting func(field string, value ...string) string) (warnings, notes []string) {
	name := c.Name()
	of := fmt.Sprintf("column %q", name)
	if t.Words.Total > 0 {
		advice := "correct such cells, or make them empty if they are missing"
		if marks := setting("MissingMarks", strings.Join(t.Words.List[:min(3, len(t.Words.List))], ",")); marks != "" {
			advice = "correct such cells, or confirm them with " + marks
		}
		if kinds := setting("Kinds", name); kinds != "" {
			advice += "; " + kinds + " makes it a column of categories"
		}
		//warning:words-among-numbers
		warnings = append(warnings, fmt.Sprintf("%s is numbers but for %s, which %s taken as missing: %v; %s",
			of, words.Count(t.Words.Total, "cell", "cells"), isAre(t.Words.Total), &t.Words, advice))
	}
	if t.limits.Total > 0 {
		if !t.Label {
			ids = nil
		}
		//warning:beyond-limit
		text := fmt.Sprintf("%s: %s beyond a limit: %s; ", of, words.Count(t.limits.Total, "value is",
			"values are"), t.limits.With(ids))
		limit := "each is taken as the limit itself"
		if t.Label {
			limit = "a Gaussian process of up to 1,024 labels learns each as a limit, other models as the limit itself"
		}
		if t.unsaid {
			limit += ", or as missing where the limit is not said"
		}
		switch {
		case t.Censored == CensoredDrop:
			text += "taken as missing"
		case t.Label:
			text += limit + "; " + setting("Censored", "drop") + " makes such labels missing"
		default:
			text += fmt.Sprintf("%s, and column %q marks them; %s makes them missing", limit, dataset.CensoredColumn(name),
				setting("Censored", "drop"))
		}
		warnings = append(warnings, text)
	}
	if t.Unclear.Total > 0 {
		//warning:not-measured
		text := fmt.Sprintf("%s: %s: %s", of, words.Count(t.Unclear.Total,
			"label is taken not to be measured yet, so that its row may be picked",
			"labels are taken not to be measured yet, so that their rows may be picked"), t.Unclear.With(ids))
		if lod := setting("Lod", "0.5"); lod != "" {
			text += "; if that means below a limit of detection, give the limit, as in " + lod
		}
		warnings = append(warnings, text)
	}
	if t.Marks.Total > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s missing: %v", of,
			words.Count(t.Marks.Total, "cell means", "cells mean"), &t.Marks))
	}
	if t.approximated.Total > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s taken as exact: %v", of,
			words.Count(t.approximated.Total, "number is", "numbers are"), &t.approximated))
	}
	if t.converted.Total > 0 {
		//warning:converted-unit
		warnings = append(warnings, fmt.Sprintf("%s: %s converted to %s: %v", of,
			words.Count(t.converted.Total, "number is", "numbers are"), t.Unit, &t.converted))
	}
	if t.measured.Total == 0 {
		return warnings, notes
	}
	if bare := t.bare(c); bare > 0 && !t.Known {
		//warning:taken-unit
		warnings = append(warnings, fmt.Sprintf("%s: %s the unit %s, the other %d none: all are taken as %s", of,
			words.Count(t.measured.Total, "number has", "numbers have"), t.Unit, bare, t.Unit))
	} else {
		notes = append(notes, fmt.Sprintf("%s: the unit %s is left out", of, t.Unit))
	}
	return warnings, notes
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// SignOf are the signs of limits by their sides.
var SignOf = map[int8]string{-1: "<", 1: ">"}

// CutSign returns a number of PlainNumbers without the sign of a limit, and on which side of it the true one lies: -1
// below, 1 above.
func CutSign(text string) (number string, side int8) {
	for side, sign := range SignOf {
		if number, found := strings.CutPrefix(strings.TrimSpace(text), sign); found {
			return number, side
		}
	}
	return strings.TrimSpace(text), 0
}

// UnknownLimit reports whether a label is one beyond a limit that is not said, such as <LOD, or a mark that may mean
// that, such as n.d.
func UnknownLimit(text string) bool {
	c := (&Numerals{}).Loose([]byte(text))
	return (c.Kind == belowCell || c.Kind == aboveCell) && math.IsNaN(c.value) || notDetected[Compacted([]byte(text))]
}
