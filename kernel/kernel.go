package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Kernel is a symmetric positive semi-definite function k(x, x') of two rows of
// inputs.
//
// A kernel keeps scratch memory and spreads its work over the threads that the
// context grants, so only one goroutine may use it at a time. The context of a
// call carries just those threads, unless a kernel does long work of its own:
// the caller checks for cancellation once per block of rows. Matrices belong to
// the caller, and no kernel keeps one after a call. Diag and Cross give the same
// results however rows are split into calls, except for rounding: a Cross with a
// single row in a takes a faster path, which may round differently. The number
// of threads never changes a result.
type Kernel[T matrix.Float] interface {
	// Inputs is the width of a row.
	Inputs() int
	// Diag writes k(x, x) of each row to dst.
	Diag(ctx context.Context, dst []T, rows matrix.Dense[T]) error
	// Cross writes k(row i of a, row j of b) to element i, j of dst.
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
	// The results are the same to the bit however rows are split into calls.
	Features(ctx context.Context, dst, rows matrix.Dense[T]) error
}

// Normals is a source of independent standard normal numbers. Kernels and their
// transformations draw from it only while they are constructed.
type Normals interface{ NormFloat64() float64 }
