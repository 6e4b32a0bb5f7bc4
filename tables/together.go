package tables

// A column may be known only where the label is, because both were measured together: the conversion beside the yield,
// a second result, the notes about the measurement. A model learns from it, its errors on labelled rows are small, and
// none of that holds for the candidates, which lack it. Such columns are ignored unless the user requests them. Columns
// with values that merely set labelled rows apart stay inputs, and a warning names them.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// Judged is a column that has other values in labelled rows than elsewhere.
type Judged struct {
	Column string
	Reason string // why the column is not an input; empty if it is one
	Why    string // the numbers, as the rest of a sentence about the column
	absent bool   // from the pool, so that it cannot be an input
}

// Leaks returns the columns that are not inputs because of their values in labelled rows, and warnings that name them.
func (t Tables) Leaks(ctx context.Context) (found []Judged, warnings []string, err error) {
	parts, labels, err := t.parts()
	if err != nil {
		return nil, nil, err
	}
	if len(sources(parts)) == 0 {
		return nil, nil, errors.New("there is no table")
	}
	names, err := t.inputNames(parts, &Rows{})
	if err != nil {
		return nil, nil, err
	}
	numbering, err := t.rowNumbers(ctx, names, parts)
	if err != nil {
		return nil, nil, err
	}
	judged, err := t.judge(ctx, numbering.others(names), parts, labels)
	found = leaks(judged)
	return found, t.leakTexts(found), err
}

// judge compares the named columns in labelled rows and candidates. The context is checked once per column.
func (t Tables) judge(
	ctx context.Context, names []string, parts []part, labels matrix.Dense[float64],
) (list []Judged, err error) {
	kept := setOfNames(t.Keep)
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if kept[name] || len(parts[0].rows) == 0 {
			continue
		}
		c := compared{name: name, targets: t.TargetColumns, labels: labels}
		if c.labelled, err = sideOf(parts[0], name); err != nil {
			continue // reported where all tables must have the column
		}
		if c.others, err = sideOf(parts[1], name); err != nil { // a pool without the column has no value in it
			c.others = side{of: len(parts[1].rows)}
		}
		for _, rule := range []func() (reason, why string){c.equals, c.namesake, c.together, c.determines, c.unlike} {
			if reason, why := rule(); why != "" {
				list = append(list, Judged{name, reason, why, c.absent()})
				break
			}
		}
	}
	return list, nil
}

// compared is a column in labelled rows and in others.
type compared struct {
	name             string
	labelled, others side
	targets          []string
	labels           matrix.Dense[float64] // of all rows of the table with the labelled ones
}

// side is a column in some of its rows.
type side struct {
	column dataset.Column // nil without a table
	rows   []int          // that have a value
	of     int            // rows with or without one
}

func sideOf(p part, name string) (s side, err error) {
	s.of = len(p.rows)
	if p.table == nil {
		return s, nil
	}
	if s.column, err = p.table.Column(name); err != nil {
		return s, err
	}
	for _, row := range p.rows {
		if !s.column.Missing(row) {
			s.rows = append(s.rows, row)
		}
	}
	return s, nil
}

func (s side) share() float64 { return float64(len(s.rows)) / float64(max(1, s.of)) }

// format returns the value of a row as a message has it.
func (s side) format(row int) string {
	if numbers, ok := s.column.(*dataset.Numeric); ok {
		text, short := s.column.Format(row), strconv.FormatFloat(numbers.Float(row), 'g', 5, 64)
		if len(short) < len(text) {
			return short
		}
		return text
	}
	return fmt.Sprintf("%q", s.column.Format(row))
}

// extremes returns the rows with the lowest and the highest value.
func (s side) extremes(value func(row int) float64) (low, high int) {
	low, high = s.rows[0], s.rows[0]
	least, most := value(low), value(high)
	for _, row := range s.rows {
		switch v := value(row); {
		case v < least:
			low, least = row, v
		case v > most:
			high, most = row, v
		}
	}
	return low, high
}

