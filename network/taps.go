package network

import "github.com/nextbatch/nextbatch/matrix"

// Tap is what one layer contributes to the gradient of the output with respect
// to the parameters: for row i it is the outer product of row i of In and row i
// of Grad (paper, "Full gradient Kernel"),
//
//	∂z^(L)/∂W̃^(l) = x̃^(l-1)ᵀ·g^(l),
//	x̃^(l-1) = [(σ_w/√d_{l-1})·x^(l-1), σ_b],   g^(l) = ∂z^(L)/∂z^(l),
//
// so the gradient kernel is the sum over the layers of the product of the inner
// products of In and of Grad. In of the last layer is the feature map of the
// last-layer kernel.
type Tap[T matrix.Float] struct {
	In   matrix.Dense[T] // d_{l-1} + 1 columns
	Grad matrix.Dense[T] // d_l columns; all ones for the last layer of one output
}

// Taps runs blocks of rows through a network and keeps what the layers saw. The
// memory for a block is allocated once. A Taps is used by one goroutine at a
// time; the network must not change while it is in use.
type Taps[T matrix.Float] struct {
	pass   *pass[T]
	output int
	taps   []Tap[T]
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
	return &Taps[T]{pass: newBackward(net, rows), output: output, taps: make([]Tap[T], net.Layers())}
}

// Rows returns the most rows of a block.
func (t *Taps[T]) Rows() int { return t.pass.out.Rows }

// Block runs the rows of x through the network and returns the taps, from the
// first layer to the last. They are views of memory that the next call
// overwrites. x has at most Rows rows.
func (t *Taps[T]) Block(x matrix.Dense[T]) []Tap[T] {
	t.run(x)
	p := t.pass
	last := len(t.taps) - 1
	top := p.grad[last].Slice(0, p.n)
	for i := range top.Rows {
		clear(top.Row(i))
		top.Set(i, t.output, 1)
	}
	for l := last; l >= 0; l-- {
		if l > 0 {
			p.backward(l)
		}
		t.taps[l] = Tap[T]{In: p.in[l].Slice(0, p.n), Grad: p.grad[l].Slice(0, p.n)}
	}
	return t.taps
}

// LastLayer runs the rows of x through the network and returns In of the last
// layer only, which spares the way back. It is a view as in Block.
func (t *Taps[T]) LastLayer(x matrix.Dense[T]) matrix.Dense[T] {
	t.run(x)
	return t.pass.in[len(t.taps)-1].Slice(0, t.pass.n)
}

func (t *Taps[T]) run(x matrix.Dense[T]) {
	const op = "network.Taps"
	x.MustBeValid(op)
	net := t.pass.net
	matrix.MustMatch(op, x.Shape(), matrix.Shape{Rows: min(x.Rows, t.Rows()), Cols: net.Inputs()})
	t.pass.inputs(x, nil)
	t.pass.forward()
}
