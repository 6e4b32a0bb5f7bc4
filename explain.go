package nextbatch

// What speaks for a pick, in the words of the table: how far it is from the nearest
// labelled row, in which inputs it differs, and what the networks predict for it.

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
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// Apart is an input in which a pick differs from the nearest labelled row or, without
// labelled rows, from the middle of the candidates: the median, or the most frequent
// level.
type Apart struct {
	Input      string `json:"input"`
	Value      string `json:"value"`
	Other      string `json:"other"`
	Deviations Float  `json:"deviations"` // by how many standard deviations of the candidates; 1 for another category
}

// Prediction is what the networks predict for a pick. Low and High are nil if there are
// too few labels for an interval.
type Prediction struct {
	Value Float  `json:"value"`
	Low   *Float `json:"low,omitempty"`
	High  *Float `json:"high,omitempty"`
}

// Intervals says how intervals are made: of which width, from which held-out rows, and why.
type Intervals struct {
	network.Intervals
	Why string `json:"why"`
}

// DescribeIntervals puts into words how the intervals of a model are made.
func DescribeIntervals(i network.Intervals) Intervals { return Intervals{i, i.String()} }

const (
	mostApart   = 3    // inputs that a reason names
	leastApart  = 1    // deviations from which on an input sets a row apart; the largest does in any case
	apartSample = 2048 // candidates that deviations and medians are computed on
)

// explain fills in what reasons are made of, and adds it to them.
func (p *Plan) explain(ctx context.Context, r *Result) error {
	r.Nearest, r.Distances, r.Apart, r.Predictions = []string{}, []Float{}, [][]Apart{}, []Prediction{}
	r.Coverage, r.Typical = network.DefaultCoverage, Float(r.Batch.Typical)
	var inputs []*input
	if p.Rows != nil {
		inputs = p.inputs()
	}
	for i, pick := range r.Batch.Picks {
		if pick.Labelled >= 0 {
			r.Nearest = append(r.Nearest, p.Name(selection.TrainSet, pick.Labelled))
			r.Distances = append(r.Distances, Float(pick.Distance/r.Batch.Typical))
		}
		if p.Rows != nil {
			r.Apart = append(r.Apart, p.apart(inputs, pick))
			r.Reasons[i] += p.apartText(r.Apart[i], pick)
		}
	}
	if p.model == nil || p.Rows == nil || len(r.Batch.Picks) == 0 {
		return nil
	}
	return p.predict(ctx, r)
}

// predict adds predictions to the reasons.
func (p *Plan) predict(ctx context.Context, r *Result) error {
	rows := p.Rows.Pool.SelectRows(r.Batch.Rows())
	targets := make([]TargetResult, p.model.Targets())
	for k := range targets {
		predictions, err := predictions(ctx, p.model.Target(k), rows)
		if err != nil {
			return &DataError{err}
		}
		targets[k] = p.targetResult(k, predictions)
	}
	if r.Predictions, r.Intervals = targets[0].Predictions, &targets[0].Intervals; len(targets) > 1 {
		r.Targets = targets
	}
	for i := range r.Reasons {
		r.Reasons[i] += "; predicted " + predictedText(targets, i)
	}
	return nil
}

// predictions returns what a model predicts for rows.
func predictions(ctx context.Context, m *network.Model, rows matrix.Dense[float32]) (list []Prediction, err error) {
	values, err := m.Predict(ctx, rows)
	if err != nil {
		return nil, err
	}
	low, high, err := m.PredictInterval(ctx, rows, network.DefaultCoverage)
	few := errors.As(err, new(*network.CoverageError))
	if err != nil && !few {
		return nil, err
	}
	for i, v := range values {
		one := Prediction{Value: Float(v)}
		if !few {
			one.Low, one.High = new(Float(low[i])), new(Float(high[i]))
		}
		list = append(list, one)
	}
	return list, nil
}

