package kernels

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// IsLinear reports whether k is the inner product of the rows themselves, which
// are then its features.
func IsLinear[T matrix.Float](k kernel.Kernel[T]) bool {
	e, f := Decompose(k)
	_, asIs := e.(identity[T])
	_, dot := f.(Dot[T])
	return asIs && dot
}