// What is less likely than this where labelled rows are like the others is not a coincidence: for a column that has
// values in all labelled rows and in no other, for one that is to be left out, and for one that is only named.
const (
	rareExact = 1e-3
	rareLeft  = 1e-4
	rareNamed = 1e-6
)

// fewestToCompare is how many rows with a value tell whether the label follows it.
const fewestToCompare = 8

// fewestToEqual is how many different labels in a column of their own cannot be a coincidence.
const fewestToEqual = 5

const together = "is measured together with the label"

// equals recognizes a copy of the label, whatever its name, its sign and its unit.
func (c compared) equals() (reason, why string) {
	const copied = "is a copy of the label"
	numbers, ok := c.labelled.column.(*dataset.Numeric)
	for k := 0; ok && k < c.labels.Cols; k++ {
		switch times, both := c.multiple(numbers, k); {
		case both == 0:
		case times == 1:
			//warning:leak
			return copied, fmt.Sprintf("equals %s in all %s rows that have both, so it is a copy of it",
				c.label(k), words.Whole(both))
		default:
			//warning:leak
			return copied, fmt.Sprintf("is %s times %s in all %s rows that have both, so it is a copy of it",
				strconv.FormatFloat(times, 'g', -1, 64), c.label(k), words.Whole(both))
		}
	}
	return "", ""
}

// multiple returns by which power of ten, or its negative, the numbers differ from a label in all rows that have both;
// no rows if they do not, or if too few labels are different.
func (c compared) multiple(numbers *dataset.Numeric, k int) (times float64, both int) {
	different := map[float64]bool{}
	for _, row := range c.labelled.rows {
		x, y := numbers.Float(row), c.labels.At(row, k)
		if math.IsNaN(y) {
			continue
		}
		if times == 0 && x != 0 && y != 0 {
			times = math.Copysign(math.Pow10(int(math.Round(math.Log10(math.Abs(x/y))))), x/y)
		}
		if !(math.Abs(x-times*y) <= 1e-6*math.Abs(x)) || times == 0 && y != 0 { // as of float32, or of rounded numbers
			return 0, 0
		}
		different[y] = true
		both++
	}
	if len(different) < fewestToEqual {
		return 0, 0
	}
	return times, both
}

// namesake recognizes a column with the name of the label, which has one more underscore: files have no two columns of
// a name, and what Python adds to a frame gets another one.
func (c compared) namesake() (reason, why string) {
	for _, target := range c.targets {
		if target != c.name && strings.TrimLeft(target, "_") == c.name {
			//warning:leak
			return "has the name of the label", fmt.Sprintf("has the name of the label (%q)", target)
		}
	}
	return "", ""
}

func (c compared) label(k int) string {
	if len(c.targets) > 1 {
		return fmt.Sprintf("the label %q", c.targets[k])
	}
	return "the label"
}

// together recognizes a column that has values (almost) only in labelled rows.
func (c compared) together() (reason, why string) {
	const few, times = 0.05, 10
	a, b := len(c.labelled.rows), len(c.others.rows)
	chance := chance(a, c.labelled.of, b, c.others.of)
	exactly := a == c.labelled.of && b == 0 && chance < rareExact
	if !exactly && (chance >= rareLeft || c.others.share() > few || c.labelled.share() < times*c.others.share()) {
		return "", ""
	}
	//warning:leak has values in … of … labelled rows and in … of … others, so it is measured together with the label
	return together, c.counts() + ", so it " + together
}

// absent reports whether there is a pool without the column.
func (c compared) absent() bool { return c.others.column == nil && c.others.of > 0 }

// counts says how many rows have a value.
func (c compared) counts() string {
	own, others := c.labelled, c.others
	if c.absent() {
		return fmt.Sprintf("has values in %s of %s labelled rows, and the pool has no such column",
			words.Whole(len(own.rows)), words.Whole(own.of))
	}
	return fmt.Sprintf("has values in %s of %s labelled rows and in %s of %s others",
		words.Whole(len(own.rows)), words.Whole(own.of), words.Whole(len(others.rows)), words.Whole(others.of))
}

