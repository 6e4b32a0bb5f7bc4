package onnx

import (
	"math"
	"slices"
)

func batchNormalization(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	if n.integer("training_mode", 0) != 0 || len(n.outputs) > 1 && b.opset >= 14 {
		return n.failf("it is in training mode: export the model for inference (model.eval())")
	}
	var numbers [4][]float32
	for i := range numbers {
		if numbers[i], err = n.floatsAt(i + 1); err != nil {
			return err
		}
		if len(x.shape) != 1 || len(numbers[i]) != x.width() {
			return n.failf("input %q has %d numbers for rows of shape %v", n.inputs[i+1], len(numbers[i]), x.shape)
		}
	}
	scale, eps := make([]float32, x.width()), n.float("epsilon", 1e-5)
	for j, v := range numbers[3] {
		scale[j] = float32(1 / math.Sqrt(float64(v)+eps))
	}
	y, err := b.value(x.shape)
	if err != nil {
		return err
	}
	return b.append(n, &normal{x: x.value, y: y.value, gain: numbers[0], shift: numbers[1],
		mean: numbers[2], scale: scale}, y)
}

func layerNormalization(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	axis, err := n.rowAxis(n.integer("axis", -1), x)
	if err != nil {
		return err
	}
	group := 1
	for _, d := range x.shape[axis:] {
		group *= d
	}
	gain, err := n.floatsAt(1)
	if err != nil {
		return err
	}
	var shift []float32
	if n.has(2) {
		if shift, err = n.floatsAt(2); err != nil {
			return err
		}
	}
	if len(gain) != group || shift != nil && len(shift) != group {
		return n.failf("it has %d gains and %d shifts for %d columns", len(gain), len(shift), group)
	}
	y, err := b.value(x.shape)
	if err != nil {
		return err
	}
	return b.append(n, &normal{x: x.value, y: y.value, gain: gain, shift: shift, eps: n.float("epsilon", 1e-5)}, y)
}

func reduce(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	axes, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	if len(axes) != 1 {
		return n.failf("it reduces axes %v; only the last one is supported", axes)
	}
	axis, err := n.rowAxis(axes[0], x)
	if err != nil {
		return err
	}
	if axis != len(x.shape)-1 {
		return n.failf("it reduces axis %d; only the last one is supported", axes[0])
	}
	shape := slices.Clone(x.shape[:axis])
	if n.integer("keepdims", 1) != 0 {
		shape = append(shape, 1)
	}
	factor := float32(1)
	if n.op == "ReduceMean" {
		factor = float32(1 / float64(x.shape[axis]))
	}
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &groupMean{x: x.value, y: y.value, factor: factor}, y)
}
