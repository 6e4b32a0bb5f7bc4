package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Kernel is a symmetric positive semi-definite function k(x, x') of two rows of
// inputs.
//
// A kernel keeps scratch and uses the threads that the context grants by itself:
// it belongs to one goroutine at a time. The context of a call serves for that
// alone, unless a kernel does long work of its own: the caller checks whether it
// has ended once per block of rows. Matrices belong to the caller, and no
// kernel keeps one after a call. How rows are cut into calls does not matter for
// Diag and Cross, but for rounding: a Cross with a single row in a takes a
// faster path, which may round differently. The number of threads never
// matters.
type Kernel[T matrix.Float] interface {
	// Inputs is the width of a row.
	Inputs() int
	// Diag writes k(x, x) of each row to dst.
	Diag(ctx context.Context, dst []T, rows matrix.Dense[T]) error
	// Cross writes k of row i of a and row j of b to element i, j of dst.
	Cross(ctx context.Context, dst, a, b matrix.Dense[T]) error
}

// FeatureMap is a Kernel with finitely many features:
// k(x, x') = ⟨φ(x), φ(x')⟩.
type FeatureMap[T matrix.Float] interface {
	Kernel[T]
	// Dim is the number of features. It can be large: that of the gradient
	// kernel is the number of the network's parameters.
	Dim() int
	// Features writes φ of row i to row i of dst, which has Dim columns. It
	// works in blocks of rows, so that dst is the only large thing in memory.
	// How rows are cut into calls does not matter, not even for rounding.
	Features(ctx context.Context, dst, rows matrix.Dense[T]) error
}
