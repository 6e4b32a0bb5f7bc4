package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Apart is an input in which a pick differs from the nearest labelled row or, without
// labelled rows, from the middle of the candidates: the median, or the most frequent
// level.
type Apart struct {
	Input, Value, Other string
	Deviations          float64 // by how many standard deviations of the candidates; 1 for another category
	Category            bool
}

const (
	mostApart   = 3    // inputs that a reason names
	leastApart  = 1    // deviations from which on an input sets a row apart; the largest does in any case
	apartSample = 2048 // candidates that deviations and medians are computed on
)

// Inputs are the columns that rows are compared in.
type Inputs struct {
	list       []*input
	labelled   []int       // rows of the labelled rows' table
	categories []*category // of a table of categories; otherwise empty
}

// input is a column that rows are compared in.
type input struct {
	name        string
	pool, train dataset.Column // train may be nil
	deviation   float64        // 0 for categories
	middle      string         // of the candidates
	median      float64
	decimal     byte // mark
}

// NewInputs returns the columns of an encoder, with what is typical of the candidates, which are rows of the pool's
// table. The table of the labelled rows, which are some of its rows, may be nil. Decimal is the decimal mark of
// numbers; 0 means a point.
func NewInputs(e encode.Encoder, pool, train *dataset.Table, candidates, labelled []int, decimal byte) *Inputs {
	inputs := &Inputs{labelled: labelled}
	sample := candidates
	if len(sample) > apartSample {
		sample = make([]int, apartSample)
		for i := range sample {
			sample[i] = candidates[i*len(candidates)/apartSample]
		}
	}
	for _, name := range e.Columns() {
		column, err := pool.Column(name)
		if err != nil {
			continue
		}
		in := &input{name: name, pool: inUnit(column, e.Unit(name)), decimal: decimal}
		if train != nil && train.Has(name) {
			if column, err = train.Column(name); err == nil {
				in.train = inUnit(column, e.Unit(name))
			}
		}
		if in.measure(sample) {
			inputs.list = append(inputs.list, in)
		}
	}
	inputs.learnCategories(e.Categories)
	return inputs
}

// inUnit returns a column in the unit of the encoder, which could read it.
func inUnit(c dataset.Column, unit string) dataset.Column {
	if in, _, err := dataset.InUnit(c, unit); err == nil {
		return in
	}
	return c
}

// measure computes what is typical of the rows, and returns false if nothing is.
func (in *input) measure(rows []int) bool {
	numbers, ok := in.pool.(*dataset.Numeric)
	if !ok {
		in.middle = mostFrequent(in.pool, rows)
		return in.middle != ""
	}
	var values []float64
	sum, squares := 0.0, 0.0
	for _, row := range rows {
		if v := numbers.Float(row); !math.IsNaN(v) {
			values = append(values, v)
			sum += v
		}
	}
	for _, v := range values {
		squares += (v - sum/float64(len(values))) * (v - sum/float64(len(values)))
	}
	if !(squares > 0) {
		return false
	}
	slices.Sort(values)
	in.deviation, in.median = math.Sqrt(squares/float64(len(values))), values[len(values)/2]
	in.middle = words.Plain(in.median)
	return true
}

func mostFrequent(c dataset.Column, rows []int) (level string) {
	counts := map[string]int{}
	for _, row := range rows {
		if c.Missing(row) {
			continue
		}
		name := c.Format(row)
		counts[name]++
		if counts[name] > counts[level] || counts[name] == counts[level] && name < level {
			level = name
		}
	}
	return level
}

// Apart returns the inputs in which a row of the pool's table differs most from one of the labelled
// rows' table, or from the middle if that is -1.
func (in *Inputs) Apart(row, labelled int) (list []Apart) {
	for _, one := range in.list {
		other := labelled
		if one.train == nil {
			other = -1
		}
		if a, differs := one.compare(row, other); differs {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b Apart) int { return cmp.Compare(b.Deviations, a.Deviations) })
	n := min(len(list), 1)
	for n < min(len(list), mostApart) && list[n].Deviations >= leastApart {
		n++
	}
	return list[:n]
}

// compare compares a row of the pool with a labelled one, or with the middle if that
// is -1.
func (in *input) compare(row, other int) (Apart, bool) {
	if in.pool.Missing(row) || other >= 0 && in.train.Missing(other) {
		return Apart{}, false
	}
	a := Apart{Input: in.name, Value: in.pool.Format(row), Other: in.middle, Deviations: 1}
	column, ok := in.pool.(*dataset.Numeric)
	if !ok {
		if other >= 0 {
			a.Other = in.train.Format(other)
		}
		a.Category = true
		return a, a.Value != a.Other
	}
	reference := in.median
	if train, ok := in.train.(*dataset.Numeric); ok && other >= 0 {
		reference = train.Float(other)
	}
	a.Deviations = math.Abs(column.Float(row)-reference) / in.deviation
	texts := Numbers(column.Float(row), reference)
	a.Value, a.Other = words.Marked(texts[0], in.decimal), words.Marked(texts[1], in.decimal)
	return a, a.Deviations > 0
}

// Numbers writes values of an input with enough digits that those which differ most have different
// texts, even if all are far from zero.
func Numbers(values ...float64) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = words.Plain(v)
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high || words.Plain(low) != words.Plain(high) {
		return texts
	}
	digits := 3 + int(math.Log10(max(-low, high)/(high-low)))
	for i, v := range values {
		texts[i] = strconv.FormatFloat(v, 'g', digits, 64)
	}
	return texts
}

// Differences is the part of a reason about the inputs, compared with the labelled row of this name, or
// with the middle if it is empty.
func Differences(list []Apart, labelled string) string {
	head, who, other, same := "; unlike ", "most candidates", "there mostly", "; with the inputs of most candidates"
	if labelled != "" {
		who, other, same = labelled, "there", "; with the same inputs as "+labelled
	}
	if len(list) == 0 {
		return same
	}
	if list[0].Deviations < leastApart {
		head = "; slightly unlike "
	}
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = fmt.Sprintf("%s (%s, %s %s)", a.Input, a.Value, other, a.Other)
	}
	return head + who + " in " + strings.Join(texts, ", ")
}

// Explained is what a reason says of the inputs of a pick.
type Explained struct {
	Apart   []Apart  // the inputs in which it differs most from the row that it is compared with
	Closest string   // on tables of categories: the row that shares most of them, or ""
	Untried []string // there: levels, and pairs, that no labelled row has
	Reason  string
}

// Explain compares a row of the pool's table with a labelled row, the one that is nearest in the kernel or, on a table
// of categories, the closest, and with the middle of the candidates where there is none: -1. Name returns the user's
// name of a labelled row.
func (in *Inputs) Explain(row, nearest int, name func(at int) string) (e Explained) {
	if nearest < 0 {
		e.Apart = in.Apart(row, -1)
		e.Reason = Differences(e.Apart, "")
		return e
	}
	compared, reason := nearest, Differences
	if in.OfCategories() {
		of := in.Compare(row, nearest)
		compared, reason, e.Untried = of.Closest, of.Reason, of.Untried
		if of.Shared > 0 {
			e.Closest = name(compared)
		}
	}
	e.Apart = in.Apart(row, in.labelled[compared])
	e.Reason = reason(e.Apart, name(compared))
	return e
}
