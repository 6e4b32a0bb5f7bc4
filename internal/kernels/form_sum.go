package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Sum is k_1 + … + k_n (paper, equation "sum_sketch"). Its features are those of
// the terms side by side.
type Sum[T matrix.Float] struct {
	Terms   []Form[T]
	scratch Scratch[T]
}

// NewSum returns the sum of the terms.
func NewSum[T matrix.Float](terms ...Form[T]) *Sum[T] { return &Sum[T]{Terms: terms} }

// Parts counts the parts of all terms.
func (s *Sum[T]) Parts() int { return countParts(s.Terms) }

// Diag adds up the diagonals.
func (s *Sum[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	return foldDiag(ctx, add, s.Terms, dst, rows, &s.scratch)
}

// Cross adds up the terms.
func (s *Sum[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	return foldCross(ctx, add, s.Terms, dst, a, b, &s.scratch)
}

// Dim adds up the dimensions of the terms.
func (s *Sum[T]) Dim(widths []int) int {
	sum := 0
	for _, f := range s.Terms {
		dim := f.Dim(widths[:f.Parts()])
		if dim == Infinite {
			return Infinite
		}
		sum += dim
		widths = widths[f.Parts():]
	}
	return sum
}

// Features writes the features of the terms side by side.
func (s *Sum[T]) Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	from := 0
	for _, f := range s.Terms {
		own := rows[:f.Parts()]
		to := from + f.Dim(partWidths(own))
		if err := f.Features(ctx, dst.Block(0, dst.Rows, from, to), own); err != nil {
			return err
		}
		from, rows = to, rows[f.Parts():]
	}
	return nil
}
