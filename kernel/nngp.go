package kernel

import "github.com/nextbatch/nextbatch/matrix"

// NewNNGP returns the covariance of the outputs of an infinitely wide network at
// its initialisation, the NNGP kernel (paper, appendix "NNGP Kernel"):
//
//	k_nngp = k_L,   k_{l+1}(x, x') = σ_w²·E[φ(u)·φ(v)] + σ_b²
//
// with k_1 and (u, v) as in wide.go. It has infinitely many features.
func NewNNGP[T matrix.Float](w Wide) (Kernel[T], error) { return newWide[T](w, false) }
