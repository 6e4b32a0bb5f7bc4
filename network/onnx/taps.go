package onnx

// The kernel of a network with several outputs is the sum of those of its outputs. For
// a layer with the factors x̃ and g_1, …, g_m, one gradient for each output, that is
//
//	Σ_o ⟨x̃, x̃'⟩·⟨g_o, g_o'⟩ = ⟨x̃, x̃'⟩·⟨[g_1, …, g_m], [g_1', …, g_m']⟩,
//
// a product of two factors as before. Where g_o is 1 for output o and 0 for the others,
// as for the last layer, the sum is m·⟨x̃, x̃'⟩, and x̃ is returned times √m.

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// maxCategories bounds an embedding that grad can differentiate: its factor has a
// column for each.
const maxCategories = 1 << 16

// CheckGradients reports why the kernels ll and grad cannot use the network, or nil.
func (net *Network) CheckGradients() error {
	if len(net.layers) == 0 {
		return fmt.Errorf("output %q has no fully-connected layer (Gemm or MatMul), which the kernels ll and grad need",
			net.name)
	}
	if net.upstream[net.top] < 0 {
		return fmt.Errorf("output %q has no gradient: it depends on its fully-connected layers through integers only",
			net.name)
	}
	for _, id := range net.layers {
		s, ok := net.steps[id].(*lookup)
		if !ok {
			continue
		}
		if n := net.widths[s.x]; n > 1 {
			return &NodeError{Op: "Gather", Node: s.node,
				Reason: fmt.Sprintf(
					"it looks %d categories of a row up in the same table; the kernels ll and grad need a table for each", n)}
		}
		if s.table.Rows > maxCategories {
			return &NodeError{Op: "Gather", Node: s.node,
				Reason: fmt.Sprintf("its table has %d categories; the kernels ll and grad take at most %d",
					s.table.Rows, maxCategories)}
		}
	}
	return nil
}

// Taps returns taps for blocks of at most kernel.BlockRows rows. CheckGradients must have
// returned nil. A row with an unknown category has factors that are not numbers.
func (net *Network) Taps() kernel.Taps[float32] { return net.taps(kernel.BlockRows) }

func (net *Network) taps(rows int) *taps {
	if err := net.CheckGradients(); err != nil {
		panic(err)
	}
	t := &taps{net: net, pass: newPass(net, rows, true), shapes: make([]matrix.Shape, len(net.layers))}
	for l := range net.layers {
		t.shapes[l] = net.factorShape(l)
	}
	m := net.outputs()
	if m == 1 {
		return t
	}
	t.grads = make([]matrix.Dense[float32], len(net.layers))
	for l, shape := range t.shapes {
		t.grads[l] = padded(rows, shape.Cols)
	}
	if t.lastIsOne() {
		t.scaled = padded(rows, t.shapes[len(t.shapes)-1].Rows)
	}
	return t
}

// factorShape returns the widths of the factors of a layer, for all outputs.
func (net *Network) factorShape(l int) matrix.Shape {
	s := net.steps[net.layers[l]].(layer)
	shape, m := s.shape(), net.outputs()
	switch {
	case l == len(net.layers)-1 && s.writes() == net.top && s.(*dense).then == nil:
		shape.Cols = 0
	case shape.Cols == 0:
		shape.Rows *= m
	default:
		shape.Cols *= m
	}
	return shape
}

// Infinite describes a perceptron with as many layers. The kernels nngp and ntk say
// nothing about a graph.
func (net *Network) Infinite() kernel.InfiniteNetwork {
	w := kernel.InfiniteNetwork{Inputs: net.Inputs(), SigmaW: net.sigmaW}
	for _, id := range net.layers {
		if _, ok := net.steps[id].(*dense); ok {
			w.Layers++
		}
	}
	return w
}

// taps implements kernel.Taps.
type taps struct {
	net    *Network
	pass   *pass
	shapes []matrix.Shape
	grads  []matrix.Dense[float32] // of all outputs, side by side; nil if there is one
	scaled matrix.Dense[float32]   // x̃ of the last layer times √m
}

func (t *taps) Inputs() int { return t.net.Inputs() }

func (t *taps) Widths() (in, grad []int) {
	for _, shape := range t.shapes {
		in, grad = append(in, shape.Rows), append(grad, shape.Cols)
	}
	return in, grad
}

// lastIsOne reports whether the gradient of the last layer is 1.
func (t *taps) lastIsOne() bool { return t.shapes[len(t.shapes)-1].Cols == 0 }

