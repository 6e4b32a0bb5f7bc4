package kernel

// Length scales by marginal likelihood. The labels y of n rows, minus their mean, are
// taken to be normal with the covariance v·C, C = F + g·I: F is the stationary
// kernel of variance 1, g the variance of the noise over that of the signal. The
// best v is yᵀC^{-1}y/n, and what is left to minimise is
//
//	f(ℓ, g) = ½·(n·log v + log det C)
//
// With α = C^{-1}y and W = C^{-1} − α·αᵀ/v, its gradient is
//
//	∂f/∂log g   = ½·g·tr W
//	∂f/∂log ℓ_j = ½·Σ_ik W_ik·S_ik·((x_ij − x_kj)/ℓ_j)²
//
// where S = −2·dF/d(r²), which is exp(−r²/2) for the RBF kernel and
// (5/3)·(1 + √5·r)·exp(−√5·r) for Matérn-5/2. All of it is computed in float64.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/minimise"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Bounds of the length scales, in standard deviations of their inputs, and of g.
const (
	leastLength, mostLength = 1e-2, 1e3
	leastNoise, mostNoise   = 1e-6, 1e2
)

// ownLengths is how many labels per input it takes to fit a length scale for each
// input. With fewer, all inputs have the same one, in their standard deviations.
const ownLengths = 4

// FitStationary finds the kernel of the given shape under which the labels of the
// rows are most likely, and the variance of their noise. The work is cubic in the
// number of rows. The context is checked once per evaluation of the likelihood.
func FitStationary(ctx context.Context, shape Shape, rows matrix.Dense[float64], labels []float64) (Stationary, float64, error) {
	if len(labels) != rows.Rows {
		return Stationary{}, 0, fmt.Errorf("%d labels for %d rows", len(labels), rows.Rows)
	}
	if err := CheckRows(ctx, rows, rows.Cols); err != nil {
		return Stationary{}, 0, err
	}
	l, err := newLikelihood(ctx, shape, rows, labels)
	if err != nil {
		return Stationary{}, 0, err
	}
	best, err := l.search()
	if err != nil {
		return Stationary{}, 0, err
	}
	signal, err := l.at(best)
	if err != nil {
		return Stationary{}, 0, err
	}
	fitted := Stationary{Shape: shape, Variance: signal, Lengths: make([]float64, rows.Cols)}
	for j, deviation := range l.deviations {
		fitted.Lengths[j] = deviation * l.length(best, j)
	}
	return fitted, signal * noiseOf(best), nil
}

// likelihood evaluates f. Its variables are unbounded numbers, which boundedIn maps
// into the bounds: one for the noise, then one for each length scale that is fitted.
type likelihood struct {
	ctx        context.Context
	shape      Shape
	rows       matrix.Dense[float64] // over deviations
	deviations []float64             // of the inputs
	labels     []float64             // minus their mean

	scaled           matrix.Dense[float64] // rows over length scales
	slopes           matrix.Dense[float64] // S
	factor, products matrix.Dense[float64] // C and then its factor; S∘W times rows
	alpha            []float64
}

func newLikelihood(ctx context.Context, shape Shape, rows matrix.Dense[float64], labels []float64) (*likelihood, error) {
	mean, spread := meanAndDeviation(len(labels), func(i int) float64 { return labels[i] })
	if !(spread > 0) || math.IsInf(spread, 1) {
		return nil, errors.New("the length scales follow from how the labels vary, and these labels do not vary")
	}
	n := rows.Rows
	l := &likelihood{ctx: ctx, shape: shape, rows: rows.Clone(), deviations: make([]float64, rows.Cols), labels: make([]float64, n),
		scaled: matrix.New[float64](n, rows.Cols), slopes: matrix.New[float64](n, n),
		factor: matrix.New[float64](n, n), products: matrix.New[float64](n, rows.Cols), alpha: make([]float64, n)}
	for i, y := range labels {
		l.labels[i] = y - mean
	}
	for j := range rows.Cols {
		_, l.deviations[j] = meanAndDeviation(n, func(i int) float64 { return rows.At(i, j) })
		if l.deviations[j] == 0 {
			l.deviations[j] = 1 // the column is constant, and any length will do
		}
		for i := range n {
			l.rows.Row(i)[j] /= l.deviations[j]
		}
	}
	return l, nil
}

func meanAndDeviation(n int, at func(i int) float64) (mean, deviation float64) {
	for i := range n {
		mean += at(i) / float64(n)
	}
	square := 0.0
	for i := range n {
		square += (at(i) - mean) * (at(i) - mean) / float64(n)
	}
	return mean, math.Sqrt(square)
}

// variables is how many numbers are fitted.
func (l *likelihood) variables() int {
	if len(l.labels) < ownLengths*l.rows.Cols {
		return 2
	}
	return 1 + l.rows.Cols
}

func noiseOf(u []float64) float64 {
	noise, _ := boundedIn(leastNoise, mostNoise, u[0])
	return noise
}

// length is the length scale of an input, in its standard deviations.
func (l *likelihood) length(u []float64, input int) float64 {
	length, _ := boundedIn(leastLength, mostLength, u[min(1+input, len(u)-1)])
	return length
}

