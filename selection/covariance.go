package selection

// The covariance of the weights of a Gaussian process in feature space after
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

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// covariance is S: a base that was computed from many rows at once, and changes by
// single rows since then.
type covariance struct {
	team      *linalg.Team
	tally     *tally.Counter
	cancelled func() bool
	dim       int
	sigma2    float64
	root      matrix.Dense[float64] // base = rootᵀ·root, if it has rows
	explained matrix.Dense[float64] // base = I − explainedᵀ·explained, if it has rows
	factor    matrix.Dense[float64] // explained = factor⁻¹·Φ
	change    []float64             // the vectors w, each divided by the root of its denominator, one after the other
	sign      []float64             // −1 for a row added, +1 for a row removed
	dots      []float64             // scratch
}

func newCovariance[T matrix.Float](s *Space[T], dim int, sigma2 float64) *covariance {
	return &covariance{team: s.team, tally: s.tally, cancelled: s.Cancelled, dim: dim, sigma2: sigma2}
}

// observe recomputes S from all selected rows, in the cheaper of two ways, and returns
// false if rounding makes that impossible.
func (s *covariance) observe(rows matrix.Dense[float64]) bool {
	if rows.Rows < s.dim {
		return s.observeAsKernel(rows)
	}
	return s.observeAsRoot(rows)
}

// observeAsKernel works with the kernel matrix of the rows: explained = L⁻¹Φ with
// L·Lᵀ = ΦΦᵀ + σ²I.
func (s *covariance) observeAsKernel(rows matrix.Dense[float64]) bool {
	s.reset()
	l := matrix.New[float64](rows.Rows, rows.Rows)
	linalg.Syrk(s.team, l, 1, rows, linalg.NoTrans, 0)
	if !choleskyOf(s.team, l, s.sigma2) {
		return false
	}
	s.explained, s.factor = rows.Clone(), l
	return linalg.SolveLower(s.team, s.explained, linalg.Left, l, linalg.NoTrans) == nil
}

// observeAsRoot works in feature space: root = σ·L⁻¹ with L·Lᵀ = ΦᵀΦ + σ²I.
// Without rows there is no root, and S = I.
func (s *covariance) observeAsRoot(rows matrix.Dense[float64]) bool {
	s.reset()
	if rows.Rows == 0 {
		return true
	}
	l := matrix.New[float64](s.dim, s.dim)
	linalg.Syrk(s.team, l, 1, rows, linalg.Trans, 0)
	if !choleskyOf(s.team, l, s.sigma2) || linalg.InvertLower(s.team, l) != nil {
		return false
	}
	scale(l.Data, math.Sqrt(s.sigma2))
	s.root = l
	return true
}

// observePrecisely is observeAsRoot with twice as many digits until the root is
// computed. That takes seconds, so the context is checked once per block of rows and
// once per column of the factor.
func (s *covariance) observePrecisely(rows matrix.Dense[float64]) bool {
	s.reset()
	m := newTriangle(s.dim)
	for i := range s.dim {
		m[i].hi[i] = s.sigma2
	}
	for first := 0; first < rows.Rows && !s.cancelled(); first += conditionedBlock {
		s.addPrecisely(m, rows.Slice(first, min(first+conditionedBlock, rows.Rows)))
	}
	if !m.factor(s.team, s.cancelled) {
		return false
	}
	root, sigma := matrix.New[float64](s.dim, s.dim), double{hi: s.sigma2}.root()
	m.inverse(s.team, func(i, j int, x double) { root.Row(i)[j] = x.over(double{hi: 1}.over(sigma)).value() })
	s.root = root
	return true
}

// addPrecisely adds ΦᵀΦ of some rows to m.
func (s *covariance) addPrecisely(m triangle, rows matrix.Dense[float64]) {
	s.team.OverPieces(s.dim, trianglePiece, func(_, from, to int) {
		for r := range rows.Rows {
			row := rows.Row(r)
			for i := from; i < to; i++ {
				for j, v := range row[:i+1] {
					m[i].set(j, m[i].at(j).addProduct(row[i], v))
				}
			}
		}
	})
}

