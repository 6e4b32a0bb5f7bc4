package golden

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// maxRelDiff returns the largest |got[i] - want[i]| over the largest finite
// |want[i]|. NaN equals NaN and an infinity equals itself; any other difference
// that involves them, or any difference if want is all zeros, is infinite. Both
// slices have the same length.
func maxRelDiff[T matrix.Float](got, want []T) float64 {
	matrix.MustMatch("golden.MaxRelDiff", matrix.Shape{Rows: 1, Cols: len(got)}, matrix.Shape{Rows: 1, Cols: len(want)})
	_, worst := worstDiff(got, want)
	if worst == 0 {
		return 0
	}
	return worst / largest(want)
}

// MustMatch fails the test unless got has the shape of want and agrees with it
// within tol, relative to the largest entry of want.
func MustMatch[T matrix.Float](t testing.TB, what string, got, want matrix.Dense[T], tol float64) {
	t.Helper()
	if got.Shape() != want.Shape() {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape(), want.Shape())
	}
	g, w := got.Clone().Data, want.Clone().Data
	if diff := maxRelDiff(g, w); diff > tol {
		at, _ := worstDiff(g, w)
		t.Fatalf("%s: row %d, column %d is %v, want %v; relative difference %.3g, tolerance %.3g",
			what, at/want.Cols, at%want.Cols, g[at], w[at], diff, tol)
	}
}

// MustMatchVector is MustMatch for slices.
func MustMatchVector[T matrix.Float](t testing.TB, what string, got, want []T, tol float64) {
	t.Helper()
	MustMatch(t, what, matrix.View(1, len(got), got), matrix.View(1, len(want), want), tol)
}

func worstDiff[T matrix.Float](got, want []T) (at int, worst float64) {
	for i := range want {
		if d := diff(float64(got[i]), float64(want[i])); d > worst {
			at, worst = i, d
		}
	}
	return at, worst
}

func diff(a, b float64) float64 {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return 0
	}
	if d := math.Abs(a - b); !math.IsNaN(d) {
		return d
	}
	return math.Inf(1)
}

func largest[T matrix.Float](v []T) float64 {
	top := 0.0
	for _, x := range v {
		if a := math.Abs(float64(x)); a > top && !math.IsInf(a, 1) {
			top = a
		}
	}
	return top
}