// boundedIn maps all numbers into an interval, evenly in its logarithm, and returns
// the slope of that logarithm.
func boundedIn(least, most, u float64) (v, slope float64) {
	width, s := math.Log(most/least), 1/(1+math.Exp(-u))
	return least * math.Exp(width*s), width * s * (1 - s)
}

// unbounded is the inverse of boundedIn.
func unbounded(least, most, v float64) float64 {
	s := math.Log(v/least) / math.Log(most/least)
	return math.Log(s / (1 - s))
}

// at computes the factorisation for the variables u and returns the variance v of
// the signal. Afterwards factor holds L^{-1} of C = L·Lᵀ, and alpha C^{-1}y.
func (l *likelihood) at(u []float64) (v float64, err error) {
	if l.ctx.Err() != nil {
		return 0, l.ctx.Err()
	}
	team := linalg.TeamOf(l.ctx)
	for i := range l.rows.Rows {
		for j, x := range l.rows.Row(i) {
			l.scaled.Row(i)[j] = x / l.length(u, j)
		}
	}
	team.Run(l.rows.Rows, &covarianceJob{l, noiseOf(u)})
	if err := linalg.Cholesky(team, l.factor); err != nil {
		return 0, err
	}
	if err := linalg.InvertLower(team, l.factor); err != nil {
		return 0, err
	}
	half := make([]float64, len(l.labels))
	linalg.MulVec(team, half, l.factor, l.labels)
	linalg.MulVecT(team, l.alpha, l.factor, half)
	return simd.For[float64]().SumSquares(half) / float64(len(l.labels)), nil
}

// covarianceJob writes rows of C and S. Each of its parts is one row.
type covarianceJob struct {
	*likelihood
	noise float64
}

func (j *covarianceJob) Do(i, _ int) {
	set, values, slopes := simd.For[float64](), j.factor.Row(i), j.slopes.Row(i)
	set.SqDistRows(values, j.scaled.Row(i), j.scaled.Data, j.scaled.Stride)
	if j.shape == RBF {
		gaussian(set, values)
		copy(slopes, values)
	} else {
		for k, s := range values {
			r := math.Sqrt(5 * min(s, farAway))
			slopes[k] = 5. / 3 * (1 + r) * math.Exp(-r)
		}
		matern52(set, values)
	}
	values[i] += j.noise
}

// evaluate returns f and writes its gradient.
func (l *likelihood) evaluate(gradient, u []float64) (f float64, err error) {
	v, err := l.at(u)
	if err != nil {
		return 0, err
	}
	f = float64(len(l.labels)) * math.Log(v) / 2
	for i := range l.factor.Rows {
		f -= math.Log(l.factor.At(i, i)) // of L^{-1}
	}
	l.slope(gradient, u, v)
	return f, nil
}

// slope writes the gradient after at.
func (l *likelihood) slope(gradient, u []float64, v float64) {
	team, n := linalg.TeamOf(l.ctx), len(l.labels)
	inverse := matrix.New[float64](n, n) // C^{-1} = L^{-T}·L^{-1}, then S∘W
	linalg.Syrk(team, inverse, 1, l.factor, linalg.Trans, 0)
	linalg.MirrorLower(inverse)
	clear(gradient)
	noise, slope := boundedIn(leastNoise, mostNoise, u[0])
	for i := range n {
		w, s := inverse.Row(i), l.slopes.Row(i)
		for k := range w {
			w[k] -= l.alpha[i] * l.alpha[k] / v
			if k == i {
				gradient[0] += noise * w[k] / 2 * slope
			}
			w[k] *= s[k]
		}
	}
	// ½·Σ_ik G_ik·(z_ij − z_kj)² = Σ_i z_ij²·Σ_k G_ik − Σ_i z_ij·(G·z)_ij
	linalg.Gemm(team, l.products, 1, inverse, linalg.NoTrans, l.scaled, linalg.NoTrans, 0)
	for i := range n {
		total := 0.0
		for _, g := range inverse.Row(i) {
			total += g
		}
		for j, z := range l.scaled.Row(i) {
			at := min(1+j, len(u)-1)
			_, slope := boundedIn(leastLength, mostLength, u[at])
			gradient[at] += z * (z*total - l.products.At(i, j)) * slope
		}
	}
}

// search minimises f from the best of a few starts in which all inputs have the same
// length scale.
func (l *likelihood) search() ([]float64, error) {
	var best []float64
	least, gradient := math.Inf(1), make([]float64, l.variables())
	for _, noise := range []float64{1e-3, 1e-1} {
		for _, length := range []float64{0.5, 1, 2, 4} {
			u := make([]float64, len(gradient))
			u[0] = unbounded(leastNoise, mostNoise, noise)
			for j := range u[1:] {
				u[1+j] = unbounded(leastLength, mostLength, length*math.Sqrt(float64(l.rows.Cols)))
			}
			f, err := l.evaluate(gradient, u)
			if err != nil {
				return nil, err
			}
			if f < least {
				best, least = u, f
			}
		}
	}
	return minimise.BFGS(l.evaluate, best)
}
