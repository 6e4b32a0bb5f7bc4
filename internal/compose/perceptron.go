package compose

import (
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/network"
)

// Perceptron is a network of package network as a model of a problem.
type Perceptron struct {
	Net     *network.MLP
	Weights []float64 // of its outputs; nil means 1 for each
}

// Inputs is how many columns a row has.
func (p Perceptron) Inputs() int { return p.Net.Inputs() }

// Taps returns taps for blocks of rows.
func (p Perceptron) Taps() kernel.Taps[float32] {
	return network.NewTaps(p.Net, kernel.BlockRows, p.Weights)
}

// Infinite describes the network at infinite width. It has no σ_b: biases start at zero.
func (p Perceptron) Infinite() kernel.InfiniteNetwork {
	a := p.Net.Architecture()
	w := kernel.InfiniteNetwork{Inputs: p.Net.Inputs(), Layers: p.Net.Layers(), SigmaW: a.SigmaW}
	if a.Activation != network.ReLU {
		w.Activation = a.Activation.At
	}
	return w
}
