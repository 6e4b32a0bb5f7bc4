package kernel

// Laplace kernel: k(x, x') = exp(−γ·‖x − x'‖). It has infinitely many features.
// The distance is computed from differences, so that for equal rows it is
// exactly 0 and the kernel exactly 1.

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewLaplace returns the Laplace kernel with rate γ on rows of the given width.
func NewLaplace[T matrix.Float](inputs int, rate float64) (Kernel[T], error) {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return nil, fmt.Errorf("the rate of the Laplace kernel is %v, but must be positive and finite", rate)
	}
	return Compose[T](identity[T]{width: inputs}, laplace[T]{rate: T(rate)}), nil
}

type laplace[T matrix.Float] struct {
	NoFeatures[T]
	rate T
}

func (k laplace[T]) Parts() int { return 1 }

func (k laplace[T]) Diag(ctx context.Context, dst []T, _ []matrix.Dense[T]) error {
	for i := range dst {
		dst[i] = 1
	}
	return nil
}

func (k laplace[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if b[0].Rows > 0 {
		linalg.TeamOf(ctx).Run(dst.Rows, &laplaceJob[T]{dst, a[0], b[0], k.rate})
	}
	return nil
}

// laplaceJob computes rows of a cross matrix. Its parts are rows.
type laplaceJob[T matrix.Float] struct {
	dst, a, b matrix.Dense[T]
	rate      T
}

func (j *laplaceJob[T]) Do(i, _ int) {
	set, dst := simd.For[T](), j.dst.Row(i)
	set.SqDistRows(dst, j.a.Row(i), j.b.Data, j.b.Stride)
	for k, d := range dst {
		dst[k] = -j.rate * T(math.Sqrt(float64(d)))
	}
	set.Exp(dst, dst)
}
