package nextbatch

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/network"
)

// Model is a trained network as a Problem needs it: it embeds blocks of rows. Models
// returns those of package network. Others may keep their parameters elsewhere, such as
// on a GPU, or come from another framework; one that has only features implements kernel.Taps with a single layer, whose input is the
// features, and serves the kernel ll.
//
// Select, Features, Gram and Plane call it from the goroutine that called them. They
// ask for taps once per kernel, not once per block, and use each from one goroutine
// at a time until they return. The model must not change in the meantime. The same
// rows must give the same bits, in whatever blocks they come.
type Model interface {
	// Inputs is how many columns a row has.
	Inputs() int
	// Taps returns taps for blocks of at most kernel.BlockRows rows, with memory of
	// their own: taps of the same model may be in use at the same time.
	Taps() kernel.Taps[float32]
	// Infinite describes the same network at infinite width, for the kernels nngp
	// and ntk, which use nothing else of a model.
	Infinite() kernel.InfiniteNetwork
}

// Models returns the networks of an ensemble as models. The kernel of a network with
// several outputs is the sum of the kernels of its outputs, each times its weight.
// Without weights, all are 1.
func Models(e network.Ensemble, weights ...float64) []Model {
	models := make([]Model, len(e))
	for i, net := range e {
		models[i] = perceptron{net, weights}
	}
	return models
}

// perceptron is a network of package network.
type perceptron struct {
	net     *network.MLP
	weights []float64 // of its outputs; nil means 1 for each
}

func (p perceptron) Inputs() int { return p.net.Inputs() }

func (p perceptron) Taps() kernel.Taps[float32] {
	return network.NewTaps(p.net, kernel.BlockRows, p.weights)
}

// Infinite has no σ_b: biases start at zero.
func (p perceptron) Infinite() kernel.InfiniteNetwork {
	a := p.net.Architecture()
	w := kernel.InfiniteNetwork{Inputs: p.net.Inputs(), Layers: p.net.Layers(), SigmaW: a.SigmaW}
	if a.Activation != network.ReLU {
		w.Activation = a.Activation.At
	}
	return w
}
