// Package posterior has the covariance of the weights of a Gaussian process in feature space after
// observing selected rows (paper, "Gaussian Process Posterior Transformation"):
//
//	S = I − Φᵀ(ΦΦᵀ + σ²I)⁻¹Φ = σ²(ΦᵀΦ + σ²I)⁻¹,   Φ the selected rows,
//	k_post(x, x') = φ(x)ᵀ S φ(x').
//
// One more row x, or one less, changes it by a product of vectors (paper, forward
// and backward update, in the form without square root):
//
//	w = S·φ(x):   S ← S − w·wᵀ/(σ² + φ(x)ᵀw)   and   S ← S + w·wᵀ/(σ² − φ(x)ᵀw)
//
// so the features themselves do not change: the changes are kept as vectors beside
// them. Where the paper rewrites Φ in each step, this reads it once.
package posterior

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/double"
)

// Covariance is S: a base that was computed from many rows at once, and changes by
// single rows since then.
type Covariance struct {
	Dim       int
	Sigma2    float64
	Root      matrix.Dense[float64] // base = Rootᵀ·Root, if it has rows
	Explained matrix.Dense[float64] // base = I − Explainedᵀ·Explained, if it has rows

	team      *linalg.Team
	cancelled func() bool
	factor    matrix.Dense[float64] // Explained = factor⁻¹·Φ
	change    []float64             // the vectors w, each divided by the root of its denominator, one after the other
	sign      []float64             // −1 for a row added, +1 for a row removed
	dots      []float64             // scratch
}

// New returns S = I for dim features. Long computations end when cancelled holds.
func New(team *linalg.Team, cancelled func() bool, dim int, sigma2 float64) *Covariance {
	return &Covariance{Dim: dim, Sigma2: sigma2, team: team, cancelled: cancelled}
}

// Observe recomputes S from all selected rows, in the cheaper of two ways, and returns
// false if rounding makes that impossible.
func (s *Covariance) Observe(rows matrix.Dense[float64]) bool {
	if rows.Rows < s.Dim {
		return s.observeAsKernel(rows)
	}
	return s.ObserveAsRoot(rows)
}

// observeAsKernel works with the kernel matrix of the rows: Explained = L⁻¹Φ with
// L·Lᵀ = ΦΦᵀ + σ²I.
func (s *Covariance) observeAsKernel(rows matrix.Dense[float64]) bool {
	s.Reset()
	l := matrix.New[float64](rows.Rows, rows.Rows)
	linalg.Syrk(s.team, l, 1, rows, linalg.NoTrans, 0)
	if !Cholesky(s.team, l, s.Sigma2) {
		return false
	}
	s.Explained, s.factor = rows.Clone(), l
	return linalg.SolveLower(s.team, s.Explained, linalg.Left, l, linalg.NoTrans) == nil
}

// ObserveAsRoot works in feature space: Root = σ·L⁻¹ with L·Lᵀ = ΦᵀΦ + σ²I.
// Without rows there is no root, and S = I.
func (s *Covariance) ObserveAsRoot(rows matrix.Dense[float64]) bool {
	s.Reset()
	if rows.Rows == 0 {
		return true
	}
	l := matrix.New[float64](s.Dim, s.Dim)
	linalg.Syrk(s.team, l, 1, rows, linalg.Trans, 0)
	if !Cholesky(s.team, l, s.Sigma2) || linalg.InvertLower(s.team, l) != nil {
		return false
	}
	scale(l.Data, math.Sqrt(s.Sigma2))
	s.Root = l
	return true
}

// ObservePrecisely is observeAsRoot with twice as many digits until the root is
// computed. That takes seconds, so the context is checked once per block of rows and
// once per column of the factor.
func (s *Covariance) ObservePrecisely(rows matrix.Dense[float64]) bool {
	s.Reset()
	m := double.NewTriangle(s.Dim)
	for i := range s.Dim {
		m[i].Hi[i] = s.Sigma2
	}
	for first := 0; first < rows.Rows && !s.cancelled(); first += preciseBlock {
		s.addPrecisely(m, rows.Slice(first, min(first+preciseBlock, rows.Rows)))
	}
	if !m.Factor(s.team, s.cancelled) {
		return false
	}
	root, sigma := matrix.New[float64](s.Dim, s.Dim), double.Number{Hi: s.Sigma2}.Root()
	m.Inverse(s.team,
		func(i, j int, x double.Number) { root.Row(i)[j] = x.Over(double.Number{Hi: 1}.Over(sigma)).Value() })
	s.Root = root
	return true
}

