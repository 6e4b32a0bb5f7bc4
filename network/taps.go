package network

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Taps runs blocks of rows through a network and gives what its layers saw and
// what they pass back. The gradient of the output by the parameters of layer l,
// counted from 0, is an outer product for each row (paper, "Full gradient
// Kernel"),
//
//	∂z_{L-1}/∂W̃_l = x̃_lᵀ·g_l,
//	x̃_l = [(σ_w/√d_l)·x_l, σ_b],   g_l = ∂z_{L-1}/∂z_l,
//
// so the gradient kernel is the sum over the layers of ⟨x̃_l, x̃'_l⟩·⟨g_l, g'_l⟩,
// and the gradient itself is never formed. x̃ of the last layer is the feature
// map of the last-layer kernel.
//
// The memory for a block is allocated once. A Taps is used by one goroutine at a
// time; the network must not change while it is in use.
type Taps[T matrix.Float] struct {
	pass     *pass[T]
	output   int
	in, grad []matrix.Dense[T]
}

// NewTaps returns taps for blocks of at most rows rows. Gradients are those of
// one output of the network, counted from 0; the paper's networks have no other.
func NewTaps[T matrix.Float](net *MLP[T], rows, output int) *Taps[T] {
	const op = "network.NewTaps"
	if rows <= 0 {
		panic(matrix.ShapeError{Op: op + ", block", Got: matrix.Shape{Rows: rows, Cols: net.Inputs()},
			Want: matrix.Shape{Rows: 1, Cols: net.Inputs()}})
	}
	if output < 0 || output >= net.Outputs() {
		panic(matrix.IndexError{Op: op + ", output", Index: output, Limit: net.Outputs()})
	}
	n := net.Layers()
	return &Taps[T]{pass: newBackward(net, rows), output: output,
		in: make([]matrix.Dense[T], n), grad: make([]matrix.Dense[T], n-1)}
}

// Sizes returns d_0 … d_L, the widths from the input of the network to its
// output.
func (t *Taps[T]) Sizes() []int { return t.pass.net.Sizes() }

// Block runs the rows of x through the network, at most as many as the taps were
// made for. It returns x̃ of the layers from first on, with d_l + 1 columns, and
// g of the same layers but the last, with d_{l+1} columns; there g is 1 at the
// output that was asked for. With first = L-1 nothing runs backward.
//
// The matrices are views of memory that the next call overwrites.
func (t *Taps[T]) Block(ctx context.Context, x matrix.Dense[T], first int) (in, grad []matrix.Dense[T]) {
	const op = "network.Taps"
	x.MustBeValid(op)
	p := t.pass
	last := p.net.Layers() - 1
	matrix.MustMatch(op, x.Shape(), matrix.Shape{Rows: min(x.Rows, p.out.Rows), Cols: p.net.Inputs()})
	if first < 0 || first > last {
		panic(matrix.IndexError{Op: op + ", first layer", Index: first, Limit: last + 1})
	}
	p.team = linalg.TeamOf(ctx)
	p.inputs(x, nil)
	p.forward()
	t.start()
	t.in[last] = p.in[last].Slice(0, p.n)
	for l := last; l > first; l-- {
		p.backward(l)
		t.in[l-1], t.grad[l-1] = p.in[l-1].Slice(0, p.n), p.grad[l-1].Slice(0, p.n)
	}
	return t.in[first:], t.grad[first:]
}

// start writes the derivative of the chosen output by all outputs.
func (t *Taps[T]) start() {
	top := t.pass.grad[len(t.grad)]
	for i := range t.pass.n {
		clear(top.Row(i))
		top.Set(i, t.output, 1)
	}
}
