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
	"github.com/nextbatch/nextbatch/internal/linalg"
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
	top := linalg.LargestEigenvalue(gram, centred)
	if !(trace > 0 && top > 0) {
		return math.NaN()
	}
	return trace / top
}
