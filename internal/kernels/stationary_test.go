package kernels_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestStationaryValues compares with the formulas, up to distances whose square
// float32 cannot hold.
func TestStationaryValues(t *testing.T) {
	t.Parallel()
	for shape, plain := range map[kernel.Shape]func(r float64) float64{
		kernel.RBF:      func(r float64) float64 { return math.Exp(-r * r / 2) },
		kernel.Matern52: func(r float64) float64 { return (1 + math.Sqrt(5)*r + 5*r*r/3) * math.Exp(-math.Sqrt(5)*r) },
	} {
		k := must(kernels.NewStationary[float32](kernel.Stationary{Shape: shape, Variance: 3, Lengths: []float64{0.5, 2}}))
		rows := matrix.View(8, 2, []float32{0, 0, 0.1, 0, 0.1, 0.1, 1, -1, 3, 8, 30, 2, 1e4, 0, 1e30, 0})
		got := matrix.New[float32](1, rows.Rows)
		if err := k.Cross(t.Context(), got, rows.Slice(0, 1), rows); err != nil {
			t.Fatal(err)
		}
		for i := range rows.Rows {
			r := math.Hypot(float64(rows.At(i, 0))/0.5, float64(rows.At(i, 1))/2)
			if want := 3 * plain(min(r, 1e6)); math.Abs(float64(got.At(0, i))-want) > 2e-6*want+1e-30 {
				t.Errorf("shape %d, row %d: %v, want %v", shape, i, got.At(0, i), want)
			}
		}
	}
}

func TestStationaryRefuses(t *testing.T) {
	t.Parallel()
	for word, bad := range map[string]kernel.Stationary{
		"variance": {Variance: 0, Lengths: []float64{1}},
		"input 1":  {Variance: 1, Lengths: []float64{1, math.NaN()}},
	} {
		if _, err := kernels.NewStationary[float64](bad); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}
