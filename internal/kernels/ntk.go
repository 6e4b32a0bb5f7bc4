package kernels

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewNTK returns the neural tangent kernel: the infinite-width limit of the
// gradient kernel of a network at initialisation (paper, section "Infinite-width
// NNGP"; Jacot and others, 2018):
//
//	Θ_1 = k_1,   Θ_{l+1}(x, x') = k_{l+1}(x, x') + σ_w²·Θ_l(x, x')·E[φ'(u)·φ'(v)]
//
// with k_l and (u, v) as for NewNNGP. It has infinitely many features. SigmaB = 0
// leaves out the contribution of the gradients with respect to the biases, even
// for networks whose biases start at zero but are trained.
func NewNTK[T matrix.Float](n kernel.InfiniteNetwork) (kernel.Kernel[T], error) {
	return newInfinite[T](n, true)
}
