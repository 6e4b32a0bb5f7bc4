package kernels

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// Scaled is c·k with c ≥ 0. Its features are √c·φ.
type Scaled[T matrix.Float] struct {
	Of     Form[T]
	Factor float64 // c
}

// Parts counts the parts of the unscaled kernel.
func (s Scaled[T]) Parts() int { return s.Of.Parts() }

// Diag scales the diagonal.
func (s Scaled[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	if err := s.Of.Diag(ctx, dst, rows); err != nil {
		return err
	}
	for i := range dst {
		dst[i] *= T(s.Factor)
	}
	return nil
}

// Cross scales the kernel.
func (s Scaled[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if err := s.Of.Cross(ctx, dst, a, b); err != nil {
		return err
	}
	scale(ctx, dst, T(s.Factor))
	return nil
}

// Dim is the dimension of the unscaled kernel.
func (s Scaled[T]) Dim(widths []int) int { return s.Of.Dim(widths) }

// Features scales the features.
func (s Scaled[T]) Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	if err := s.Of.Features(ctx, dst, rows); err != nil {
		return err
	}
	scale(ctx, dst, s.root())
	return nil
}

func (s Scaled[T]) root() T { return T(math.Sqrt(s.Factor)) }
