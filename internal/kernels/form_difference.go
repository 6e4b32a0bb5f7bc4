package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// difference is k_1 − k_2, for k_2 ≤ k_1: a prior kernel minus what the data
// explain. It has no explicit feature map.
type difference[T matrix.Float] struct {
	NoFeatures[T]
	forms   []Form[T]
	scratch Scratch[T]
}

// NewDifference returns minuend − subtrahend.
func NewDifference[T matrix.Float](minuend, subtrahend Form[T]) *difference[T] {
	return &difference[T]{forms: []Form[T]{minuend, subtrahend}}
}

// Parts counts the parts of both forms.
func (d *difference[T]) Parts() int { return countParts(d.forms) }

// Diag writes the difference of the diagonals. Where the difference of two
// nearly equal numbers comes out below zero, it writes zero: the diagonal is a
// variance.
func (d *difference[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	if err := foldDiag(ctx, subtract, d.forms, dst, rows, &d.scratch); err != nil {
		return err
	}
	for i, v := range dst {
		dst[i] = max(v, 0)
	}
	return nil
}

// Cross writes the difference of the kernels.
func (d *difference[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	return foldCross(ctx, subtract, d.forms, dst, a, b, &d.scratch)
}