// reach bounds the norm of a row after the base if nothing in it cancels: rounding
// errors of posterior features are a share of that. scales holds the largest magnitude
// of each feature.
func (s *covariance) reach(scales []float64) float64 {
	sum := 0.0
	for i := range s.root.Rows {
		for j, v := range s.root.Row(i)[:i+1] {
			sum += float64(v*scales[j]) * float64(v*scales[j])
		}
	}
	if s.root.Rows == 0 {
		return math.Sqrt(simd.For[float64]().SumSquares(scales))
	}
	return math.Sqrt(sum)
}

// reset returns to S = I.
func (s *covariance) reset() {
	s.change, s.sign = nil, nil
	s.root, s.explained, s.factor = matrix.Dense[float64]{}, matrix.Dense[float64]{}, matrix.Dense[float64]{}
}

// apply writes S·x to dst.
func (s *covariance) apply(dst, x []float64) {
	set := simd.For[float64]()
	switch {
	case s.root.Rows > 0:
		clear(dst)
		for i := range s.root.Rows {
			row := s.root.Row(i)[:i+1] // lower triangular
			set.Axpy(dst[:i+1], row, set.Dot(row, x[:i+1]))
		}
	default:
		copy(dst, x)
		for i := range s.explained.Rows {
			row := s.explained.Row(i)
			set.Axpy(dst, row, -set.Dot(row, x))
		}
	}
	s.applyChanges(dst, x)
}

const (
	manyChanges = 64 // from so many changes on, several threads pay
	columnPiece = 64 // columns that a thread adds the changes to at a time
)

// applyChanges adds the products of the changes with x to dst.
func (s *covariance) applyChanges(dst, x []float64) {
	set, columns := simd.For[float64](), s.dim
	if len(s.sign) >= manyChanges {
		columns = columnPiece
	}
	s.dots = slices.Grow(s.dots[:0], len(s.sign))[:len(s.sign)]
	s.team.OverPieces(len(s.sign), manyChanges, func(_, from, to int) { set.DotRows(s.dots[from:to], x, s.changed(from, to), s.dim) })
	s.team.OverPieces(s.dim, columns, func(_, from, to int) {
		for i, dot := range s.dots {
			set.Axpy(dst[from:to], s.changed(i, i+1)[from:to], s.sign[i]*dot)
		}
	})
}

// changed returns the vectors of changes, from the one numbered from to to-1.
func (s *covariance) changed(from, to int) []float64 { return s.change[from*s.dim : to*s.dim] }

// update changes S by sign·w·wᵀ/denominator. It copies w.
func (s *covariance) update(w []float64, sign, denominator float64) {
	s.change = append(s.change, w...)
	s.sign = append(s.sign, sign)
	scale(s.changed(len(s.sign)-1, len(s.sign)), 1/math.Sqrt(denominator))
}

// conditionedBlock is the number of rows that are multiplied with the covariance at a
// time.
const conditionedBlock = 1024

// diag writes φᵀSφ of each row to dst, for the base alone.
func (s *covariance) diag(dst []float64, rows *rowsInFloat64) {
	factor, sign := s.explained, -1.0
	if s.root.Rows > 0 {
		factor, sign = s.root, 1
	}
	if factor.Rows == 0 {
		rows.norms(s.cancelled, s.team, dst)
		return
	}
	tally.Rows[float64](s.tally, rows.Rows, rows.Cols)
	scratch := matrix.New[float64](min(conditionedBlock, rows.Rows), factor.Rows)
	rows.convertBlocks(s.cancelled, s.team, func(first int, block matrix.Dense[float64]) {
		for from := 0; from < block.Rows && !s.cancelled(); from += conditionedBlock {
			part := block.Slice(from, min(from+conditionedBlock, block.Rows))
			products, variances := scratch.Slice(0, part.Rows), dst[first+from:][:part.Rows]
			linalg.RowNorms(s.team, variances, part)
			linalg.Gemm(s.team, products, 1, part, linalg.NoTrans, factor, linalg.Trans, 0)
			for i := range variances {
				norm := simd.For[float64]().SumSquares(products.Row(i))
				if sign > 0 {
					variances[i] = norm
				} else {
					variances[i] = max(variances[i]-norm, 0)
				}
			}
		}
	})
}

// choleskyOf overwrites m with the Cholesky factor of m + σ²I, and returns false if
// that is not positive definite in float64.
func choleskyOf(team *linalg.Team, m matrix.Dense[float64], sigma2 float64) bool {
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
