package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Taps is what the gradient kernels need from a network: the input of each layer
// and the gradient that was propagated back to it. Layers count from 0 to L−1.
type Taps[T matrix.Float] interface {
	// Sizes are the widths d_0 … d_L from the input of the network to its
	// output.
	Sizes() []int
	// Block runs at most BlockRows rows through the network and returns two
	// matrices for each layer from first on, with one row per row of inputs:
	//
	//	in    x̃ = [(σ_w/√d)·x, σ_b], the input of the layer times the factor of
	//	      its weights, and the factor of its biases as the last column
	//	grad  g = ∂output/∂z, where z is what the layer computes; none for the
	//	      last layer, where it is 1
	//
	// They belong to the taps, which may overwrite them in the next call.
	Block(ctx context.Context, rows matrix.Dense[T], first int) (in, grad []matrix.Dense[T])
}
