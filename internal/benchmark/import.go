package benchmark

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/stats"
)

// The columns of an exported table that reports need.
var (
	importedTexts = []struct {
		name string
		to   func(*Round) *string
	}{
		{"dataset", func(r *Round) *string { return &r.DataSet }},
		{"activation", func(r *Round) *string { return &r.Activation }},
		{"spec", func(r *Round) *string { return &r.Spec }},
	}
	importedCounts = []struct {
		name string
		to   func(*Round) *int
	}{
		{"batch", func(r *Round) *int { return &r.BatchSize }},
		{"rounds", func(r *Round) *int { return &r.Rounds }},
		{"split", func(r *Round) *int { return &r.Split }},
		{"round", func(r *Round) *int { return &r.Round }},
		{"labels", func(r *Round) *int { return &r.Labels }},
		{"fallbacks", func(r *Round) *int { return &r.Fallbacks }},
	}
	importedNumbers = []struct {
		name string
		to   func(*Round) *float64
	}{
		{"mae", func(r *Round) *float64 { return &r.Test.MAE }},
		{"rmse", func(r *Round) *float64 { return &r.Test.RMSE }},
		{"maxe", func(r *Round) *float64 { return &r.Test.MaxE }},
		{"q95", func(r *Round) *float64 { return &r.Test.Q95 }},
		{"q99", func(r *Round) *float64 { return &r.Test.Q99 }},
		{"seconds_training", func(r *Round) *float64 { return &r.Training }},
		{"seconds_features", func(r *Round) *float64 { return &r.Features }},
		{"seconds_selection", func(r *Round) *float64 { return &r.Selection }},
		{"seconds_testing", func(r *Round) *float64 { return &r.Testing }},
		{"seconds_elapsed", func(r *Round) *float64 { return &r.Elapsed }},
		{"effective_dimension", func(r *Round) *float64 { return &r.EffectiveDimension }},
	}
)

// FromTable returns the rounds of a table that Table made, or of a part of its rows.
func FromTable(t *dataset.Table) (Results, error) {
	results := make(Results, t.Rows())
	for i := range results {
		results[i].EffectiveDimension = math.NaN()
	}
	each := func(name string, set func(r *Round, text string) error) error {
		column, err := t.Column(name)
		if err != nil {
			return err
		}
		for i := range results {
			if err := set(&results[i], column.Format(i)); err != nil {
				return fmt.Errorf("column %q, row %d (from 0): %q is not a value of this column", name, i, column.Format(i))
			}
		}
		return nil
	}
	err := each("compat", func(r *Round, text string) (err error) { r.Compat, err = strconv.ParseBool(text); return err })
	for _, c := range importedTexts {
		err = cmp.Or(err, each(c.name, func(r *Round, text string) error { *c.to(r) = text; return nil }))
	}
	for _, c := range importedCounts {
		err = cmp.Or(err, each(c.name,
			func(r *Round, text string) (err error) { *c.to(r), err = strconv.Atoi(text); return err }))
	}
	for _, c := range importedNumbers {
		err = cmp.Or(err, each(c.name,
			func(r *Round, text string) (err error) { *c.to(r), err = importedNumber(text); return err }))
	}
	if err != nil {
		return nil, err
	}
	if err := results.importTargets(t); err != nil {
		return nil, err
	}
	return results, results.checkImported()
}

// importTargets reads the errors of each of several targets.
func (r Results) importTargets(t *dataset.Table) error {
	for _, column := range t.Names() {
		name, ok := strings.CutPrefix(column, targetErrors[0].name+"_")
		if !ok {
			continue
		}
		var columns []*dataset.Numeric
		for _, e := range targetErrors {
			c, err := t.Numeric(e.name + "_" + name)
			if err != nil {
				return err
			}
			columns = append(columns, c)
		}
		for i := range r {
			if of := (TargetErrors{name, stats.Metrics{MAE: columns[0].Float(i), RMSE: columns[1].Float(i),
				MaxE: columns[2].Float(i), Q95: columns[3].Float(i), Q99: columns[4].Float(i)}}); of.MAE == of.MAE {
				r[i].Targets = append(r[i].Targets, of)
			}
		}
	}
	return nil
}

// importedNumber reads a number, where nothing stands for NaN.
func importedNumber(text string) (float64, error) {
	if text == "" {
		return math.NaN(), nil
	}
	return strconv.ParseFloat(text, 64)
}

// checkImported sorts rounds as a store does, and rejects those that none would hold.
func (r Results) checkImported() error {
	slices.SortFunc(r, func(a, b Round) int { return cmp.Or(a.Run.Compare(b.Run), cmp.Compare(a.Round, b.Round)) })
	for i := range r {
		if err := cmp.Or(r[i].CheckSize(), r[i].Check()); err != nil {
			return err
		}
		if i > 0 && r[i].Run == r[i-1].Run && r[i].Round == r[i-1].Round {
			return fmt.Errorf("%v: round %d is there twice", r[i].Run, r[i].Round)
		}
	}
	return nil
}
