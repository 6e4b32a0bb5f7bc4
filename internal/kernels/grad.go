package kernels

// Full gradient kernel and its restriction to the last layers (paper, equations
// "grad_comp" and "grad_kernel_factorization"):
//
//	k_grad(x, x') = Σ_l ⟨x̃_l, x̃'_l⟩ · ⟨g_l, g'_l⟩,   φ_grad(x) = (x̃_1 ⊗ g_1, …, x̃_L ⊗ g_L)
//
// x̃_l is the input of layer l, and g_l the gradient of the network's output with
// respect to the layer's output. For the last layer, g is 1.
//
// The kernel of a network with several outputs is the sum of the kernels of its
// outputs, each with a weight w_o. The inputs x̃_l are those of all outputs, so
//
//	Σ_o w_o·⟨x̃_l, x̃'_l⟩·⟨g_l^o, g'_l^o⟩ = ⟨x̃_l, x̃'_l⟩ · ⟨g_l, g'_l⟩,   g_l = (√w_1·g_l^1, √w_2·g_l^2, …)
//
// and it stays a sum of products. In the last layer, ⟨g, g'⟩ is Σ_o w_o, a factor.

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewGrad returns the kernel of the gradients with respect to all parameters of
// a network.
func NewGrad[T matrix.Float](taps kernel.Taps[T]) kernel.FeatureMap[T] {
	in, _ := taps.Widths()
	k, err := NewLastLayers(taps, len(in))
	if err != nil {
		panic(err) // the layers were just counted
	}
	return k
}

// NewLastLayers returns the kernel of the gradients with respect to the
// parameters of the last n layers. With n = 1 this is the paper's last-layer
// kernel, whose features are the inputs of the last layer.
func NewLastLayers[T matrix.Float](taps kernel.Taps[T], n int) (kernel.FeatureMap[T], error) {
	in, grad := taps.Widths()
	if n < 1 || n > len(in) {
		return nil, fmt.Errorf("cannot use the last %d layers of a network that has %d: use 1 to %d", n, len(in), len(in))
	}
	first := len(in) - n
	e := &tapped[T]{taps: taps, first: first, in: in[first:], grad: grad[first:]}
	terms := make([]Form[T], n)
	for i, width := range e.grad {
		if width > 0 {
			terms[i] = NewProduct[T](Dot[T]{}, Dot[T]{})
		} else {
			terms[i] = NewProduct[T](Dot[T]{}, One[T]{})
		}
	}
	return Compose[T](e, NewSum(terms...)).(kernel.FeatureMap[T]), nil
}

// tapped is the embedding by a network: two parts for each layer.
type tapped[T matrix.Float] struct {
	taps     kernel.Taps[T]
	first    int
	in, grad []int // widths of the layers from the first on
	ones     matrix.Dense[T]
}

func (e *tapped[T]) Inputs() int { return e.taps.Inputs() }

func (e *tapped[T]) Widths() []int {
	var widths []int
	for i, in := range e.in {
		widths = append(widths, in, max(e.grad[i], 1))
	}
	return slices.Clip(widths)
}

func (e *tapped[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := kernel.CheckRows(ctx, rows, e.Inputs()); err != nil {
		return nil, err
	}
	in, grad := e.taps.Block(ctx, rows, e.first)
	var parts []matrix.Dense[T]
	for i, width := range e.grad {
		if width == 0 {
			parts = append(parts, in[i], e.onesOf(rows.Rows))
			continue
		}
		parts, grad = append(parts, in[i], grad[0]), grad[1:]
	}
	return parts, nil
}

// onesOf returns a column of ones, one per row.
func (e *tapped[T]) onesOf(rows int) matrix.Dense[T] {
	if e.ones.Rows < rows {
		e.ones = matrix.New[T](rows, 1)
		for i := range e.ones.Data {
			e.ones.Data[i] = 1
		}
	}
	return e.ones.Slice(0, rows)
}