// determines recognizes a column that tells the label where there is one, and little elsewhere: most of the others lack
// it, or all have the same value.
func (c compared) determines() (reason, why string) {
	const most = 0.5
	elsewhere := ""
	if c.others.share() < most && chance(len(c.labelled.rows), c.labelled.of, len(c.others.rows), c.others.of) < rareLeft {
		elsewhere = c.counts()
	} else if elsewhere = c.othersAlike(rareLeft); elsewhere == "" {
		return "", ""
	}
	for k := range c.labels.Cols {
		if how := c.follows(k); how != "" {
			why := fmt.Sprintf("%s, and %s nearly follows from it (%s), so it %s", elsewhere, c.label(k), how, together)
			return together, why
		}
	}
	return "", ""
}

// follows reports that a label nearly follows from the column, by the numbers.
func (c compared) follows(k int) string {
	const strong = 0.9
	var rows []int
	var y []float64
	for _, row := range c.labelled.rows {
		if v := c.labels.At(row, k); !math.IsNaN(v) {
			rows, y = append(rows, row), append(y, v)
		}
	}
	if len(rows) < fewestToCompare {
		return ""
	}
	if value, ok := order(c.labelled.column, c.labelled.column); ok {
		x := make([]float64, len(rows))
		for i, row := range rows {
			x[i] = value(row)
		}
		if r := stats.Correlation(ranks(x), ranks(y)); math.Abs(r) >= strong {
			return fmt.Sprintf("rank correlation %.2f in %s rows", r, words.Whole(len(rows)))
		}
		return ""
	}
	if means, levels := c.meansOfLevels(rows, y); 3*levels <= len(rows) {
		if r := stats.Correlation(means, y); r >= strong {
			return fmt.Sprintf("correlation %.2f of the means of its %d values with %s labels", r, levels, words.Whole(len(y)))
		}
	}
	return ""
}

// meansOfLevels replaces labels by the mean of those of the same value.
func (c compared) meansOfLevels(rows []int, y []float64) (means []float64, levels int) {
	sums, counts := map[string]float64{}, map[string]float64{}
	for i, row := range rows {
		value := c.labelled.column.Format(row)
		sums[value] += y[i]
		counts[value]++
	}
	for _, row := range rows {
		value := c.labelled.column.Format(row)
		means = append(means, sums[value]/counts[value])
	}
	return means, len(sums)
}

// unlike recognizes values that set labelled rows apart: such a column is an input nevertheless.
func (c compared) unlike() (reason, why string) {
	const apart = 0.5
	a, b := len(c.labelled.rows), len(c.others.rows)
	switch n, m := c.labelled.of, c.others.of; {
	case m == 0:
		return "", ""
	case c.labelled.share()-c.others.share() >= apart && chance(a, n, b, m) < rareNamed,
		c.others.share()-c.labelled.share() >= apart && chance(b, m, a, n) < rareNamed:
		return "", c.counts()
	case a == 0 || b == 0 || c.labelled.column.Kind() == dataset.KindText:
		return "", ""
	}
	for _, rule := range []func() string{c.labelledAlike, c.othersApart, c.ranges, c.disjoint} {
		if why := rule(); why != "" {
			return "", why
		}
	}
	return "", ""
}

// labelledAlike reports a column with a single value in labelled rows that most others do not have.
func (c compared) labelledAlike() string {
	a, b := len(c.labelled.rows), len(c.others.rows)
	value, ok := c.labelled.single()
	if !ok {
		return ""
	}
	same := c.others.count(value)
	if chance(a, a, same, b) >= rareNamed {
		return ""
	}
	return fmt.Sprintf("is %s in all %s labelled rows, and in %s of %s others",
		c.labelled.format(c.labelled.rows[0]), words.Whole(a), words.Whole(same), words.Whole(b))
}

