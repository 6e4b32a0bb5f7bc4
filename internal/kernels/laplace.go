package kernels

// Laplace kernel: k(x, x') = exp(−γ·‖x − x'‖).

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewLaplace returns the Laplace kernel with rate γ on rows of the given width.
func NewLaplace[T matrix.Float](inputs int, rate float64) (kernel.Kernel[T], error) {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return nil, fmt.Errorf("the rate of the Laplace kernel is %v, but must be positive and finite", rate)
	}
	return Compose[T](identity[T]{width: inputs}, radial[T]{atZero: 1, rate: rate, freedom: 1,
		values: func(set *simd.Set[T], squared []T) {
			for k, d := range squared {
				squared[k] = -T(rate) * T(math.Sqrt(float64(d)))
			}
			set.Exp(squared, squared)
		}}), nil
}
