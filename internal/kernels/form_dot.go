package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Dot is the inner product of one part: ⟨a, b⟩.
type Dot[T matrix.Float] struct{}

// Parts returns 1.
func (Dot[T]) Parts() int { return 1 }

// Diag writes the squared norms.
func (Dot[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	linalg.RowNorms(linalg.TeamOf(ctx), dst, rows[0])
	return nil
}

// Cross writes the inner products.
func (Dot[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if a[0].Rows == 1 {
		linalg.MulVec(linalg.TeamOf(ctx), dst.Row(0), b[0], a[0].Row(0))
	} else {
		linalg.Gemm(linalg.TeamOf(ctx), dst, 1, a[0], linalg.NoTrans, b[0], linalg.Trans, 0)
	}
	return nil
}

// Dim returns the width of the part.
func (Dot[T]) Dim(widths []int) int { return widths[0] }

// Features copies the part.
func (Dot[T]) Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	matrix.Copy(dst, rows[0])
	return nil
}

// One is a Dot whose part is a single column of ones: the kernel is 1. In a
// product it marks a factor that a sketch may leave out.
type One[T matrix.Float] struct{ Dot[T] }

func isOne[T matrix.Float](f Form[T]) bool {
	_, one := f.(One[T])
	return one
}
