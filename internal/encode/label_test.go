package encode

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	full := table(t, dataset.NewNumeric("a", 1, 8, 5), dataset.NewNumeric("b", 4, 2, math.NaN()),
		dataset.NewNumeric("c", 2, 4, 1),
		dataset.NewNumeric("d", 100, 6, 1))
	for _, test := range []struct {
		target Target
		want   []float64
	}{
		{Target{Columns: []string{"c"}}, []float64{2, 4, 1}},
		{Target{Columns: []string{"a", "b", "c", "d"}}, []float64{3, 5, math.NaN()}},
		{Target{Columns: []string{"a", "b", "c"}, Log: true}, []float64{math.Log(2), math.Log(4), math.NaN()}},
	} {
		got, err := test.target.Labels(full)
		if err != nil {
			t.Fatal(err)
		}
		for row, want := range test.want {
			if got[row] != want && !(math.IsNaN(got[row]) && math.IsNaN(want)) {
				t.Errorf("%+v: labels %v, want %v", test.target, got, test.want)
			}
		}
	}
}

func TestLabelsRefuse(t *testing.T) {
	t.Parallel()
	full := table(t, dataset.NewNumeric("a", 1, 0), dataset.NewNumeric("b", 1, math.Inf(-1)),
		dataset.NewNumeric("c", 1, math.Inf(1)),
		dataset.NewText("t", "x", "y"))
	for want, target := range map[string]Target{
		`no target column is named`:                                {},
		`column "t" is text, not numeric`:                          {Columns: []string{"t"}},
		`column "a", row 1 (from 0): the label 0 has no logarithm`: {Columns: []string{"a"}, Log: true},
		`column "b", row 1 (from 0): the label is infinite`:        {Columns: []string{"b"}},
		`column "c", row 1 (from 0): the label is infinite`:        {Columns: []string{"c", "b"}},
	} {
		if _, err := target.Labels(full); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestLabelScalerInverts(t *testing.T) {
	t.Parallel()
	y := []float64{3, -1, 4, 1, -5, 9, 2.5}
	s, err := FitLabelScaler(y)
	if err != nil {
		t.Fatal(err)
	}
	scaled, back := make([]float64, len(y)), make([]float64, len(y))
	ScaleLabels(scaled, y, s)
	UnscaleLabels(back, scaled, s)
	sum, squares := 0.0, 0.0
	for i := range y {
		if math.Abs(back[i]-y[i]) > 1e-14 {
			t.Errorf("%v scaled back to %v", y[i], back[i])
		}
		sum += scaled[i]
		squares += scaled[i] * scaled[i]
	}
	if math.Abs(sum) > 1e-12 || math.Abs(squares-float64(len(y))) > 1e-12 {
		t.Errorf("mean %v, mean square %v", sum/7, squares/7)
	}
}

func TestEqualLabelsScale(t *testing.T) {
	t.Parallel()
	y := []float32{0.1, 0.1, 0.1}
	s, err := FitLabelScaler(y)
	if err != nil {
		t.Fatal(err)
	}
	scaled := make([]float32, 3)
	ScaleLabels(scaled, y, s)
	UnscaleLabels(scaled, scaled, s)
	if s.Deviation != 1 || scaled[0] != y[0] {
		t.Errorf("%+v, back %v", s, scaled)
	}
	if _, err := FitLabelScaler([]float64{}); err == nil {
		t.Error("an empty list of labels was scaled")
	}
}