// othersAlike reports a column with a single value in the others that most labelled rows do not have, such as the mark
// of what is not measured.
func (c compared) othersAlike(rare float64) string {
	a, b := len(c.labelled.rows), len(c.others.rows)
	value, ok := c.others.single()
	if !ok {
		return ""
	}
	same := c.labelled.count(value)
	if 2*same > a || chance(a-same, a, 0, b) >= rare {
		return ""
	}
	return fmt.Sprintf("is %s in all %s others, and in %s of %s labelled rows",
		c.others.format(c.others.rows[0]), words.Whole(b), words.Whole(same), words.Whole(a))
}

func (c compared) othersApart() string { return c.othersAlike(rareNamed) }

// single returns the only value of a column.
func (s side) single() (value string, ok bool) {
	for i, row := range s.rows {
		if text := s.column.Format(row); i == 0 {
			value = text
		} else if text != value {
			return "", false
		}
	}
	return value, len(s.rows) > 0
}

// count returns how many rows have a value.
func (s side) count(value string) (n int) {
	for _, row := range s.rows {
		if s.column.Format(row) == value {
			n++
		}
	}
	return n
}

// ranges reports numbers or dates of labelled rows that all lie below or above those of the others.
func (c compared) ranges() string {
	value, ok := order(c.labelled.column, c.labelled.column)
	other, same := order(c.labelled.column, c.others.column)
	if !ok || !same {
		return ""
	}
	low, high := c.labelled.extremes(value)
	from, to := c.others.extremes(other)
	a, b := len(c.labelled.rows), len(c.others.rows)
	if value(high) >= other(from) && other(to) >= value(low) || 2*chance(a, a, 0, b) >= rareNamed {
		return ""
	}
	own, others := span(c.labelled, low, high), span(c.others, from, to)
	return fmt.Sprintf("is %s in labelled rows and %s in the others", own, others)
}

func span(s side, low, high int) string {
	if from, to := s.format(low), s.format(high); from != to {
		return from + " to " + to
	}
	return s.format(low)
}

// disjoint reports categories of labelled rows that none of the others has.
func (c compared) disjoint() string {
	if c.labelled.column.Kind() != dataset.KindCategorical {
		return ""
	}
	own, others := map[string]int{}, map[string]int{}
	for _, row := range c.labelled.rows {
		own[c.labelled.column.Format(row)]++
	}
	for _, row := range c.others.rows {
		level := c.others.column.Format(row)
		if own[level] > 0 {
			return ""
		}
		others[level]++
	}
	share, chance := float64(len(c.labelled.rows))/float64(len(c.labelled.rows)+len(c.others.rows)), 0.0
	for _, counts := range []map[string]int{own, others} {
		for _, n := range counts {
			chance += math.Log(math.Pow(share, float64(n)) + math.Pow(1-share, float64(n)))
		}
	}
	if chance >= math.Log(rareNamed) {
		return ""
	}
	return fmt.Sprintf("has %s in labelled rows that none of the others has", words.Count(len(own), "value", "values"))
}

// order returns a function that reads the numbers of a column, or the days of its dates, which are written as those of
// another column.
func order(as, column dataset.Column) (value func(row int) float64, ok bool) {
	if numbers, ok := column.(*dataset.Numeric); ok {
		return numbers.Float, as.Kind() == dataset.KindNumeric
	}
	f, ok, err := encode.FitTime(as)
	if !ok || err != nil {
		return nil, false
	}
	if as != column {
		if own, _, err := encode.FitTime(column); err != nil || own.Form != f.Form {
			return nil, false
		}
	}
	return f.Days(column), true
}

