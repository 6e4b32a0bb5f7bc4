package gp

// The marginal likelihood of n standardised labels y. With α = C^{-1}y, q = yᵀα and a
// variable θ of C,
//
//	log p = −½·(q/v + n·log v + log det C + n·log 2π)
//	∂ log p/∂θ = −½·Σ_ik W_ik·∂C_ik/∂θ,  W = C^{-1} − α·αᵀ/v
//
// The length scale ℓ_j has ∂C_ik/∂log ℓ_j = S_ik·(z_ij − z_kj)², where z are the rows over
// their length scales and S = −2·dF/d(r²). With G = W∘S,
//
//	½·Σ_ik G_ik·(z_ij − z_kj)² = Σ_i z_ij²·Σ_k G_ik − Σ_i z_ij·(G·z)_ij
//
// so all inputs together take one matrix product. A linear part a·Z·Zᵀ adds −2a·z_ij·z_kj to the
// derivative: then G + a·W takes the place of G in the product.

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// likelihood evaluates log p and its gradient for one sample. Its memory is reused from
// one evaluation to the next.
type likelihood struct {
	ctx context.Context
	sample

	inner           matrix.Dense[float64] // X·Xᵀ, or the lower triangle of Z·Zᵀ
	scaled          matrix.Dense[float64] // z
	slopes          matrix.Dense[float64] // S, then G, then G + a·W
	factor, inverse matrix.Dense[float64] // L^{-1} of C = L·Lᵀ; C^{-1}, then W
	products        matrix.Dense[float64] // of these and z
	half, alpha     []float64             // L^{-1}·y and α
	totals          []float64             // by row, of G
	noiseSums       []float64             // by row, what W adds to the derivatives by log g
	linearSums      []float64             // and by log a
	knownSums       []float64             // and by log v, if some of the noise is known
	logDet          float64               // of C
}

func newLikelihood(ctx context.Context, s sample) *likelihood {
	n, d := s.rows.Rows, s.rows.Cols
	l := &likelihood{ctx: ctx, sample: s, inner: matrix.New[float64](n, n),
		scaled: matrix.New[float64](n, d), slopes: matrix.New[float64](n, n),
		factor: matrix.New[float64](n, n), inverse: matrix.New[float64](n, n), products: matrix.New[float64](n, d),
		half: make([]float64, n), alpha: make([]float64, n), totals: make([]float64, n),
		noiseSums: make([]float64, n), linearSums: make([]float64, n), knownSums: make([]float64, n)}
	linalg.Syrk(linalg.TeamOf(ctx), l.inner, 1, s.rows, linalg.NoTrans, 0)
	return l
}

// at factorises C and returns q.
func (l *likelihood) at(h *ratios) (q float64, err error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	team := linalg.TeamOf(l.ctx)
	h.stretchInto(l.scaled, l.rows)
	team.Run(l.rows.Rows, &lowerJob{l, h})
	if err := linalg.Cholesky(team, l.factor); err != nil {
		return 0, err
	}
	l.logDet = logDeterminant(l.factor)
	if err := linalg.InvertLower(team, l.factor); err != nil {
		return 0, err
	}
	linalg.MulVec(team, l.half, l.factor, l.labels)
	linalg.MulVecT(team, l.alpha, l.factor, l.half)
	return simd.For[float64]().SumSquares(l.half), nil
}

// logDeterminant is log det L·Lᵀ.
func logDeterminant(factor matrix.Dense[float64]) (sum float64) {
	for i := range factor.Rows {
		sum += 2 * math.Log(factor.At(i, i))
	}
	return sum
}

// logDensity is log p.
func logDensity(n int, q, v, logDet float64) float64 {
	return -(q/v + float64(n)*math.Log(2*math.Pi*v) + logDet) / 2
}

// lowerJob writes the lower triangles of C and S. Each of its parts is one row.
type lowerJob struct {
	*likelihood
	h *ratios
}

func (j *lowerJob) Do(i, _ int) {
	values := j.factor.Row(i)[:i+1]
	set := simd.For[float64]()
	set.SqDistRows(values, j.scaled.Row(i), j.scaled.Data, j.scaled.Stride)
	if j.h.stretched {
		set.DotRows(j.inner.Row(i)[:i+1], j.scaled.Row(i), j.scaled.Data, j.scaled.Stride)
	}
	j.h.fill(values, j.slopes.Row(i)[:i+1], j.inner.Row(i))
	values[i] += j.noise(j.h, i)
}

// gradient returns the derivatives of −log p by log g and log a after at, and writes
// those by the logarithms of the columns' length scales.
func (l *likelihood) gradient(columns []float64, h *ratios, v float64) (noise, linear float64) {
	team, set := linalg.TeamOf(l.ctx), simd.For[float64]()
	invertFactored(team, l.inverse, l.factor)
	team.Run(l.rows.Rows, &weightJob{l, v})
	linalg.MirrorLower(l.slopes)
	for i := range l.totals {
		l.totals[i] = set.Sum(l.slopes.Row(i))
	}
	if h.stretched {
		linalg.MirrorLower(l.inverse)
		for i := range l.rows.Rows {
			set.Axpy(l.slopes.Row(i), l.inverse.Row(i), h.linear)
		}
	}
	linalg.Gemm(team, l.products, 1, l.slopes, linalg.NoTrans, l.scaled, linalg.NoTrans, 0)
	clear(columns)
	for i := range l.rows.Rows {
		for j, z := range l.scaled.Row(i) {
			columns[j] += z * (z*l.totals[i] - l.products.At(i, j))
		}
	}
	return h.noise * set.Sum(l.noiseSums) / 2, h.linear * set.Sum(l.linearSums) / 2
}

// weightJob computes the lower triangle of W, turns that of S into that of G, and sums up
// what the derivatives by log g and log a need. Each of its parts is one row.
type weightJob struct {
	*likelihood
	v float64
}

func (j *weightJob) Do(i, _ int) {
	set, w, slopes := simd.For[float64](), j.inverse.Row(i)[:i+1], j.slopes.Row(i)[:i+1]
	set.Axpy(w, j.alpha, -j.alpha[i]/j.v)
	j.noiseSums[i] = w[i] * j.noises[i]
	if j.known != nil {
		j.knownSums[i] = w[i] * j.known[i]
	}
	j.linearSums[i] = 2*set.Dot(w, j.inner.Row(i)) - w[i]*j.inner.At(i, i)
	set.Mul(slopes, slopes, w)
}

// invertFactored writes L^{-T}·L^{-1} to dst. Row i of L^{-1} has i+1 numbers, so a
// block of rows contributes to the leading part of the product only.
func invertFactored(team *linalg.Team, dst, inverseFactor matrix.Dense[float64]) {
	const block = 128
	clear(dst.Data)
	for from := 0; from < dst.Rows; from += block {
		to := min(from+block, dst.Rows)
		linalg.Syrk(team, dst.Block(0, to, 0, to), 1, inverseFactor.Block(from, to, 0, to), linalg.Trans, 1)
	}
}
