package earlierdata_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/earlierdata"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// truth is a function that few labels do not show.
func truth(a, b float64, level int) float64 {
	return math.Sin(5*a)*float64(level+1) + math.Cos(7*b)*float64(3-level)
}

// measured returns a table of rows of which the first ones have a label: a·truth + b and some noise.
func measured(t *testing.T, rows, labelled int, a, b float64, seed uint64) (*dataset.Table, []float64) {
	t.Helper()
	draw := rng.New(seed, "earlier data")
	x, y := dataset.NewNumeric("x"), dataset.NewNumeric("y")
	level, other, label := dataset.NewText("level"), dataset.NewNumeric("other"), dataset.NewNumeric("label")
	var all []float64
	for row := range rows {
		u, v, k := draw.Float64(), draw.Float64(), draw.IntN(3)
		x.Append(u)
		y.Append(v)
		level.Append([]byte{byte('p' + k)})
		other.Append(draw.Float64())
		value := a*truth(u, v, k) + b + 0.02*a*draw.NormFloat64()
		if all = append(all, value); row >= labelled {
			value = math.NaN()
		}
		label.Append(value)
	}
	levels, err := dataset.AsCategorical(level)
	if err != nil {
		t.Fatal(err)
	}
	table, err := dataset.NewTable(x, y, levels, other, label)
	if err != nil {
		t.Fatal(err)
	}
	return table, all
}

// shuffled returns a table whose labels belong to other rows.
func shuffled(t *testing.T, table *dataset.Table) *dataset.Table {
	t.Helper()
	label := dataset.NewNumeric("label")
	from, err := table.Numeric("label")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rng.New(1, "shuffled").Perm(table.Rows()) {
		label.Append(from.Float(row))
	}
	return with(t, table, label)
}

// with returns a table with a column in place of the one of its name.
func with(t *testing.T, table *dataset.Table, column dataset.Column) *dataset.Table {
	t.Helper()
	rest, err := table.Without(column.Name())
	if err != nil {
		t.Fatal(err)
	}
	if table, err = dataset.NewTable(append(slices.Clone(rest.Columns()), column)...); err != nil {
		t.Fatal(err)
	}
	return table
}

func fitTo(t *testing.T, in tables.Tables) *fitted.Fitted {
	t.Helper()
	o := fitted.Options{Choices: fitted.Choices{Learner: learner.GaussianOnly}}
	rows, err := earlierdata.Rows(t.Context(), in, &o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fitted.Fit(t.Context(), rows, o, 0, func(row int) string { return fmt.Sprint(row) })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// errorOf is the root mean square error of a model for rows of a table that have no label there.
func errorOf(t *testing.T, m *learner.Model, table *dataset.Table, rows []int, labels []float64) float64 {
	t.Helper()
	in, err := earlierdata.Tables(t.Context(), tables.Tables{Input: tables.Input{Pool: table}}, m)
	if err != nil {
		t.Fatal(err)
	}
	read, err := in.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values, err := m.Predict(t.Context(), read.Pool)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, row := range rows {
		sum += (values[row] - labels[row]) * (values[row] - labels[row]) / float64(len(rows))
	}
	return math.Sqrt(sum)
}

// TestEarlierData: labels on another scale, of a table with fewer columns, lower the error; the saved model predicts
// without that table. Labels that belong to other rows change nothing.
func TestEarlierData(t *testing.T) {
	t.Parallel()
	table, labels := measured(t, 200, 24, 10, 100, 1)
	old, _ := measured(t, 150, 150, 0.5, -3, 2)
	fewer, err := old.Without("other")
	if err != nil {
		t.Fatal(err)
	}
	in := tables.Tables{Input: tables.Input{Table: table, TargetColumns: []string{"label"}}}
	rest := make([]int, 0, table.Rows())
	for row := 24; row < table.Rows(); row++ {
		rest = append(rest, row)
	}
	alone := fitTo(t, in)
	before := errorOf(t, alone.Model, table, rest, labels)

	in.Earlier, in.Names = []*dataset.Table{fewer}, tables.Names{fewer: "old.csv"}
	f := fitTo(t, in)
	if names := f.Rows.Encoder.Numeric; !slices.Contains(names, "label by old.csv") {
		t.Error("the inputs are", names)
	}
	if text := strings.Join(f.Rows.Notes, "\n"); !strings.Contains(text, "a model of 150 labelled rows of old.csv "+
		"predicts is an input") {
		t.Error("the notes are", text)
	}
	raw, err := f.Model.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	loaded := &learner.Model{}
	if err := loaded.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	again, err := loaded.MarshalBinary()
	if err != nil || !bytes.Equal(raw, again) {
		t.Error("a loaded model has other bytes", err)
	}
	after := errorOf(t, f.Model, table, rest, labels)
	if after > 0.6*before || errorOf(t, loaded, table, rest, labels) != after {
		t.Errorf("the error is %v, after loading %v, and %v without earlier data", after,
			errorOf(t, loaded, table, rest, labels), before)
	}

	noise := shuffled(t, fewer)
	in.Earlier, in.Names = []*dataset.Table{noise}, tables.Names{noise: "noise.csv"}
	f = fitTo(t, in)
	if got := errorOf(t, f.Model, table, rest, labels); got != before || len(f.Model.Earlier) > 0 {
		t.Errorf("with noise the error is %v, and %v without", got, before)
	}
	if text := strings.Join(f.Rows.Warnings, "\n"); !strings.Contains(text, "noise.csv is not used: a model of its "+
		"labels predicts held-out ones hardly better") {
		t.Error("the warnings are", text)
	}

	in.Earlier = []*dataset.Table{noise, fewer}
	in.Names[fewer] = "old.csv"
	if f = fitTo(t, in); len(f.Model.Earlier) != 1 || errorOf(t, f.Model, table, rest, labels) != after {
		t.Error("of two tables, the one that helps is not the one that is used")
	}
}

// TestEarlierDataFaults: messages name the table of earlier data.
func TestEarlierDataFaults(t *testing.T) {
	t.Parallel()
	table, _ := measured(t, 60, 20, 1, 0, 1)
	old, _ := measured(t, 60, 60, 1, 0, 2)
	few, _ := measured(t, 60, 3, 1, 0, 3)
	unlabelled, err := old.Without("label")
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := old.Without("x", "y", "level", "other")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		table *dataset.Table
		want  string
	}{
		"no label":   {unlabelled, `column "label"`},
		"few labels": {few, "3 rows have a label"},
		"no input":   {stranger, "it has none of the inputs"},
	} {
		in := tables.Tables{Input: tables.Input{Table: table, TargetColumns: []string{"label"},
			Earlier: []*dataset.Table{c.table}, Names: tables.Names{c.table: "old.csv"}}}
		_, err := earlierdata.Rows(t.Context(), in, &fitted.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "old.csv: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
