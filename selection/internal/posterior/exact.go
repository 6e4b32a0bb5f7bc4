package posterior

// Variances of single rows, as accurately as float64 allows: to find out how far rounding has
// moved those of the base.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/double"
)

// Variance returns φᵀSφ of a row for the base alone, as accurately as float64 allows.
// With few selected rows it is the minimum of a sum of squares,
//
//	φᵀSφ = min_a ‖φ − Φᵀa‖² + σ²‖a‖²,
//
// so that an error of a enters as a square.
func (s *Covariance) Variance(phi []float64, selected matrix.Dense[float64]) float64 {
	if s.Explained.Rows == 0 {
		_, variance := s.Exact(phi, selected)
		return variance
	}
	a := matrix.New[float64](s.Explained.Rows, 1)
	linalg.MulVec(s.team, a.Data, s.Explained, phi)
	if linalg.SolveLower(s.team, a, linalg.Left, s.factor, linalg.Trans) != nil {
		return math.NaN()
	}
	residual := make([]float64, s.Dim)
	for j := range residual {
		sum := double.Number{Hi: phi[j]}
		for i, v := range a.Data {
			sum = sum.AddProduct(-v, selected.Row(i)[j])
		}
		residual[j] = sum.Value()
	}
	set := simd.For[float64]()
	return set.SumSquares(residual) + s.Sigma2*set.SumSquares(a.Data)
}

// Exact returns Sφ and φᵀSφ of a row, for a base with a root: t ≈ Sφ from the base
// leaves a residual r = φ − (ΦᵀΦ + σ²I)t/σ², and then
//
//	Sφ = t + Sr,   φᵀSφ = ⟨φ, t⟩ + ⟨t, r⟩ + ⟨r, Sr⟩
func (s *Covariance) Exact(phi []float64, selected matrix.Dense[float64]) (product []float64, variance float64) {
	t, sr := make([]float64, s.Dim), make([]float64, s.Dim)
	s.Apply(t, phi)
	residual := s.residual(phi, t, selected)
	s.Apply(sr, residual)
	var sum double.Number
	for j, v := range t {
		sum = sum.AddProduct(phi[j], v).AddProduct(residual[j], v).Normal()
		t[j] += sr[j]
	}
	return t, sum.Value() + simd.For[float64]().Dot(residual, sr)
}

// residualPiece is the number of rows of a piece of that sum.
const residualPiece = 512

// residual returns φ − (ΦᵀΦ + σ²I)t/σ², computed with twice as many digits.
func (s *Covariance) residual(phi, t []float64, selected matrix.Dense[float64]) []float64 {
	parts := make([]double.Vector, linalg.Pieces(selected.Rows, residualPiece))
	s.team.OverPieces(selected.Rows, residualPiece, func(piece, from, to int) {
		sum := double.NewVector(s.Dim)
		for i := from; i < to; i++ {
			row := selected.Row(i)
			var dot double.Number
			for j, v := range row {
				dot = dot.AddProduct(v, t[j])
			}
			dot = dot.Normal().Over(double.Number{Hi: s.Sigma2})
			for j, v := range row {
				sum.Set(j, sum.At(j).AddTimes(-v, dot))
			}
		}
		parts[piece] = sum
	})
	r := make([]float64, s.Dim)
	for j := range r {
		sum := double.TwoSum(phi[j], -t[j])
		for _, part := range parts {
			sum = sum.AddProduct(part.Hi[j], 1).AddProduct(part.Lo[j], 1)
		}
		r[j] = sum.Value()
	}
	return r
}
