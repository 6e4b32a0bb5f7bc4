package kernel

import "github.com/nextbatch/nextbatch/matrix"

// NewNTK returns the neural tangent kernel: the limit of the gradient kernel of
// a network at its initialisation as it becomes infinitely wide (paper, section
// "Infinite-width NNGP"; Jacot and others, 2018):
//
//	Θ_1 = k_1,   Θ_{l+1}(x, x') = k_{l+1}(x, x') + σ_w²·Θ_l(x, x')·E[φ'(u)·φ'(v)]
//
// with k_l and (u, v) as for NewNNGP. It has infinitely many features. SigmaB = 0
// leaves out what the gradients by the biases add, also where the biases of a
// network start at zero and are trained all the same.
func NewNTK[T matrix.Float](w Wide) (Kernel[T], error) { return newWide[T](w, true) }
