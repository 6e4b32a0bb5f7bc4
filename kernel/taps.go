package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Taps is what the gradient kernels need of a network: what its layers saw and
// what they passed back. Layers count from 0 to L−1.
type Taps[T matrix.Float] interface {
	// Sizes are the widths d_0 … d_L from the input of the network to the
	// output.
	Sizes() []int
	// Block runs at most BlockRows rows through the network and returns two
	// matrices for each layer from first on, with a row for each row of inputs:
	//
	//	in    x̃ = [(σ_w/√d)·x, σ_b], the input of the layer with the factor of
	//	      its weights, and that of its bias as a last column
	//	grad  g = ∂output/∂z, z what the layer computes; none for the last
	//	      layer, where it is 1
	//
	// They belong to the taps, which may write over them at the next call.
	Block(ctx context.Context, rows matrix.Dense[T], first int) (in, grad []matrix.Dense[T])
}