// preciseBlock is the number of rows after which addPrecisely checks the context.
const preciseBlock = 1024

// addPrecisely adds ΦᵀΦ of some rows to m.
func (s *Covariance) addPrecisely(m double.Triangle, rows matrix.Dense[float64]) {
	s.team.OverPieces(s.Dim, double.Piece, func(_, from, to int) {
		for r := range rows.Rows {
			row := rows.Row(r)
			for i := from; i < to; i++ {
				for j, v := range row[:i+1] {
					m[i].Set(j, m[i].At(j).AddProduct(row[i], v))
				}
			}
		}
	})
}

// Reach bounds the norm of a row after the base if nothing in it cancels: rounding
// errors of posterior features are a share of that. scales holds the largest magnitude
// of each feature.
func (s *Covariance) Reach(scales []float64) float64 {
	sum := 0.0
	for i := range s.Root.Rows {
		for j, v := range s.Root.Row(i)[:i+1] {
			sum += float64(v*scales[j]) * float64(v*scales[j])
		}
	}
	if s.Root.Rows == 0 {
		return math.Sqrt(simd.For[float64]().SumSquares(scales))
	}
	return math.Sqrt(sum)
}

// Reset returns to S = I.
func (s *Covariance) Reset() {
	s.change, s.sign = nil, nil
	s.Root, s.Explained, s.factor = matrix.Dense[float64]{}, matrix.Dense[float64]{}, matrix.Dense[float64]{}
}

// Apply writes S·x to dst.
func (s *Covariance) Apply(dst, x []float64) {
	set := simd.For[float64]()
	switch {
	case s.Root.Rows > 0:
		clear(dst)
		for i := range s.Root.Rows {
			row := s.Root.Row(i)[:i+1] // lower triangular
			set.Axpy(dst[:i+1], row, set.Dot(row, x[:i+1]))
		}
	default:
		copy(dst, x)
		for i := range s.Explained.Rows {
			row := s.Explained.Row(i)
			set.Axpy(dst, row, -set.Dot(row, x))
		}
	}
	s.applyChanges(dst, x)
}

const (
	manyChanges = 64 // several threads pay from this number of changes on
	columnPiece = 64 // columns that a thread adds the changes to at a time
)

// applyChanges adds the products of the changes with x to dst.
func (s *Covariance) applyChanges(dst, x []float64) {
	set, columns := simd.For[float64](), s.Dim
	if len(s.sign) >= manyChanges {
		columns = columnPiece
	}
	s.dots = slices.Grow(s.dots[:0], len(s.sign))[:len(s.sign)]
	s.team.OverPieces(len(s.sign), manyChanges, func(_, from, to int) {
		set.DotRows(s.dots[from:to], x,
			s.changed(from, to), s.Dim)
	})
	s.team.OverPieces(s.Dim, columns, func(_, from, to int) {
		for i, dot := range s.dots {
			set.Axpy(dst[from:to], s.changed(i, i+1)[from:to], s.sign[i]*dot)
		}
	})
}

// Changes returns the vectors of all changes, one after the other, and their number. The
// vectors stay as they are; further changes are appended.
func (s *Covariance) Changes() (vectors []float64, count int) { return s.change, len(s.sign) }

// Latest returns the vector of the latest change.
func (s *Covariance) Latest() []float64 { return s.changed(len(s.sign)-1, len(s.sign)) }

// changed returns the vectors of changes, from the one numbered from to to-1.
func (s *Covariance) changed(from, to int) []float64 { return s.change[from*s.Dim : to*s.Dim] }

// Update changes S by sign·w·wᵀ/denominator. It copies w.
func (s *Covariance) Update(w []float64, sign, denominator float64) {
	s.change = append(s.change, w...)
	s.sign = append(s.sign, sign)
	scale(s.Latest(), 1/math.Sqrt(denominator))
}

// Cholesky overwrites m with the Cholesky factor of m + σ²I, and returns false if
// that is not positive definite in float64.
func Cholesky(team *linalg.Team, m matrix.Dense[float64], sigma2 float64) bool {
	for i := range m.Rows {
		m.Row(i)[i] += sigma2
	}
	return linalg.Cholesky(team, m) == nil
}

func scale(v []float64, a float64) {
	for i := range v {
		v[i] *= a
	}
}