func (t *taps) Block(ctx context.Context, rows matrix.Dense[float32], first int) (in, grad []matrix.Dense[float32]) {
	const op = "onnx.Taps"
	p, last := t.pass, len(t.shapes)-1
	matrix.MustMatch(op, rows.Shape(), matrix.Shape{Rows: min(rows.Rows, p.rows), Cols: t.Inputs()})
	if first < 0 || first > last {
		panic(matrix.IndexError{Op: op + ", first layer", Index: first, Limit: last + 1})
	}
	p.team = linalg.TeamOf(ctx)
	p.forward(rows)
	if first < last || !t.lastIsOne() {
		for o := range t.net.outputs() {
			p.backward(first, o)
			t.collect(first, o)
		}
	}
	for l := first; l <= last; l++ {
		id := t.net.layers[l]
		x, g := t.net.steps[id].(layer).factors(p, id)
		if t.grads != nil {
			g = t.grads[l].Slice(0, p.n)
		}
		if l == last && t.scaled.Rows > 0 {
			x = t.scaleLast(x)
		}
		in = append(in, x)
		if t.shapes[l].Cols > 0 {
			grad = append(grad, g)
		}
	}
	return in, grad
}

// collect clears the gradients that nothing was propagated to, and copies those of
// output o to their place among the others.
func (t *taps) collect(first, o int) {
	p := t.pass
	for l := first; l < len(t.shapes); l++ {
		id := t.net.layers[l]
		s := t.net.steps[id].(layer)
		x, g := s.factors(p, id)
		if !p.has[s.writes()] {
			clearRows(g)
			if s.shape().Cols == 0 {
				clearRows(x)
			}
		}
		if t.grads != nil && t.shapes[l].Cols > 0 {
			matrix.Copy(t.grads[l].Block(0, p.n, o*g.Cols, (o+1)*g.Cols), g)
		}
	}
}

func clearRows(m matrix.Dense[float32]) {
	for i := range m.Rows {
		clear(m.Row(i))
	}
}

func (t *taps) scaleLast(x matrix.Dense[float32]) matrix.Dense[float32] {
	root := float32(math.Sqrt(float64(t.net.outputs())))
	to := t.scaled.Slice(0, x.Rows)
	for i := range x.Rows {
		t.pass.set.ScaleAdd(to.Row(i), x.Row(i), 0, root)
	}
	return to
}

// Hidden returns the network up to a named tensor, as a model whose kernel ll has the
// tensor as its features: x̃ = [(σ_w/√d)·x, σ_b]. The kernel grad is then the same.
func (net *Network) Hidden(tensor string) (*Hidden, error) {
	v, ok := net.named[tensor]
	if !ok {
		return nil, fmt.Errorf("the network has no tensor %q", tensor)
	}
	steps := alive(net.steps, v)
	if len(steps) == 0 || steps[len(steps)-1].writes() != v {
		return nil, fmt.Errorf("tensor %q is not computed on its own: choose the one after its activation", tensor)
	}
	part := *net
	part.steps, part.output, part.top = steps, v, v
	return &Hidden{&part}, nil
}

// Hidden is the part of a network up to a tensor. It serves the kernel ll.
type Hidden struct{ net *Network }

// Inputs returns how many columns a row has.
func (h *Hidden) Inputs() int { return h.net.Inputs() }

// Infinite describes the whole network; see Network.Infinite.
func (h *Hidden) Infinite() kernel.InfiniteNetwork { return h.net.Infinite() }

// Taps returns taps with the tensor as the input of their only layer.
func (h *Hidden) Taps() kernel.Taps[float32] {
	width := h.net.widths[h.net.output]
	t := &hiddenTaps{net: h.net, pass: newPass(h.net, kernel.BlockRows, false), x: padded(kernel.BlockRows, width+1)}
	t.scale = float32(h.net.sigmaW / math.Sqrt(float64(width)))
	for i := range t.x.Rows {
		t.x.Set(i, width, float32(h.net.sigmaB))
	}
	return t
}

type hiddenTaps struct {
	net   *Network
	pass  *pass
	x     matrix.Dense[float32]
	scale float32
}

func (t *hiddenTaps) Inputs() int              { return t.net.Inputs() }
func (t *hiddenTaps) Widths() (in, grad []int) { return []int{t.x.Cols}, []int{0} }

func (t *hiddenTaps) Block(ctx context.Context, rows matrix.Dense[float32], _ int) (in, grad []matrix.Dense[float32]) {
	t.pass.team = linalg.TeamOf(ctx)
	t.pass.forward(rows)
	y, x := t.pass.x(t.net.output), t.x.Slice(0, rows.Rows)
	t.pass.each(func(i int, _ []float32) { t.pass.set.ScaleAdd(x.Row(i)[:y.Cols], y.Row(i), 0, t.scale) })
	return []matrix.Dense[float32]{x}, nil
}
