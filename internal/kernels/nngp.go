package kernels

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewNNGP returns the NNGP kernel: the covariance of the outputs of an
// infinite-width network at initialisation (paper, appendix "NNGP Kernel"):
//
//	k_nngp = k_L,   k_{l+1}(x, x') = σ_w²·E[φ(u)·φ(v)] + σ_b²
//
// with k_1 and (u, v) as in infinite_network.go. It has infinitely many
// features.
func NewNNGP[T matrix.Float](n kernel.InfiniteNetwork) (kernel.Kernel[T], error) {
	return newInfinite[T](n, false)
}
