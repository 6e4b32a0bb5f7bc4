package gp

// The covariance of standardised labels is v·C, where
//
//	C = F + a·X·Xᵀ + c·1·1ᵀ + g·D + N/v   or   F + a·Z·Zᵀ + c·1·1ᵀ + g·D + N/v
//
// F is the stationary kernel of variance 1 of the rows over their length scales, X the
// rows in units of their deviations, Z those over their length scales, a the variance of
// a slope, c that of the constant and g that of the noise, each over the variance v of the
// signal; D is diagonal and holds 1 over the weights, and N the variances of noise that are
// known.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// constantRatio is c. It is not fitted: a constant that varies as much as the signal
// is one that the labels decide.
const constantRatio = 1

// farAway is a squared distance at which the kernels are 0. Larger ones are cut here,
// because their polynomial could overflow.
const farAway = 1e7

// ratios are the hyperparameters of C.
type ratios struct {
	shape         kernel.Shape
	noise, linear float64   // g and a
	stretched     bool      // Z instead of X
	lengths       []float64 // one per column, in its units
	signal        float64   // v, if some of the noise is known; otherwise the best one for C
}

// fill turns squared distances into elements of C without its noise, given the inner
// products of the rows. It writes S = −2·dF/d(r²) to slopes, unless that is nil.
func (h *ratios) fill(squared, slopes, inner []float64) {
	if h.shape == kernel.Matern52 {
		matern52(squared, slopes)
	} else {
		gaussian(squared, slopes)
	}
	simd.For[float64]().Axpy(squared, inner, h.linear)
	for k := range squared {
		squared[k] += constantRatio
	}
}

// variance is the element of C for a row of X or Z and itself, without noise.
func (h *ratios) variance(row []float64) float64 {
	return 1 + constantRatio + h.linear*simd.For[float64]().SumSquares(row)
}

// stretch returns rows over length scales.
func (h *ratios) stretch(rows matrix.Dense[float64]) matrix.Dense[float64] {
	dst := matrix.New[float64](rows.Rows, rows.Cols)
	h.stretchInto(dst, rows)
	return dst
}

func (h *ratios) stretchInto(dst, rows matrix.Dense[float64]) {
	for i := range rows.Rows {
		to := dst.Row(i)
		for j, x := range rows.Row(i) {
			to[j] = x / h.lengths[j]
		}
	}
}

func gaussian(squared, slopes []float64) {
	for i, s := range squared {
		squared[i] = -s / 2
	}
	simd.For[float64]().Exp(squared, squared)
	copy(slopes, squared)
}

// matern52 is (1 + r + r²/3)·exp(−r) with r² = 5·squared, and S = (5/3)·(1 + r)·exp(−r).
func matern52(squared, slopes []float64) {
	var buffer [256]float64
	for len(squared) > 0 {
		n := min(len(squared), len(buffer))
		roots, values := buffer[:n], squared[:n]
		for i, s := range values {
			roots[i] = math.Sqrt(5 * min(s, farAway))
			values[i] = -roots[i]
		}
		simd.For[float64]().Exp(values, values)
		if slopes != nil {
			for i, r := range roots {
				slopes[i] = 5. / 3 * (1 + r) * values[i]
			}
			slopes = slopes[n:]
		}
		for i, r := range roots {
			values[i] *= 1 + r*(1+r/3)
		}
		squared = squared[n:]
	}
}

// crossJob writes C between rows and those of a sample, without noise. Each of its parts
// is one row. If the rows are those of the sample, it writes the lower triangle.
type crossJob struct {
	dst           matrix.Dense[float64]
	h             *ratios
	rows, scaled  matrix.Dense[float64]
	known, others matrix.Dense[float64] // rows of the sample, and these over length scales
	triangle      bool
	inner         [][]float64 // scratch by slot
}

func newCrossJob(dst matrix.Dense[float64], h *ratios, known, others matrix.Dense[float64]) *crossJob {
	return &crossJob{dst: dst, h: h, known: known, others: others, inner: make([][]float64, linalg.Slots())}
}

// linear returns the rows of X or Z, and those of the sample.
func (j *crossJob) linear() (rows, known matrix.Dense[float64]) {
	if j.h.stretched {
		return j.scaled, j.others
	}
	return j.rows, j.known
}

func (j *crossJob) Do(i, slot int) {
	if j.inner[slot] == nil {
		j.inner[slot] = make([]float64, j.known.Rows)
	}
	values := j.dst.Row(i)
	if j.triangle {
		values = values[:i+1]
	}
	set, inner := simd.For[float64](), j.inner[slot][:len(values)]
	set.SqDistRows(values, j.scaled.Row(i), j.others.Data, j.others.Stride)
	rows, known := j.linear()
	set.DotRows(inner, rows.Row(i), known.Data, known.Stride)
	j.h.fill(values, nil, inner)
}
