package transform

// Scaling (paper, section "Scaling"):
//
//	k_{→scale}(x, x') = λ²·k(x, x'),   λ = (mean of k(x, x) over the training rows)^{-1/2}
//
// so that the mean prior variance of the training rows is 1, like the variance of
// the standardised labels.

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Scale returns λ²·k and the λ that it computed. The result is a
// kernel.FeatureMap if k is one. A kernel that is zero on all training rows is a
// *DegenerateError.
func Scale[T matrix.Float](ctx context.Context, k kernel.Kernel[T],
	train matrix.Dense[T]) (kernel.Kernel[T], float64, error) {
	const op = "scale"
	if err := checkRows(op, train.Rows); err != nil {
		return nil, 0, err
	}
	diag := make([]T, train.Rows)
	if err := k.Diag(ctx, diag, train); err != nil {
		return nil, 0, wrap(op, err)
	}
	sum := 0.0
	for _, v := range diag {
		sum += float64(v)
	}
	lambda, err := normalising(op, sum/float64(train.Rows))
	if err != nil {
		return nil, 0, err
	}
	scaled, err := ScaleBy(k, lambda)
	return scaled, lambda, err
}

// ScaleBy returns λ²·k for a given λ > 0. The result is a kernel.FeatureMap if k
// is one.
func ScaleBy[T matrix.Float](k kernel.Kernel[T], lambda float64) (kernel.Kernel[T], error) {
	if err := checkPositive("scale", "the factor", lambda); err != nil {
		return nil, err
	}
	e, f := kernels.Decompose(k)
	return kernels.Compose[T](e, kernels.Scaled[T]{Of: f, Factor: lambda * lambda}), nil
}

// normalising returns mean^{-1/2}.
func normalising(op string, mean float64) (float64, error) {
	lambda := 1 / math.Sqrt(mean)
	if square := lambda * lambda; !(square > 0) || math.IsInf(square, 1) {
		return 0, &DegenerateError{Op: op, Mean: mean}
	}
	return lambda, nil
}
