package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Form computes a kernel from embedded rows. A form reads the first Parts of the
// parts that it is given: a form that is made of others hands them consecutive
// parts. The caller owns all matrices; dst overlaps none of them.
type Form[T matrix.Float] interface {
	// Parts is the number of parts that the form reads.
	Parts() int
	// Diag writes the kernel of each row with itself to dst.
	Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error
	// Cross writes the kernel of row i of a and row j of b to element i, j of
	// dst.
	Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error
	// Dim is the number of features for parts of the given widths, or Infinite.
	Dim(widths []int) int
	// Features writes the features, if there are finitely many of them.
	Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error
}

// Infinite is the Dim of a form without a finite feature map.
const Infinite = -1

// NoFeatures provides Dim and Features for a form that has no finite feature map.
// Embed it in such a form.
type NoFeatures[T matrix.Float] struct{}

// Dim returns Infinite.
func (NoFeatures[T]) Dim([]int) int { return Infinite }

// Features panics: the caller did not check Dim.
func (NoFeatures[T]) Features(context.Context, matrix.Dense[T], []matrix.Dense[T]) error {
	panic("kernel: features of a kernel that has infinitely many")
}
