package selection

// How far rounding may have moved the variances that MaxDet and BAIT compare.
//
// A variance that falls by differences keeps the absolute error that it had while
// it was large. Once that error may decide between rows, the variances are recomputed
// from all selected rows. A Cholesky factor in float64 squares the condition number of
// these rows, so its variances are compared with exact ones of a few rows
// (covariance.variance); if they are off, the factor is computed with twice as many
// digits (double.go). The variance is then the squared norm of a short vector, not a
// difference of large numbers, and its error is a share of itself.

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	unitRoundoff = 1.0 / (1 << 53)
	// tolerance is the share of the best score by which rounding may move a score.
	tolerance = 2.5e-7
	// A sample of rows may miss the worst one, so the error is assumed to be this many
	// times the largest in the sample.
	sampleMargin  = 4
	comparedRows  = 4
	roundingsEach = 4 // rounding errors that a product of vectors counts as
)

// accuracy bounds the errors of variances. Errors of single steps are independent, so
// their squares add up.
type accuracy struct {
	start float64 // error of the variances when they were computed from scratch
	each  float64 // error of a step
	steps float64
}

func (a *accuracy) lost(best float64) bool {
	return !(a.start+a.each*math.Sqrt(a.steps) <= tolerance*best)
}

// step counts one more row. The error grows with the largest variance at that time
// divided by that of the row with the noise, a ratio of less than 1 for the best row.
func (a *accuracy) step(largest, gamma2 float64) { a.steps += max(1, largest/gamma2) }

// sampleOf returns a row and some open rows spread over the pool.
func sampleOf(first int, open []bool) []int {
	list := []int{first}
	for i := range comparedRows - 1 {
		from := (2*i + 1) * len(open) / (2*comparedRows - 2)
		if next := slices.Index(open[from:], true); next >= 0 {
			list = append(list, from+next)
		}
	}
	return list
}

// variance returns φᵀSφ of a row for the base alone, as accurately as float64 allows.
// With few selected rows it is the minimum of a sum of squares,
//
//	φᵀSφ = min_a ‖φ − Φᵀa‖² + σ²‖a‖²,
//
// so that an error of a enters as a square.
func (s *covariance) variance(phi []float64, selected matrix.Dense[float64]) float64 {
	if s.explained.Rows == 0 {
		_, variance := s.exact(phi, selected)
		return variance
	}
	a := matrix.New[float64](s.explained.Rows, 1)
	linalg.MulVec(s.team, a.Data, s.explained, phi)
	if linalg.SolveLower(s.team, a, linalg.Left, s.factor, linalg.Trans) != nil {
		return math.NaN()
	}
	residual := make([]float64, s.dim)
	for j := range residual {
		sum := double{hi: phi[j]}
		for i, v := range a.Data {
			sum = sum.addProduct(-v, selected.Row(i)[j])
		}
		residual[j] = sum.value()
	}
	set := simd.For[float64]()
	return set.SumSquares(residual) + s.sigma2*set.SumSquares(a.Data)
}

// exact returns Sφ and φᵀSφ of a row, for a base with a root: t ≈ Sφ from the base
// leaves a residual r = φ − (ΦᵀΦ + σ²I)t/σ², and then
//
//	Sφ = t + Sr,   φᵀSφ = ⟨φ, t⟩ + ⟨t, r⟩ + ⟨r, Sr⟩
func (s *covariance) exact(phi []float64, selected matrix.Dense[float64]) (product []float64, variance float64) {
	t, sr := make([]float64, s.dim), make([]float64, s.dim)
	s.apply(t, phi)
	residual := s.residual(phi, t, selected)
	s.apply(sr, residual)
	var sum double
	for j, v := range t {
		sum = sum.addProduct(phi[j], v).addProduct(residual[j], v).normal()
		t[j] += sr[j]
	}
	return t, sum.value() + simd.For[float64]().Dot(residual, sr)
}

// residual returns φ − (ΦᵀΦ + σ²I)t/σ², computed with twice as many digits.
func (s *covariance) residual(phi, t []float64, selected matrix.Dense[float64]) []float64 {
	parts := make([]doubles, linalg.Pieces(selected.Rows, readPiece))
	s.team.OverPieces(selected.Rows, readPiece, func(piece, from, to int) {
		sum := newDoubles(s.dim)
		for i := from; i < to; i++ {
			row := selected.Row(i)
			var dot double
			for j, v := range row {
				dot = dot.addProduct(v, t[j])
			}
			dot = dot.normal().over(double{hi: s.sigma2})
			for j, v := range row {
				sum.set(j, sum.at(j).addTimes(-v, dot))
			}
		}
		parts[piece] = sum
	})
	r := make([]float64, s.dim)
	for j := range r {
		sum := twoSum(phi[j], -t[j])
		for _, part := range parts {
			sum = sum.addProduct(part.hi[j], 1).addProduct(part.lo[j], 1)
		}
		r[j] = sum.value()
	}
	return r
}
