package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Sum is k_1 + … + k_n (paper, equation "sum_sketch"). Its features are those of
// the terms side by side.
type Sum[T matrix.Float] struct{ Folded[T] }

// NewSum returns the sum of the terms.
func NewSum[T matrix.Float](terms ...Form[T]) *Sum[T] {
	return &Sum[T]{Folded[T]{Forms: terms, op: add}}
}

// Features writes the features of the terms side by side.
func (s *Sum[T]) Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	from := 0
	for _, f := range s.Forms {
		own := rows[:f.Parts()]
		to := from + f.Dim(partWidths(own))
		if err := f.Features(ctx, dst.Block(0, dst.Rows, from, to), own); err != nil {
			return err
		}
		from, rows = to, rows[f.Parts():]
	}
	return nil
}
