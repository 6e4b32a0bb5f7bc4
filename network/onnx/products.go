package onnx

import (
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

func flipped(m matrix.Dense[float32]) matrix.Dense[float32] {
	t := matrix.New[float32](m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			t.Set(j, i, v)
		}
	}
	return t
}

func scaled(numbers []float32, factor float64) []float32 {
	if factor == 1 {
		return numbers
	}
	r := make([]float32, len(numbers))
	for i, v := range numbers {
		r[i] = float32(float64(v) * factor)
	}
	return r
}

func gemm(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	w, err := n.weightsAt(1)
	if err != nil {
		return err
	}
	if n.integer("transA", 0) != 0 {
		return n.failf("transA is set, which would mix rows")
	}
	if n.integer("transB", 0) != 0 {
		w = flipped(w)
	}
	w.Data = scaled(w.Data, n.float("alpha", 1))
	var bias []float32
	if n.has(2) {
		if bias, err = n.floatsAt(2); err != nil {
			return err
		}
		var ok bool
		if bias, ok = repeated(scaled(bias, n.float("beta", 1)), w.Cols); !ok {
			return n.failf("it has %d biases for %d outputs", len(bias), w.Cols)
		}
	}
	return b.dense(n, x, w, bias)
}

func matMul(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	w, err := n.weightsAt(1)
	if err != nil {
		return err
	}
	return b.dense(n, x, w, nil)
}

func linearRegressor(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	targets := int(n.integer("targets", 1))
	coefficients, bias := n.attributes["coefficients"].floats, n.attributes["intercepts"].floats
	switch {
	case n.text("post_transform", "NONE") != "NONE":
		return n.failf("post_transform %q is not supported", n.text("post_transform", ""))
	case targets < 1 || len(coefficients) == 0 || len(coefficients)%targets != 0 || bias != nil && len(bias) != targets:
		return n.failf("it has %d coefficients and %d intercepts for %d targets", len(coefficients), len(bias), targets)
	}
	return b.dense(n, x, flipped(matrix.View(targets, len(coefficients)/targets, coefficients)), bias)
}

func scaler(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	offset, ok1 := repeated(n.attributes["offset"].floats, x.width())
	scale, ok2 := repeated(n.attributes["scale"].floats, x.width())
	if !ok1 || !ok2 {
		return n.failf("it has %d offsets and %d scales for %d columns", len(offset), len(scale), x.width())
	}
	shift := make([]float32, len(scale))
	for j := range shift {
		shift[j] = -offset[j] * scale[j]
	}
	return b.affine(n, x, x.shape, slices.Clone(scale), shift)
}

func (b *builder) affine(n *node, x operand, shape []int, factor, shift []float32) error {
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &affine{x: x.value, y: y.value, a: factor, b: shift}, y)
}