// targetResult describes a target, with predictions for the picks.
func (p *Plan) targetResult(k int, predictions []Prediction) TargetResult {
	one := TargetResult{Target: p.model.TargetName(k), Weight: 1, Predictions: predictions, Intervals: DescribeIntervals(p.model.Target(k).Intervals())}
	if p.request.Weights != nil {
		one.Weight = Float(p.request.Weights[k])
	}
	if at := slices.Index(p.Rows.Targets, one.Target); at >= 0 {
		rows, _ := p.Rows.Labelled(at)
		one.Labels = len(rows)
	}
	return one
}

// predictedText is what a reason says about the predictions for pick i.
func predictedText(targets []TargetResult, i int) string {
	texts := make([]string, len(targets))
	for k, t := range targets {
		one := t.Predictions[i]
		values := []float64{float64(one.Value)}
		if one.Low != nil {
			values = append(values, float64(*one.Low), float64(*one.High))
		}
		written := numbers(values...)
		texts[k] = written[0]
		if len(targets) > 1 {
			texts[k] = t.Target + " " + texts[k]
		}
		if one.Low != nil {
			texts[k] += fmt.Sprintf(", between %s and %s with probability %.0f %% (%s)", written[1], written[2], 100*network.DefaultCoverage, t.Intervals.Basis())
		}
	}
	return strings.Join(texts, "; ")
}

// input is a column that rows are compared in.
type input struct {
	name        string
	pool, train dataset.Column // train may be nil
	deviation   float64        // 0 for categories
	middle      string         // of the candidates
	median      float64
}

// inputs returns the columns that the encoder uses, with what is typical of the
// candidates.
func (p *Plan) inputs() (list []*input) {
	r := &p.request
	sample := p.poolRows
	if len(sample) > apartSample {
		sample = make([]int, apartSample)
		for i := range sample {
			sample[i] = p.poolRows[i*len(p.poolRows)/apartSample]
		}
	}
	for _, name := range p.Rows.Encoder.Columns() {
		column, err := r.pool().Column(name)
		if err != nil {
			continue
		}
		in := &input{name: name, pool: column}
		if r.train() != nil {
			in.train, _ = r.train().Column(name) // nil if it is not there
		}
		if in.measure(sample) {
			list = append(list, in)
		}
	}
	return list
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
	in.middle = words.Number(in.median)
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

// apart returns the inputs in which a pick differs most.
func (p *Plan) apart(inputs []*input, pick selection.Pick) []Apart {
	list := []Apart{}
	for _, in := range inputs {
		other := -1
		if pick.Labelled >= 0 && in.train != nil {
			other = p.Rows.TrainRows[pick.Labelled]
		}
		if a, differs := in.compare(p.poolRows[pick.Row], other); differs {
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
		return a, a.Value != a.Other
	}
	reference := in.median
	if train, ok := in.train.(*dataset.Numeric); ok && other >= 0 {
		reference = train.Float(other)
	}
	a.Deviations = Float(math.Abs(column.Float(row)-reference) / in.deviation)
	texts := numbers(column.Float(row), reference)
	a.Value, a.Other = texts[0], texts[1]
	return a, a.Deviations > 0
}

// numbers writes numbers with so many digits that those which differ most have different texts,
// even if all are far from zero.
func numbers(values ...float64) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = words.Number(v)
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high || words.Number(low) != words.Number(high) {
		return texts
	}
	digits := 3 + int(math.Log10(max(-low, high)/(high-low)))
	for i, v := range values {
		texts[i] = strconv.FormatFloat(v, 'g', digits, 64)
	}
	return texts
}

// apartText is what a reason says about the inputs.
func (p *Plan) apartText(list []Apart, pick selection.Pick) string {
	head, other, same := "; unlike most candidates in ", "there mostly", "; with the inputs of most candidates"
	if pick.Labelled >= 0 {
		labelled := p.Name(selection.TrainSet, pick.Labelled)
		head, other, same = "; unlike "+labelled+" in ", "there", "; with the same inputs as "+labelled
	}
	if len(list) == 0 {
		return same
	}
	if list[0].Deviations < leastApart {
		head = strings.Replace(head, "; unlike", "; slightly unlike", 1)
	}
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = fmt.Sprintf("%s (%s, %s %s)", a.Input, a.Value, other, a.Other)
	}
	return head + strings.Join(texts, ", ")
}
