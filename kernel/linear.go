package kernel

// Linear kernel: k_lin(x, x') = ⟨x, x'⟩, φ_lin(x) = x
// (paper, section "Base Kernels").

import "github.com/nextbatch/nextbatch/matrix"

// NewLinear returns the linear kernel on rows of the given width. It is also the
// kernel of features that lie in a matrix already: of the rows of that matrix.
func NewLinear[T matrix.Float](inputs int) FeatureMap[T] {
	return Compose[T](identity[T]{width: inputs}, Dot[T]{}).(FeatureMap[T])
}

// IsLinear says whether k is the inner product of the rows themselves, so that
// these are its features.
func IsLinear[T matrix.Float](k Kernel[T]) bool {
	e, f := Decompose(k)
	_, asIs := e.(identity[T])
	_, dot := f.(Dot[T])
	return asIs && dot
}

// Unchecked returns m without the search for numbers that are not finite, if it is
// linear: for callers that find them in what they compute.
func Unchecked[T matrix.Float](m FeatureMap[T]) FeatureMap[T] {
	if !IsLinear[T](m) {
		return m
	}
	return Compose[T](identity[T]{width: m.Inputs(), checked: true}, Dot[T]{}).(FeatureMap[T])
}
