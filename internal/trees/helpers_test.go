package trees

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

var nan = float32(math.NaN())

// simulated returns a table with a smooth label, some noise, two categorical columns (few
// levels, many levels) and, for every tenth value on average, nothing.
func simulated(rows int, seed uint64) Data {
	s := rng.New(seed, "test")
	d := Data{Inputs: matrix.New[float32](rows, 6), Columns: make([]Input, 6), Labels: make([]float64, rows)}
	d.Columns[4].Levels, d.Columns[5].Levels = 4, 40
	for i := range rows {
		x := d.Inputs.Row(i)
		for j := range 4 {
			x[j] = float32(s.NormFloat64())
		}
		x[4], x[5] = float32(s.IntN(4)), float32(s.IntN(40))
		d.Labels[i] = float64(3*x[0]) + float64(x[1]*x[2]) + float64(2*x[4]) + math.Sin(float64(x[5])) + 0.1*s.NormFloat64()
		for j := range x {
			if s.IntN(10) == 0 {
				x[j] = nan
			}
		}
	}
	return d
}

// numeric returns a table with normal inputs and labels that depend on them.
func numeric(rows, cols int, seed uint64) Data {
	s := rng.New(seed, "test")
	d := Data{Inputs: matrix.New[float32](rows, cols), Labels: make([]float64, rows)}
	rng.FillNormal(s, d.Inputs.Data)
	for i := range rows {
		x := d.Inputs.Row(i)
		d.Labels[i] = 10*float64(x[0]) + float64(x[cols-1]*x[cols-1]) + 0.3*s.NormFloat64()
	}
	return d
}

type fitter func(t *testing.T, d Data, seed uint64) *Model

// kindsOfModel are both learners, with options that keep tests fast.
var kindsOfModel = map[string]fitter{
	"boosting": func(t *testing.T, d Data, seed uint64) *Model {
		t.Helper()
		return must(FitBoosting(context.Background(), d, BoostingConfig{MaxRounds: 60}, seed))(t)
	},
	"extra trees": func(t *testing.T, d Data, seed uint64) *Model {
		t.Helper()
		return must(FitExtraTrees(context.Background(), d, ExtraConfig{Trees: 20}, seed))(t)
	},
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func predict(t *testing.T, m *Model, rows matrix.Dense[float32]) []float64 {
	t.Helper()
	return must(m.Predict(context.Background(), rows))(t)
}

func saved(t *testing.T, m *Model) []byte {
	t.Helper()
	return must(m.MarshalBinary())(t)
}

// rmse returns the error of predictions in deviations of the labels.
func rmse(predictions, labels []float64) float64 {
	mean, sum, all := 0.0, 0.0, 0.0
	for _, y := range labels {
		mean += y / float64(len(labels))
	}
	for i, y := range labels {
		sum += (y - predictions[i]) * (y - predictions[i])
		all += (y - mean) * (y - mean)
	}
	return math.Sqrt(sum / all)
}

func mustBeClose(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
