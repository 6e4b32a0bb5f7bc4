package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// difference is k_1 − k_2, for k_2 ≤ k_1: a prior kernel minus what the data
// explain. It has no explicit feature map.
type difference[T matrix.Float] struct {
	Folded[T]
	NoFeatures[T]
}

// NewDifference returns minuend − subtrahend.
func NewDifference[T matrix.Float](minuend, subtrahend Form[T]) *difference[T] {
	return &difference[T]{Folded: Folded[T]{Forms: []Form[T]{minuend, subtrahend}, op: subtract}}
}

// Dim returns Infinite.
func (d *difference[T]) Dim(widths []int) int { return d.NoFeatures.Dim(widths) }

// Diag writes the difference of the diagonals. Where the difference of two
// nearly equal numbers comes out below zero, it writes zero: the diagonal is a
// variance.
func (d *difference[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	if err := d.Folded.Diag(ctx, dst, rows); err != nil {
		return err
	}
	for i, v := range dst {
		dst[i] = max(v, 0)
	}
	return nil
}
