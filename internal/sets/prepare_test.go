package sets

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	full := table(t,
		dataset.NewText("id", "a", "", "c", "d", "e", "f"),
		dataset.NewNumeric("x", 1, 2, math.NaN(), 4, 5, 6),
		dataset.NewNumeric("constant where x is present", 7, 7, 8, 7, 7, 7),
		categorical("k", "p", "q", "p", "", "r", "p"),
		dataset.NewNumeric("y", 1, 2, 3, 4, math.NaN(), 6))
	r, err := Prepare(full, Preparation{
		Target: encode.Target{Columns: []string{"y"}}, Drop: []string{"id"}, OneHot: encode.OneHot{MissingColumns: true}})
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "rows", r.Rows, []int{0, 1, 5})
	if want := []string{"x", "k=q", "k missing"}; !slices.Equal(r.Encoder.Features(), want) {
		t.Errorf("features %q, want %q", r.Encoder.Features(), want)
	}
	if want := []float32{1, 0, 0, 2, 1, 0, 6, 0, 0}; !slices.Equal(r.X.Data, want) ||
		!slices.Equal(r.Y, []float64{1, 2, 6}) {
		t.Errorf("X %v, Y %v", r.X.Data, r.Y)
	}
}

// TestPrepareSomeLabels keeps rows that lack some of several labels.
func TestPrepareSomeLabels(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	r, err := Prepare(table(t, dataset.NewNumeric("x", 1, 2, nan, 4, 5), dataset.NewNumeric("y", 1, nan, 3, nan, 5),
		dataset.NewNumeric("z", nan, 2, 3, nan, 6)),
		Preparation{Targets: []encode.Target{{Columns: []string{"y"}}, {Columns: []string{"z"}, Log: true}}})
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "rows", r.Rows, []int{0, 1, 4})
	want := []float64{1, nan, nan, math.Log(2), 5, math.Log(6)}
	if !slices.EqualFunc(r.Y, want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
		t.Errorf("labels %v, want %v", r.Y, want)
	}
}

func TestPrepareSubsamples(t *testing.T) {
	t.Parallel()
	x := dataset.NewNumeric("x")
	for row := range 1000 {
		x.Append(float64(row))
	}
	full := table(t, x, dataset.NewNumeric("y", make([]float64, 1000)...))
	prepare := func(seed uint64) *Regression {
		r, err := Prepare(full, Preparation{Target: encode.Target{Columns: []string{"y"}}, MaxRows: 100, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one, again, two := prepare(1), prepare(1), prepare(2)
	mustEqual(t, "the same seed", one.Rows, again.Rows)
	if slices.Equal(one.Rows, two.Rows) || !slices.IsSorted(one.Rows) || len(slices.Compact(one.Rows)) != 100 {
		t.Errorf("rows %v", one.Rows)
	}
	for i, row := range one.Rows {
		if one.X.At(i, 0) != float32(row) {
			t.Fatalf("row %d has %v", row, one.X.At(i, 0))
		}
	}
}

func TestPrepareRefusesTables(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	y := encode.Target{Columns: []string{"y"}}
	for want, test := range map[string]struct {
		columns []dataset.Column
		p       Preparation
	}{
		`column "z" is not in the table, which has "x", "y"`: {
			[]dataset.Column{dataset.NewNumeric("x", 1), dataset.NewNumeric("y", 1)},
			Preparation{Target: y, Drop: []string{"z"}}},
		`column "x" lacks 2 of 3 values, and no row is complete; drop the column or fill it in`: {
			[]dataset.Column{dataset.NewNumeric("x", nan, nan, 1), dataset.NewNumeric("y", 1, 2, nan)}, Preparation{Target: y}},
		`no input column remains: "x": has a single value`: {
			[]dataset.Column{dataset.NewNumeric("x", 1, 1), dataset.NewNumeric("y", 1, 2)}, Preparation{Target: y}},
		`no input column remains: the table has no other columns`: {
			[]dataset.Column{dataset.NewNumeric("y", 1, 2)}, Preparation{Target: y}},
		`the table has no rows`: {
			[]dataset.Column{dataset.NewNumeric("x"), dataset.NewNumeric("y")}, Preparation{Target: y}},
		`column "x", row 2 (from 0): +Inf cannot be used as an input; correct it, or leave it empty if it is missing`: {
			[]dataset.Column{dataset.NewNumeric("x", 1, nan, math.Inf(1)), dataset.NewNumeric("y", 1, 2, 3)},
			Preparation{Target: y}},
	} {
		if _, err := Prepare(table(t, test.columns...), test.p); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := Prepare(table(t, dataset.NewNumeric("y", 1)), Preparation{})
	if err == nil || errors.As(err, new(*dataset.ColumnError)) {
		t.Errorf("no target: %v", err)
	}
}
