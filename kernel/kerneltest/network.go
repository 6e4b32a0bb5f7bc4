package kerneltest

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// Network is a fully connected network in plain loops that implements
// kernel.Taps for the gradient kernels. It is slow, and written to be obviously
// right.
type Network[T matrix.Float] struct {
	Weights        []matrix.Dense[T] // per layer: a row for each input, a column for each output
	Biases         [][]T
	SigmaW, SigmaB float64
	Activation     func(z float64) (value, slope float64)
}

// ReLU is max(z, 0).
func ReLU(z float64) (value, slope float64) {
	if z > 0 {
		return z, 1
	}
	return 0, 0
}

// SiLU is z/(1 + e^−z).
func SiLU(z float64) (value, slope float64) {
	s := 1 / (1 + math.Exp(-z))
	return z * s, s * (1 + z*(1-s))
}

// Inputs returns the width of a row.
func (n *Network[T]) Inputs() int { return n.Weights[0].Rows }

// Widths returns the widths of what Block returns.
func (n *Network[T]) Widths() (in, grad []int) {
	for _, w := range n.Weights {
		in, grad = append(in, w.Rows+1), append(grad, w.Cols)
	}
	grad[len(grad)-1] = 0
	return in, grad
}

// Block runs the rows through the network.
func (n *Network[T]) Block(ctx context.Context, rows matrix.Dense[T], first int) (in, grad []matrix.Dense[T]) {
	last := len(n.Weights) - 1
	x := rows
	slopes := make([]matrix.Dense[T], last)
	for l := range n.Weights {
		in = append(in, n.input(x, l))
		if l < last {
			x, slopes[l] = n.activate(n.multiply(in[l], l))
		}
	}
	grad = make([]matrix.Dense[T], last)
	above := matrix.New[T](rows.Rows, 1)
	for i := range above.Data {
		above.Data[i] = 1
	}
	for l := last - 1; l >= 0; l-- {
		grad[l] = n.back(above, slopes[l], l+1)
		above = grad[l]
	}
	return in[first:], grad[first:]
}

// input returns [(σ_w/√d)·x, σ_b].
func (n *Network[T]) input(x matrix.Dense[T], l int) matrix.Dense[T] {
	d := n.Weights[l].Rows
	in := matrix.New[T](x.Rows, d+1)
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			in.Set(i, j, v*n.scale(l))
		}
		in.Set(i, d, T(n.SigmaB))
	}
	return in
}

func (n *Network[T]) scale(l int) T { return T(n.SigmaW / math.Sqrt(float64(n.Weights[l].Rows))) }

//go:norace
func (n *Network[T]) multiply(in matrix.Dense[T], l int) matrix.Dense[T] {
	w, b := n.Weights[l], n.Biases[l]
	z := matrix.New[T](in.Rows, w.Cols)
	for i := range in.Rows {
		x, to := in.Row(i), z.Row(i)
		for j := range to {
			to[j] = x[w.Rows] * b[j]
		}
		for k := range w.Rows {
			for j, v := range w.Row(k) {
				to[j] += x[k] * v
			}
		}
	}
	return z
}

//go:norace
func (n *Network[T]) activate(z matrix.Dense[T]) (value, slope matrix.Dense[T]) {
	value, slope = matrix.New[T](z.Rows, z.Cols), matrix.New[T](z.Rows, z.Cols)
	for i, v := range z.Data {
		y, s := n.Activation(float64(v))
		value.Data[i], slope.Data[i] = T(y), T(s)
	}
	return value, slope
}

// back returns the gradient with respect to the output of the layer before l.
//
//go:norace
func (n *Network[T]) back(above, slope matrix.Dense[T], l int) matrix.Dense[T] {
	w := n.Weights[l]
	grad := matrix.New[T](above.Rows, w.Rows)
	for i := range above.Rows {
		for k := range w.Rows {
			var sum T
			for j, v := range w.Row(k) {
				sum += v * above.At(i, j)
			}
			grad.Set(i, k, n.scale(l)*sum*slope.At(i, k))
		}
	}
	return grad
}
