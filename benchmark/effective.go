package benchmark

// Effective dimension of the kernel that picks (paper, section "Results"),
//
//	d_eff = tr K / ‖K‖₂,  K = k(X, X),
//
// for a sample X of the pool: all of it would cost more than the selection itself.
// The published code, which compat follows, centres the features first: H·K·H in
// place of K, where H subtracts from each vector its mean.

import (
	"context"
	"errors"
	"math"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// sampleRows is the size of the sample: the first rows of the pool, whose order
// is random.
const sampleRows = 512

func effectiveDimension(ctx context.Context, spec spec.Spec, p nextbatch.Problem) (float64, error) {
	rows := p.Pool.Slice(0, min(sampleRows, p.Pool.Rows))
	gram, err := nextbatch.Gram(ctx, spec, p, rows, rows)
	if err != nil {
		return math.NaN(), err
	}
	k := gram.Double
	if k.Rows == 0 {
		k = matrix.Converted[float64](gram.Single)
	}
	d := dimension(k, spec.Compat)
	if math.IsNaN(d) {
		return d, errors.New("the kernel is the same for all rows of a sample of the pool")
	}
	return d, nil
}

// dimension returns tr K / ‖K‖₂ of a positive semi-definite matrix, NaN if it is
// zero.
func dimension(gram matrix.Dense[float64], centred bool) float64 {
	trace, sum := 0.0, 0.0
	for i := range gram.Rows {
		trace += gram.At(i, i)
		for _, v := range gram.Row(i) {
			sum += v
		}
	}
	if centred {
		trace -= sum / float64(gram.Rows)
	}
	top := largestEigenvalue(gram, centred)
	if !(trace > 0 && top > 0) {
		return math.NaN()
	}
	return trace / top
}

// largestEigenvalue uses power iteration: the estimate rises with every step, and
// has converged when it no longer does.
func largestEigenvalue(gram matrix.Dense[float64], centred bool) float64 {
	const steps, tolerance = 1000, 1e-9
	set := simd.For[float64]()
	v, next := make([]float64, gram.Rows), make([]float64, gram.Rows)
	copy(v, gram.Row(0)) // orthogonal to the eigenvector only if the first row is
	value := 0.0
	for range steps {
		if centred {
			centre(v)
		}
		length := math.Sqrt(set.Dot(v, v))
		if !(length > 0) {
			return value
		}
		for i := range v {
			v[i] /= length
		}
		for i := range next {
			next[i] = set.Dot(gram.Row(i), v)
		}
		estimate := set.Dot(v, next)
		v, next = next, v
		if estimate <= value*(1+tolerance) {
			return max(estimate, value)
		}
		value = estimate
	}
	return value
}

func centre(v []float64) {
	mean := 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for i := range v {
		v[i] -= mean
	}
}
