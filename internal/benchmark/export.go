package benchmark

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
)

// exported lists the columns of an exported table.
var exported = []struct {
	name   string
	number func(Record) float64
	text   func(Record) string
}{
	{name: "dataset", text: func(r Record) string { return r.DataSet }},
	{name: "activation", text: func(r Record) string { return r.Activation }},
	{name: "spec", text: func(r Record) string { return r.Spec }},
	{name: "compat", text: func(r Record) string { return strconv.FormatBool(r.Compat) }},
	{name: "batch", number: func(r Record) float64 { return float64(r.BatchSize) }},
	{name: "rounds", number: func(r Record) float64 { return float64(r.Rounds) }},
	{name: "split", number: func(r Record) float64 { return float64(r.Split) }},
	{name: "round", number: func(r Record) float64 { return float64(r.Round.Round) }},
	{name: "labels", number: func(r Record) float64 { return float64(r.Labels) }},
	{name: "mae", number: func(r Record) float64 { return r.Test.MAE }},
	{name: "rmse", number: func(r Record) float64 { return r.Test.RMSE }},
	{name: "maxe", number: func(r Record) float64 { return r.Test.MaxE }},
	{name: "q95", number: func(r Record) float64 { return r.Test.Q95 }},
	{name: "q99", number: func(r Record) float64 { return r.Test.Q99 }},
	{name: "seconds_training", number: func(r Record) float64 { return r.Training }},
	{name: "seconds_features", number: func(r Record) float64 { return r.Features }},
	{name: "seconds_selection", number: func(r Record) float64 { return r.Selection }},
	{name: "seconds_testing", number: func(r Record) float64 { return r.Testing }},
	{name: "seconds_elapsed", number: func(r Record) float64 { return r.Elapsed }},
	{name: "effective_dimension", number: func(r Record) float64 { return r.EffectiveDimension }},
	{name: "fallbacks", number: func(r Record) float64 { return float64(r.Fallbacks) }},
	{name: "warnings", text: func(r Record) string { return strings.Join(r.Warnings, "; ") }},
	{name: "threads", number: func(r Record) float64 { return float64(r.Threads) }},
	{name: "version", text: func(r Record) string { return r.By.Version }},
	{name: "revision", text: func(r Record) string { return r.By.Revision }},
	{name: "platform", text: func(r Record) string { return r.By.Platform }},
	{name: "cpu", text: func(r Record) string { return r.By.CPU }},
	{name: "simd", text: func(r Record) string { return r.By.SIMD }},
	{name: "finished", text: func(r Record) string { return r.Finished.UTC().Format(time.RFC3339) }},
}

// targetErrors lists the columns that an exported table has for each of several targets:
// mae_y and so on for target y.
var targetErrors = []struct {
	name   string
	number func(TargetErrors) float64
}{
	{"mae", func(t TargetErrors) float64 { return t.MAE }},
	{"rmse", func(t TargetErrors) float64 { return t.RMSE }},
	{"maxe", func(t TargetErrors) float64 { return t.MaxE }},
	{"q95", func(t TargetErrors) float64 { return t.Q95 }},
	{"q99", func(t TargetErrors) float64 { return t.Q99 }},
}

// targetColumns returns the columns of all targets that a record has. A record without a
// target has NaN in its columns.
func targetColumns(records []Record) (columns []dataset.Column) {
	var names []string
	known := map[string]bool{}
	for _, r := range records {
		for _, t := range r.Targets {
			if !known[t.Target] {
				known[t.Target] = true
				names = append(names, t.Target)
			}
		}
	}
	for _, name := range names {
		for _, e := range targetErrors {
			c := dataset.NewNumeric(e.name + "_" + name)
			for _, r := range records {
				value := math.NaN()
				if k := slices.IndexFunc(r.Targets, func(t TargetErrors) bool { return t.Target == name }); k >= 0 {
					value = e.number(r.Targets[k])
				}
				c.Append(value)
			}
			columns = append(columns, c)
		}
	}
	return columns
}

// Table returns records as a table with one row per round. Targets have columns at its end.
func Table(records []Record, seed uint64) (*dataset.Table, error) {
	columns := []dataset.Column{}
	for _, e := range exported {
		if e.number != nil {
			c := dataset.NewNumeric(e.name)
			for _, r := range records {
				c.Append(e.number(r))
			}
			columns = append(columns, c)
			continue
		}
		c := dataset.NewText(e.name)
		for _, r := range records {
			c.Append([]byte(e.text(r)))
		}
		columns = append(columns, c)
	}
	c := dataset.NewText("seed")
	for range records {
		c.Append([]byte(strconv.FormatUint(seed, 10)))
	}
	return dataset.NewTable(append(append(columns, c), targetColumns(records)...)...)
}
