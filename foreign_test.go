package nextbatch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// foreignTable has three inputs, an id and labels for its first rows.
func foreignTable(t *testing.T, rows, labelled int) *dataset.Table {
	t.Helper()
	columns := []*dataset.Numeric{dataset.NewNumeric("a"), dataset.NewNumeric("y"), dataset.NewNumeric("b"),
		dataset.NewNumeric("c")}
	for i := range rows {
		u := float64(i*7919%1000) / 100
		label := math.NaN()
		if i < labelled {
			label = 3 * u
		}
		for j, v := range []float64{u, label, u * u / 9, float64(i * 31 % 17)} {
			columns[j].Append(v)
		}
	}
	table, err := dataset.NewTable(columns[0], columns[1], columns[2], columns[3])
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A request with a network from elsewhere gives it the columns of the table in their
// order, as they are or standardised by the labelled rows.
func TestRequestWithAForeignNetwork(t *testing.T) {
	t.Parallel()
	table := foreignTable(t, 120, 30)
	for _, standardise := range []bool{false, true} {
		t.Run(fmt.Sprint(standardise), func(t *testing.T) {
			request := nextbatch.Request{
				Input: tables.Input{Table: table, TargetColumns: []string{"y"}}, Ask: limits.Ask{Batch: 6},
				Spec:    spec.MustParse("lcmd-tp:ll"),
				Foreign: &nextbatch.Foreign{Model: identity{3}, Standardise: standardise},
			}
			plan, err := request.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.Select(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			x := matrix.New[float32](120, 3)
			for i := range x.Rows {
				for j, name := range []string{"a", "b", "c"} {
					column, err := table.Numeric(name)
					if err != nil {
						t.Fatal(err)
					}
					x.Set(i, j, float32(column.Float(i)))
				}
			}
			if standardise {
				standardiseBy(x, 30)
			}
			want, err := nextbatch.Select(t.Context(), request.Spec, nextbatch.Problem{
				Models: []nextbatch.Model{identity{3}}, Train: x.Slice(0, 30), Pool: x.Slice(30, 120), Batch: 6})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, row := range want.Rows() {
				ids = append(ids, fmt.Sprint(row+30))
			}
			if !slices.Equal(got.IDs, ids) {
				t.Errorf("%v, want %v", got.IDs, ids)
			}
		})
	}
}

// standardiseBy shifts and scales columns by their first n rows.
func standardiseBy(x matrix.Dense[float32], n int) {
	for j := range x.Cols {
		sum, squares := 0.0, 0.0
		for i := range n {
			sum += float64(x.At(i, j)) / float64(n)
		}
		for i := range n {
			d := float64(x.At(i, j)) - sum
			squares += d * d / float64(n)
		}
		for i := range x.Rows {
			x.Set(i, j, float32((float64(x.At(i, j))-sum)/math.Sqrt(squares)))
		}
	}
}

func TestForeignNetworkIsRefused(t *testing.T) {
	t.Parallel()
	table := foreignTable(t, 50, 20)
	for words, change := range map[string]func(*nextbatch.Request){
		"takes 4 inputs, the table has 3": func(r *nextbatch.Request) { r.Foreign.Model = identity{4} },
		"infinite width":                  func(r *nextbatch.Request) { r.Spec = spec.MustParse("lcmd-tp:ntk") },
		"uses 3 networks":                 func(r *nextbatch.Request) { r.Spec = spec.MustParse("lcmd-tp:ll>ens(3)") },
	} {
		r := nextbatch.Request{Input: tables.Input{Table: table, TargetColumns: []string{"y"}}, Ask: limits.Ask{Batch: 6},
			Spec:    spec.MustParse("lcmd-tp:ll"),
			Foreign: &nextbatch.Foreign{Model: identity{3}}}
		change(&r)
		if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: error %v", words, err)
		}
	}
}

// Labelled rows need no labels: they only count as selected.
func TestForeignNetworkNeedsNoLabels(t *testing.T) {
	t.Parallel()
	rows := func(from, to int) *dataset.Table {
		var columns []dataset.Column
		for _, name := range []string{"a", "b"} {
			c := dataset.NewNumeric(name)
			for i := from; i < to; i++ {
				c.Append(float64(i * len(name) * 37 % 101))
			}
			columns = append(columns, c)
		}
		table, err := dataset.NewTable(columns...)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	r := nextbatch.Request{Input: tables.Input{Train: rows(0, 20), Pool: rows(20, 90)}, Ask: limits.Ask{Batch: 5},
		Spec:    spec.MustParse("lcmd-tp:ll"),
		Foreign: &nextbatch.Foreign{Model: identity{2}}}
	plan, err := r.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if plan.Labelled != 20 || plan.Pool != 70 {
		t.Errorf("%d labelled rows, %d candidates", plan.Labelled, plan.Pool)
	}
	if result, err := plan.Select(t.Context()); err != nil || len(result.IDs) != 5 {
		t.Errorf("%v, error %v", result, err)
	}
}