// chance returns the probability that n of n+m rows, drawn at random, hold at least a of the a+b that have a value.
func chance(a, n, b, m int) float64 {
	ratio := float64(b) / float64(a+1) * float64(n-a) / float64(m-b+1) // of the next term of the sum to the first
	if a == 0 || ratio >= 1 {
		return 1
	}
	first := math.Exp(logChoose(a+b, a) + logChoose(n+m-a-b, n-a) - logChoose(n+m, n))
	return min(1, first/(1-ratio))
}

// logChoose returns the logarithm of a binomial coefficient.
func logChoose(n, k int) float64 {
	whole, _ := math.Lgamma(float64(n + 1))
	part, _ := math.Lgamma(float64(k + 1))
	rest, _ := math.Lgamma(float64(n - k + 1))
	return whole - part - rest
}

// ranks returns the rank of each number; equal ones share the mean of theirs.
func ranks(x []float64) []float64 {
	order := upTo(len(x))
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	list := make([]float64, len(x))
	for from := 0; from < len(x); {
		to := from
		for to < len(x) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			list[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return list
}

// leaks are the columns that are not inputs because of their values in labelled rows.
func leaks(judged []Judged) (list []Judged) {
	for _, j := range judged {
		if j.Reason != "" {
			list = append(list, j)
		}
	}
	return list
}

// without returns the names of the columns that are not leaks, nor mark values of a leak that are beyond a limit.
func without(names []string, leaks []Judged) []string {
	leak := map[string]bool{}
	for _, j := range leaks {
		leak[j.Column], leak[dataset.CensoredColumn(j.Column)] = true, true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return leak[name] })
}

// leakTexts name columns that are not used, with the numbers, and the way to use them.
func (t Tables) leakTexts(leaks []Judged) (warnings []string) {
	const most = 5
	var whys, rest []string
	columns, absent := map[string][]string{}, map[string]bool{}
	for _, j := range leaks {
		absent[j.Why] = j.absent
		if columns[j.Why] == nil && len(whys) == most {
			rest = append(rest, j.Column)
			continue
		}
		if columns[j.Why] == nil {
			whys = append(whys, j.Why)
		}
		columns[j.Why] = append(columns[j.Why], j.Column)
	}
	for _, why := range whys {
		names, text, way := columns[why], "", fmt.Sprintf("; %s makes a column an input", t.Named("Keep"))
		if len(names) == 1 {
			//warning:leak
			text, way = fmt.Sprintf("column %q is not used: it %s", names[0], why),
				fmt.Sprintf("; %s makes it an input", t.Named("Keep", names[0]))
		} else {
			//warning:leak
			text = fmt.Sprintf("%d columns are not used: each %s: %s", len(names), why, words.Some(words.Quoted(names)))
		}
		if absent[why] {
			way = ""
		}
		warnings = append(warnings, text+way)
	}
	if len(rest) > 0 {
		//warning:leak
		warnings = append(warnings, fmt.Sprintf("%s for such reasons: %s",
			words.Count(len(rest), "more column is not used", "more columns are not used"), words.Some(words.Quoted(rest))))
	}
	return warnings
}

// warnOfJudged says which columns are not used, and which inputs set labelled rows apart.
func (t Tables) warnOfJudged(judged []Judged, r *Rows) {
	leaks := leaks(judged)
	r.Warnings = append(r.Warnings, t.leakTexts(leaks)...)
	for _, j := range leaks {
		r.Encoder.Dropped = append(r.Encoder.Dropped, encode.DroppedInput{Column: j.Column, Reason: j.Reason})
	}
	inputs := setOfNames(r.Encoder.Columns())
	var apart []string
	for _, j := range judged {
		if j.Reason == "" && inputs[j.Column] {
			apart = append(apart, fmt.Sprintf("column %q %s", j.Column, j.Why))
		}
	}
	if len(apart) > 0 {
		//warning:unlike-candidates
		r.Warnings = append(r.Warnings, fmt.Sprintf("labelled rows are unlike the others: %s; errors and intervals "+
			"are those of rows like the labelled ones, and may be too small for the others", words.Some(apart)))
	}
}
