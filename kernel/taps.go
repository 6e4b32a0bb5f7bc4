package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Taps is what the gradient kernels need from a network: the input of each layer
// and the gradient that was propagated back to it. Layers count from 0 to L−1.
type Taps[T matrix.Float] interface {
	// Inputs is the width of a row.
	Inputs() int
	// Widths are the widths of in and grad, which Block returns, for each layer
	// that has parameters. There is at least one. That of grad is 0 for the last
	// layer, where g is 1, or a factor that x̃ already has.
	Widths() (in, grad []int)
	// Block runs at most BlockRows rows through the network and returns two
	// matrices for each layer from first on, with one row per row of inputs:
	//
	//	in    x̃ = [(σ_w/√d)·x, σ_b], the input of the layer times the factor of
	//	      its weights, and the factor of its biases as the last column
	//	grad  g = ∂output/∂z, where z is what the layer computes; none for a
	//	      layer where its width is 0
	//
	// A network with several outputs has the gradients of all of them side by
	// side in g, each times the root of its output's weight.
	//
	// They belong to the taps, which may overwrite them in the next call.
	Block(ctx context.Context, rows matrix.Dense[T], first int) (in, grad []matrix.Dense[T])
}

// InfiniteNetwork describes an infinite-width network.
type InfiniteNetwork struct {
	Inputs         int     // the width of a row, d
	Layers         int     // linear layers, including the output layer: L
	SigmaW, SigmaB float64 // factors of weights and biases; SigmaB is 0 if biases start at zero
	// Activation is nil for ReLU, whose expectations have a closed form. The
	// expectations of other functions are computed by Gauss–Hermite quadrature.
	Activation Activation
}

// Activation returns the value and the slope of an activation function at z.
type Activation func(z float64) (value, slope float64)
