package kernel

// Full gradient kernel and its restriction to the last layers (paper, equations
// "grad_comp" and "grad_kernel_factorization"):
//
//	k_grad(x, x') = Σ_l ⟨x̃_l, x̃'_l⟩ · ⟨g_l, g'_l⟩,   φ_grad(x) = (x̃_1 ⊗ g_1, …, x̃_L ⊗ g_L)
//
// x̃_l is the input of layer l, and g_l the gradient of the network's output with
// respect to the layer's output. For the last layer, g is 1.

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/matrix"
)

// NewGrad returns the kernel of the gradients with respect to all parameters of
// a network.
func NewGrad[T matrix.Float](taps Taps[T]) FeatureMap[T] {
	k, err := NewLastLayers(taps, len(taps.Sizes())-1)
	if err != nil {
		panic(err) // the layers were just counted
	}
	return k
}

// NewLastLayers returns the kernel of the gradients with respect to the
// parameters of the last n layers. With n = 1 this is the paper's last-layer
// kernel, whose features are the inputs of the last layer.
func NewLastLayers[T matrix.Float](taps Taps[T], n int) (FeatureMap[T], error) {
	layers := len(taps.Sizes()) - 1
	if n < 1 || n > layers {
		return nil, fmt.Errorf("cannot use the last %d layers of a network that has %d: use 1 to %d", n, layers, layers)
	}
	e := &tapped[T]{taps: taps, first: layers - n}
	terms := make([]Form[T], n)
	for i := range terms {
		if i < n-1 {
			terms[i] = NewProduct[T](Dot[T]{}, Dot[T]{})
		} else {
			terms[i] = NewProduct[T](Dot[T]{}, One[T]{})
		}
	}
	return Compose[T](e, NewSum(terms...)).(FeatureMap[T]), nil
}

// tapped is the embedding by a network: two parts for each layer.
type tapped[T matrix.Float] struct {
	taps  Taps[T]
	first int
	ones  matrix.Dense[T]
}

func (e *tapped[T]) Inputs() int { return e.taps.Sizes()[0] }

func (e *tapped[T]) Widths() []int {
	var widths []int
	sizes := e.taps.Sizes()
	last := len(sizes) - 2
	for l := e.first; l < last; l++ {
		widths = append(widths, sizes[l]+1, sizes[l+1])
	}
	return append(widths, sizes[last]+1, 1)
}

func (e *tapped[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := CheckRows(ctx, rows, e.Inputs()); err != nil {
		return nil, err
	}
	in, grad := e.taps.Block(ctx, rows, e.first)
	var parts []matrix.Dense[T]
	for i := range grad {
		parts = append(parts, in[i], grad[i])
	}
	return append(parts, in[len(grad)], e.onesOf(rows.Rows)), nil
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
