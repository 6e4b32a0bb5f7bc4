package onnx

import (
	"errors"
	"slices"
)

var errTooLarge = errors.New("a constant becomes too large")

func concat(b *builder, n *node) error {
	parts := make([]operand, len(n.inputs))
	rows := 0
	for i := range parts {
		o, err := n.at(i)
		if err != nil {
			return err
		}
		if parts[i] = o; o.constant == nil {
			rows++
		}
	}
	switch {
	case len(parts) == 0:
		return n.failf("it has no input")
	case rows == 0:
		return b.concatConstants(n, parts)
	case rows < len(parts):
		return n.failf("it joins rows and a constant, which is not supported")
	}
	axis, err := n.rowAxis(n.integer("axis", 1), parts[0])
	if err != nil {
		return err
	}
	shape := slices.Clone(parts[0].shape)
	shape[axis] = 0
	for i, o := range parts {
		if len(o.shape) != len(shape) || !slices.Equal(o.shape[:axis], shape[:axis]) ||
			!slices.Equal(o.shape[axis+1:], shape[axis+1:]) {
			return n.failf("input %q has rows of shape %v, which do not fit %v", n.inputs[i], o.shape, parts[0].shape)
		}
		shape[axis] += o.shape[axis]
	}
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	outer, inner := 1, 1
	for i, d := range shape {
		if i < axis {
			outer *= d
		} else if i > axis {
			inner *= d
		}
	}
	s, at := &columnCopy{y: y.value}, 0
	for k := range outer {
		for _, o := range parts {
			width := o.shape[axis] * inner
			s.runs = append(s.runs, columnRun{o.value, k * width, at, width})
			at += width
		}
	}
	return b.append(n, s, y)
}

func (b *builder) concatConstants(n *node, parts []operand) error {
	c := &constant{whole: parts[0].constant.whole, shape: []int{0}}
	for _, o := range parts {
		p := o.constant
		if len(p.shape) != 1 || p.whole != c.whole {
			return n.failf("only lists of numbers of one kind are joined")
		}
		c.floats, c.integers = append(c.floats, p.floats...), append(c.integers, p.integers...)
		if c.len() > maxDerived {
			return errTooLarge
		}
	}
	c.shape[0] = c.len()
	return b.set(n, operand{constant: c})
}
