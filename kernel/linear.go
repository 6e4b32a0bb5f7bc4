package kernel

// Linear kernel: k_lin(x, x') = ⟨x, x'⟩, φ_lin(x) = x
// (paper, section "Base Kernels").

import "github.com/nextbatch/nextbatch/matrix"

// NewLinear returns the linear kernel on rows of the given width. It is also the
// kernel of precomputed features: of the rows of the matrix that holds them.
func NewLinear[T matrix.Float](inputs int) FeatureMap[T] {
	return Compose[T](identity[T]{width: inputs}, Dot[T]{}).(FeatureMap[T])
}

// IsLinear reports whether k is the inner product of the rows themselves, which
// are then its features.
func IsLinear[T matrix.Float](k Kernel[T]) bool {
	e, f := Decompose(k)
	_, asIs := e.(identity[T])
	_, dot := f.(Dot[T])
	return asIs && dot
}
