package network

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Taps runs blocks of rows through a network and returns the inputs and the gradients
// of its layers. The gradient of the output by the parameters of layer l,
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
// With several outputs and a weight w_o for each, g_l holds √w_o·∂z_{L-1,o}/∂z_l of
// all outputs side by side. In the last layer it would be √w_o at output o, so x̃ has
// the factor √Σ_o w_o instead.
//
// The memory for a block is allocated once. A Taps is used by one goroutine at a
// time; the network must not change while it is in use.
type Taps struct {
	pass     *pass
	roots    []Real // √w_o
	in, grad []matrix.Dense[Real]

	// Only for several outputs, where those of pass hold one at a time:
	gathered []matrix.Dense[Real] // g_l of all outputs
	last     matrix.Dense[Real]   // x̃ of the last layer, times its factor
}

// NewTaps returns taps for blocks of at most rows rows. weights are those of the
// network's outputs; nil means 1 for each.
func NewTaps(net *MLP, rows int, weights []float64) *Taps {
	const op = "network.NewTaps"
	if rows <= 0 {
		panic(matrix.ShapeError{Op: op + ", block", Got: matrix.Shape{Rows: rows, Cols: net.Inputs()},
			Want: matrix.Shape{Rows: 1, Cols: net.Inputs()}})
	}
	if weights != nil && len(weights) != net.Outputs() {
		panic(matrix.ShapeError{Op: op + ", weights", Got: matrix.Shape{Rows: 1, Cols: len(weights)},
			Want: matrix.Shape{Rows: 1, Cols: net.Outputs()}})
	}
	n := net.Layers()
	t := &Taps{pass: newBackward(net, rows), roots: make([]Real, net.Outputs()),
		in: make([]matrix.Dense[Real], n), grad: make([]matrix.Dense[Real], n-1)}
	for o := range t.roots {
		t.roots[o] = 1
		if weights != nil {
			t.roots[o] = Real(math.Sqrt(weights[o]))
		}
	}
	if t.single() {
		return t
	}
	for l := range n - 1 {
		t.gathered = append(t.gathered, padded(rows, net.Outputs()*net.sizes[l+1]))
	}
	t.last = padded(rows, net.sizes[n-1]+1)
	return t
}

// single reports whether there is one output of weight 1, as in the paper: then nothing
// has to be gathered.
func (t *Taps) single() bool { return len(t.roots) == 1 && t.roots[0] == 1 }

// Inputs returns the width of a row.
func (t *Taps) Inputs() int { return t.pass.net.Inputs() }

// Widths returns the widths of x̃ and g of each layer; the last layer has no g.
func (t *Taps) Widths() (in, grad []int) {
	sizes := t.pass.net.sizes
	for l := range t.in {
		in, grad = append(in, sizes[l]+1), append(grad, len(t.roots)*sizes[l+1])
	}
	grad[len(grad)-1] = 0
	return in, grad
}

// Block runs the rows of x through the network, at most as many as the taps were
// made for. It returns x̃ of the layers from first on, with d_l + 1 columns, and
// g of the same layers but the last, with d_{l+1} columns for each output. With
// first = L-1 nothing runs backward.
//
// The matrices are views of memory that the next call overwrites.
func (t *Taps) Block(ctx context.Context, x matrix.Dense[Real], first int) (in, grad []matrix.Dense[Real]) {
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
	t.in[last] = t.lastInput()
	for o := range t.roots {
		t.start(o)
		for l := last; l > first; l-- {
			p.backward(l)
			t.in[l-1], t.grad[l-1] = p.in[l-1].Slice(0, p.n), t.gather(l-1, o)
		}
	}
	return t.in[first:], t.grad[first:]
}

// lastInput returns x̃ of the last layer.
func (t *Taps) lastInput() matrix.Dense[Real] {
	x := t.pass.features()
	if t.single() {
		return x
	}
	return scaledTo(t.last.Slice(0, x.Rows), x, t.lastFactor())
}

// lastFactor is the factor of x̃ of the last layer, √Σ_o w_o.
func (t *Taps) lastFactor() Real {
	sum := Real(0)
	for _, root := range t.roots {
		sum += root * root
	}
	return Real(math.Sqrt(float64(sum)))
}

// gather puts g_l of an output beside those of the others and returns them all.
func (t *Taps) gather(l, output int) matrix.Dense[Real] {
	g := t.pass.grad[l].Slice(0, t.pass.n)
	if t.single() {
		return g
	}
	all := t.gathered[l].Slice(0, g.Rows)
	scaledTo(all.Block(0, g.Rows, output*g.Cols, (output+1)*g.Cols), g, t.roots[output])
	return all
}

// scaledTo writes a multiple of a matrix and returns it.
func scaledTo(dst, m matrix.Dense[Real], factor Real) matrix.Dense[Real] {
	for i := range m.Rows {
		to := dst.Row(i)
		for j, v := range m.Row(i) {
			to[j] = factor * v
		}
	}
	return dst
}

// start writes the derivative of an output by all outputs.
func (t *Taps) start(output int) {
	top := t.pass.grad[len(t.grad)]
	for i := range t.pass.n {
		clear(top.Row(i))
		top.Set(i, output, 1)
	}
}
