package network

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// MLP is a fully-connected network in neural tangent parametrization (paper,
// equation "fcnn"). Layer l = 1 … L takes the d_{l-1} numbers of the row
// x^(l-1) to the d_l numbers
//
//	z^(l) = (σ_w/√d_{l-1})·x^(l-1)·W^(l) + σ_b·b^(l),   x^(l) = φ(z^(l)),
//
// and z^(L) is the output. With x̃ = [(σ_w/√d)·x, σ_b] and W̃, the weights with
// the bias as a last row, that is z = x̃·W̃; this is how it is computed.
type MLP struct {
	architecture Architecture
	sizes        []int // d_0 … d_L

	// parameters holds W̃ of each layer, one after the other, each from a
	// multiple of alignment on. The gaps are zero and stay zero.
	parameters []Real
	offsets    []int // of each layer, and the length as the last one
}

// alignment of a layer among the parameters and of a row of a buffer, in
// elements: a multiple of the longest vector registers.
const alignment = 16

// NewMLP returns a network with the paper's initialisation: independent standard
// normal weights and zero biases. The seed and the number of the ensemble member
// name the stream that the weights are drawn from, layer by layer.
func NewMLP(inputs int, a Architecture, seed uint64, member int) (*MLP, error) {
	m, err := newZero(inputs, a)
	if err != nil {
		return nil, err
	}
	stream := rng.New(seed, "network init", uint64(member))
	for l := range m.Layers() {
		rng.FillNormal(stream, m.Weights(l).Data)
	}
	return m, nil
}

// newZero returns a network whose parameters are all zero.
func newZero(inputs int, a Architecture) (*MLP, error) {
	a = a.withDefaults()
	if err := a.check(); err != nil {
		return nil, err
	}
	if inputs <= 0 || inputs > maxWidth {
		return nil, fmt.Errorf("the network has %d inputs", inputs)
	}
	a = a.clone()
	m := &MLP{architecture: a, sizes: a.sizes(inputs), offsets: []int{0}}
	end := 0
	for l := range m.Layers() {
		end += roundUp((m.sizes[l] + 1) * m.sizes[l+1])
		m.offsets = append(m.offsets, end)
	}
	m.parameters = matrix.Alloc[Real](end)
	return m, nil
}

func roundUp(n int) int { return (n + alignment - 1) / alignment * alignment }

// Architecture returns the shape and the constants of the network.
func (m *MLP) Architecture() Architecture {
	return m.architecture.clone()
}

// Inputs returns the length of an input row.
func (m *MLP) Inputs() int { return m.sizes[0] }

// Outputs returns the length of an output row.
func (m *MLP) Outputs() int { return m.sizes[len(m.sizes)-1] }

// Sizes returns d_0 … d_L, the widths from the input to the output.
func (m *MLP) Sizes() []int { return slices.Clone(m.sizes) }

// Layers returns L, the number of linear layers: the hidden ones and the output.
func (m *MLP) Layers() int { return len(m.sizes) - 1 }

// Weights returns W of layer l, counted from 0, as a view: inputs of the layer
// down, its outputs across.
func (m *MLP) Weights(l int) matrix.Dense[Real] {
	return m.layer(m.parameters, l).Slice(0, m.sizes[l])
}

// Bias returns b of layer l, counted from 0, as a view.
func (m *MLP) Bias(l int) []Real { return m.layer(m.parameters, l).Row(m.sizes[l]) }

// Predict writes the outputs of the network for the rows of x to dst, which has
// as many rows and a column for each output.
func (m *MLP) Predict(ctx context.Context, dst, x matrix.Dense[Real]) {
	const op = "network.Predict"
	x.MustBeValid(op + ", inputs")
	dst.MustBeValid(op + ", destination")
	matrix.MustMatch(op+", inputs", x.Shape(), matrix.Shape{Rows: x.Rows, Cols: m.Inputs()})
	matrix.MustMatch(op+", destination", dst.Shape(), matrix.Shape{Rows: x.Rows, Cols: m.Outputs()})
	if x.Rows == 0 {
		return
	}
	p := newForward(m, min(forwardBlock, x.Rows))
	p.team = linalg.TeamOf(ctx)
	for from := 0; from < x.Rows; from += forwardBlock {
		to := min(from+forwardBlock, x.Rows)
		p.inputs(x.Slice(from, to), nil)
		matrix.Copy(dst.Slice(from, to), p.forward())
	}
}

// Clone returns a copy that shares nothing with the network.
func (m *MLP) Clone() *MLP {
	c := *m
	c.parameters = slices.Clone(m.parameters)
	return &c
}

// layer returns the part of numbers that belongs to layer l, in the shape of W̃;
// numbers are laid out as the parameters are.
func (m *MLP) layer(numbers []Real, l int) matrix.Dense[Real] {
	rows, cols := m.sizes[l]+1, m.sizes[l+1]
	start := m.offsets[l]
	return matrix.View(rows, cols, numbers[start:start+rows*cols])
}

// scale returns σ_w/√d for the inputs of layer l.
func (m *MLP) scale(l int) Real {
	return Real(m.architecture.SigmaW / math.Sqrt(float64(m.sizes[l])))
}

// finite reports whether all parameters are finite. A sum out of range counts as
// infinite: no sound training comes near it.
func (m *MLP) finite() bool {
	sum := simd.For[Real]().Sum(m.parameters)
	return sum-sum == 0
}
