package stats

import (
	"fmt"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/matrix"
)

func TestGoldenMetrics(t *testing.T) {
	t.Parallel()
	var cases []struct {
		Case, N                   int
		NModels                   int `json:"n_models"`
		MAE, RMSE, MaxE, Q95, Q99 float64
	}
	golden.Entry(t, "metrics", &cases)
	for _, c := range cases {
		predictions := golden.Matrix(t, fmt.Sprintf("metrics/pred_%d.npy", c.Case))
		if predictions.Rows != c.NModels {
			t.Fatalf("case %d: predictions are %v", c.Case, predictions.Shape())
		}
		got := Measure(predictions, golden.Vector(t, fmt.Sprintf("metrics/y_%d.npy", c.Case)))
		near(t, "MAE", got.MAE, c.MAE, 1e-12)
		near(t, "RMSE", got.RMSE, c.RMSE, 1e-12)
		near(t, "MaxE", got.MaxE, c.MaxE, 1e-12)
		near(t, "Q95", got.Q95, c.Q95, 1e-12)
		near(t, "Q99", got.Q99, c.Q99, 1e-12)
	}
	if len(cases) == 0 {
		t.Error("no cases")
	}
}

func TestMeasureSaysNaN(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, m := range []Metrics{
		Measure(matrix.FromRows([][]float64{{1, 2, 3}, {1, nan, 3}}), []float64{1, 2, 3}),
		Measure(matrix.New[float64](1, 0), nil),
		Measure(matrix.New[float64](0, 3), []float64{1, 2, 3}),
	} {
		for _, v := range []float64{m.MAE, m.RMSE, m.MaxE, m.Q95, m.Q99} {
			if !math.IsNaN(v) {
				t.Errorf("%+v", m)
			}
		}
	}
}

func ExampleMeasure() {
	labels := []float64{1, 2, 3, 4}
	predictions := matrix.FromRows([][]float64{
		{1, 2, 3, 6}, // the first member
		{0, 2, 3, 4}, // the second
	})
	fmt.Printf("%+v\n", Measure(predictions, labels))
	// Output: {MAE:0.375 RMSE:0.7905694150420949 MaxE:1.5 Q95:1.5 Q99:1.5}
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Abs(want)) {
		t.Fatalf("%s is %v, want %v: relative difference %.3g", what, got, want, math.Abs(got/want-1))
	}
}
