package sets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/median"
	"github.com/nextbatch/nextbatch/matrix"
)

// DefaultMaxRows is the paper's limit on the number of rows of a data set.
const DefaultMaxRows = 500_000

// Preparation determines how a table becomes a regression data set. Only the target
// columns have no default.
type Preparation struct {
	Target  encode.Target
	Targets []encode.Target // several targets instead of Target
	Drop    []string        // columns that are not inputs, such as ids
	OneHot  encode.OneHot
	MaxRows int    // 0 means DefaultMaxRows
	Seed    uint64 // for choosing rows where there are more
}

// Regression is a data set ready to split: inputs, not yet scaled, and labels
// in their units.
type Regression struct {
	X matrix.Dense[float32] // less the centres of the encoder
	// one label for each row, or, row after row, one for each of several targets, NaN where a row lacks it
	Y       []float64
	Targets int      // how many labels a row has; 0 means 1
	Names   []string // of several targets; nil if they have none
	Rows    []int    // Rows[i] is the row of the table that became row i
	Encoder encode.Encoder
}

// Prepare does the paper's preprocessing. It drops rows that lack an input or the
// label, then random rows beyond the limit, then columns with a single value, and
// one-hot encodes categorical columns. The remaining rows keep their order. With
// several targets, it keeps rows that have the label of any; those that they lack
// are NaN.
func Prepare(t *dataset.Table, p Preparation) (*Regression, error) {
	used, err := t.Without(p.Drop...)
	if err != nil {
		return nil, err
	}
	targets := p.Targets
	if targets == nil {
		targets = []encode.Target{p.Target}
	}
	labels := make([][]float64, len(targets))
	var columns []string
	for i, target := range targets {
		if labels[i], err = target.Labels(used); err != nil {
			return nil, err
		}
		columns = append(columns, target.Columns...)
	}
	inputs, err := used.Without(columns...)
	if err != nil {
		return nil, err
	}
	var rows []int
	for _, row := range inputs.CompleteRows() {
		if slices.ContainsFunc(labels, func(of []float64) bool { return !math.IsNaN(of[row]) }) {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, noCompleteRow(used)
	}
	rows = subsample(rows, cmp.Or(p.MaxRows, DefaultMaxRows), p.Seed)
	if len(rows) < t.Rows() {
		inputs = inputs.Select(rows)
	}
	r, err := newRegression(inputs, labels, rows, p.OneHot)
	if err == nil && len(targets) > 1 {
		for _, target := range targets {
			r.Names = append(r.Names, strings.Join(target.Columns, " + "))
		}
	}
	return r, err
}

func newRegression(inputs *dataset.Table, labels [][]float64, rows []int, rule encode.OneHot) (*Regression, error) {
	r := &Regression{Rows: rows, Encoder: encode.FitEncoder(inputs, rule)}
	if len(labels) > 1 {
		r.Targets = len(labels)
	}
	for _, row := range rows {
		for _, of := range labels {
			r.Y = append(r.Y, of[row])
		}
	}
	r.X = matrix.New[float32](len(rows), len(r.Encoder.Features()))
	if r.X.Cols == 0 {
		return nil, errors.New("no input column remains: " + reasons(r.Encoder.Dropped))
	}
	if err := centreCoarse(&r.Encoder, inputs); err != nil {
		return nil, err
	}
	err := encode.Encode(r.X, r.Encoder, inputs)
	if at := (*dataset.ColumnError)(nil); errors.As(err, &at) && at.Row >= 0 {
		at.Row = rows[at.Row] // the user counts rows of the table
	}
	return r, err
}

// roundedFinely is the step of float32, in deviations of a column, up to which the column is
// rounded as it is.
const roundedFinely = 1e-4

// centreCoarse subtracts the centres of columns whose digits float32 would lose. The others stay
// as the paper has them, and so do the numbers of its data sets, to which stored results refer.
func centreCoarse(e *encode.Encoder, t *dataset.Table) error {
	for i, name := range e.Numeric {
		c, err := t.Numeric(name)
		if err != nil {
			return err
		}
		if _, found := c.Coarse(true, roundedFinely); !found || c.FromSingle {
			continue
		}
		if e.Centres == nil {
			e.Centres = make([]float64, len(e.Numeric))
		}
		var values []float64
		for _, row := range t.CompleteRows() {
			values = append(values, c.Float(row))
		}
		e.Centres[i] = median.Upper(values)
	}
	return nil
}

// Labels returns the labels, a column for each target.
func (r *Regression) Labels() matrix.Dense[float64] {
	return matrix.View(r.X.Rows, max(r.Targets, 1), r.Y)
}

// TargetNames returns the names of several targets, their numbers from 1 where they have
// none. It is nil if there is one target.
func (r *Regression) TargetNames() (names []string) {
	if r.Targets < 2 {
		return nil
	}
	if len(r.Names) == r.Targets {
		return r.Names
	}
	for k := range r.Targets {
		names = append(names, strconv.Itoa(k+1))
	}
	return names
}

func subsample(rows []int, most int, seed uint64) []int {
	if len(rows) <= most {
		return rows
	}
	choice := NewSubsample(len(rows), most, seed)
	chosen := make([]int, 0, most)
	for _, row := range rows {
		if choice.Next() {
			chosen = append(chosen, row)
		}
	}
	return chosen
}

// noCompleteRow blames the column with the most missing values.
func noCompleteRow(t *dataset.Table) error {
	var worst dataset.Column
	most := 0
	for _, c := range t.Columns() {
		missing := 0
		for row := range t.Rows() {
			if c.Missing(row) {
				missing++
			}
		}
		if missing > most {
			worst, most = c, missing
		}
	}
	if worst == nil {
		return errors.New("the table has no rows")
	}
	return &dataset.ColumnError{Column: worst.Name(), Row: -1,
		Problem: fmt.Sprintf("lacks %d of %d values, and no row is complete; drop the column or fill it in", most, t.Rows())}
}

func reasons(dropped []encode.DroppedInput) string {
	if len(dropped) == 0 {
		return "the table has no other columns"
	}
	texts := make([]string, len(dropped))
	for i, d := range dropped {
		texts[i] = fmt.Sprintf("%q: %s", d.Column, d.Reason)
	}
	return strings.Join(texts, ", ")
}
