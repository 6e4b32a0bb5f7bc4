package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Less is k_1 − k_2, for a k_2 that k_1 exceeds: a prior kernel less what is
// explained. It has no feature map that could be written down.
type Less[T matrix.Float] struct {
	NoFeatures[T]
	forms   []Form[T]
	scratch Scratch[T]
}

// NewLess returns from − what.
func NewLess[T matrix.Float](from, what Form[T]) *Less[T] {
	return &Less[T]{forms: []Form[T]{from, what}}
}

// Parts counts those of both.
func (l *Less[T]) Parts() int { return countParts(l.forms) }

// Diag writes the difference of the diagonals. Where the difference of two
// nearly equal numbers comes out below zero it is zero: a variance.
func (l *Less[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	if err := foldDiag(ctx, subtract, l.forms, dst, rows, &l.scratch); err != nil {
		return err
	}
	for i, v := range dst {
		dst[i] = max(v, 0)
	}
	return nil
}

// Cross writes the difference of the kernels.
func (l *Less[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	return foldCross(ctx, subtract, l.forms, dst, a, b, &l.scratch)
}
