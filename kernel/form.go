package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Form computes a kernel from embedded rows. A form reads a number of parts, the
// first ones that it is given: forms that are made of others hand them
// consecutive parts. The caller owns all matrices; dst overlaps none of them.
type Form[T matrix.Float] interface {
	// Parts is the number of parts that the form reads.
	Parts() int
	// Diag writes the kernel of each row with itself to dst.
	Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error
	// Cross writes the kernel of row i of a and row j of b to element i, j.
	Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error
	// Dim is the number of features for parts of the given widths, or Infinite.
	Dim(widths []int) int
	// Features writes the features, if there are finitely many.
	Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error
}

// Infinite is the Dim of a form without a finite feature map.
const Infinite = -1

// NoFeatures gives a form that has no finite feature map the methods that say
// so.
type NoFeatures[T matrix.Float] struct{}

// Dim returns Infinite.
func (NoFeatures[T]) Dim([]int) int { return Infinite }

// Features panics: whoever calls it has not asked for Dim.
func (NoFeatures[T]) Features(context.Context, matrix.Dense[T], []matrix.Dense[T]) error {
	panic("kernel: features of a kernel that has infinitely many")
}
