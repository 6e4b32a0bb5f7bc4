package kernel_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
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
		k := must(kernel.NewStationary[float32](kernel.Stationary{Shape: shape, Variance: 3, Lengths: []float64{0.5, 2}}))
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
		if _, err := kernel.NewStationary[float64](bad); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
}

// TestFitStationaryRecovers draws labels from a Gaussian process and finds its length
// scales again, and that an input does not matter.
func TestFitStationaryRecovers(t *testing.T) {
	t.Parallel()
	for _, shape := range []kernel.Shape{kernel.RBF, kernel.Matern52} {
		truth := kernel.Stationary{Shape: shape, Variance: 4, Lengths: []float64{1, 20, 1e5}}
		rows, labels := drawProcess(t, truth, 400, 0.01)
		got, noise, err := kernel.FitStationary(t.Context(), shape, rows, labels)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("shape %d: variance %.3g, length scales %.3g, noise %.3g", shape, got.Variance, got.Lengths, noise)
		for j, length := range truth.Lengths[:2] {
			if ratio := got.Lengths[j] / length; ratio < 0.75 || ratio > 1.33 {
				t.Errorf("shape %d: length scale %d is %.3g, not about %.3g", shape, j, got.Lengths[j], length)
			}
		}
		if got.Lengths[2] < 20 {
			t.Errorf("shape %d: the input that does not matter has length scale %.3g", shape, got.Lengths[2])
		}
		if noise < 0.006 || noise > 0.016 {
			t.Errorf("shape %d: noise %.3g, not about 0.01", shape, noise)
		}
	}
}

// drawProcess returns rows and labels that a Gaussian process has drawn. The second
// input has a deviation of ten.
func drawProcess(t *testing.T, k kernel.Stationary, n int, noise float64) (matrix.Dense[float64], []float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	rows := matrix.New[float64](n, len(k.Lengths))
	for i := range n {
		for j := range rows.Cols {
			rows.Row(i)[j] = r.NormFloat64()
		}
		rows.Row(i)[1] *= 10
	}
	gram := matrix.New[float64](n, n)
	if err := must(kernel.NewStationary[float64](k)).Cross(t.Context(), gram, rows, rows); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		gram.Row(i)[i] += noise
	}
	if err := linalg.Cholesky(linalg.TeamOf(t.Context()), gram); err != nil {
		t.Fatal(err)
	}
	white, labels := make([]float64, n), make([]float64, n)
	for i := range white {
		white[i] = r.NormFloat64()
	}
	linalg.MulVec(linalg.TeamOf(t.Context()), labels, gram, white)
	for i := range labels {
		labels[i] += 100
	}
	return rows, labels
}

// TestFitStationaryFewRows has too few labels for a length scale of each input: all
// have the same one, in standard deviations.
func TestFitStationaryFewRows(t *testing.T) {
	t.Parallel()
	rows, labels := drawProcess(t, kernel.Stationary{Variance: 1, Lengths: []float64{2, 20, 2, 2}}, 15, 1e-4)
	got, _, err := kernel.FitStationary(t.Context(), kernel.RBF, rows, labels)
	if err != nil {
		t.Fatal(err)
	}
	first := got.Lengths[0] / deviation(rows, 0)
	for j, length := range got.Lengths {
		if unit := length / deviation(rows, j); math.Abs(unit/first-1) > 1e-9 {
			t.Errorf("the length scale of input %d is %.4g of its deviations, that of the first %.4g", j, unit, first)
		}
	}
}

func deviation(rows matrix.Dense[float64], column int) float64 {
	sum, squares, n := 0.0, 0.0, float64(rows.Rows)
	for i := range rows.Rows {
		v := rows.At(i, column)
		sum, squares = sum+v, squares+v*v
	}
	return math.Sqrt(squares/n - sum*sum/n/n)
}

func TestFitStationaryRefuses(t *testing.T) {
	t.Parallel()
	rows := someRows[float64](10, 2)
	same := make([]float64, 10)
	if _, _, err := kernel.FitStationary(t.Context(), kernel.RBF, rows, same); err == nil || !strings.Contains(err.Error(), "do not vary") {
		t.Errorf("equal labels: error %v", err)
	}
	if _, _, err := kernel.FitStationary(t.Context(), kernel.RBF, rows, same[:3]); err == nil {
		t.Error("fewer labels than rows are accepted")
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	same[1] = 1
	if _, _, err := kernel.FitStationary(cancelled, kernel.RBF, rows, same); err != context.Canceled {
		t.Errorf("cancelled: error %v", err)
	}
}
