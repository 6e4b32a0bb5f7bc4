package onnx

import (
	"fmt"
	"slices"
)

func transpose(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	rank := len(o.shape) + 1
	if o.constant != nil {
		rank = len(o.constant.shape)
	}
	perm := make([]int, rank)
	given, err := n.list("perm", -1)
	if err != nil {
		return err
	}
	seen := make([]bool, rank)
	for i := range perm {
		perm[i] = rank - 1 - i
		if given != nil {
			if len(given) != rank || given[i] < 0 || given[i] >= int64(rank) || seen[given[i]] {
				return n.failf("perm %v is not a permutation of %d axes", given, rank)
			}
			perm[i] = int(given[i])
			seen[perm[i]] = true
		}
	}
	if o.constant != nil {
		shape, places := transposed(o.constant.shape, perm)
		return b.set(n, operand{constant: o.constant.at(shape, places)})
	}
	if perm[0] != 0 {
		return n.failf("it exchanges rows and columns")
	}
	inner := make([]int, rank-1)
	for i, axis := range perm[1:] {
		inner[i] = axis - 1
	}
	shape, places := transposed(o.shape, inner)
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &columnCopy{y: y.value, runs: runsOf(o.value, places)}, y)
}

func flatten(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	axis := n.integer("axis", 1)
	if axis < 0 {
		axis += int64(len(x.shape) + 1)
	}
	if axis != 1 {
		return n.failf("axis %d does not keep the rows apart", axis)
	}
	x.shape = []int{x.width()}
	return b.set(n, x)
}

func reshape(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	target, err := n.list("shape", 1)
	if err != nil {
		return err
	}
	if len(target) == 0 {
		return n.failf("it has no shape to reshape to")
	}
	if o.constant != nil {
		shape, err := fitted(target, o.constant.shape, o.constant.len(), n.integer("allowzero", 0) != 0)
		if err != nil {
			return err
		}
		return b.set(n, operand{constant: o.constant.withShape(shape)})
	}
	rest := slices.Clone(target[1:])
	if n.integer("allowzero", 0) == 0 {
		for i, d := range rest {
			if d == 0 && i < len(o.shape) {
				rest[i] = int64(o.shape[i])
			}
		}
	}
	switch first := target[0]; {
	case first == rowCount, first == 0, first == -1 && !slices.Contains(rest, -1), first == b.batch && first > 0:
	default:
		return n.failf("shape %v does not keep the rows apart", target)
	}
	shape, err := fitted(rest, nil, o.width(), true)
	if err != nil {
		return n.failf("shape %v does not keep the rows apart: a row has %d numbers", target, o.width())
	}
	o.shape = shape
	return b.set(n, o)
}

// fitted returns a target shape for size numbers; one dimension may be -1, and a
// zero copies that of the original unless zeros are allowed.
func fitted(target []int64, original []int, size int, zeros bool) ([]int, error) {
	shape, product, open := make([]int, len(target)), 1, -1
	for i, d := range target {
		switch {
		case d == -1 && open < 0:
			open = i
			continue
		case d == 0 && !zeros && i < len(original):
			d = int64(original[i])
		}
		if d < 1 || d > int64(size) || product > size/int(d) {
			return nil, fmt.Errorf("%d numbers do not fit shape %v", size, target)
		}
		shape[i] = int(d)
		product *= int(d)
	}
	if open >= 0 {
		shape[open] = size / product
		product *= shape[open]
	}
	if product != size {
		return nil, fmt.Errorf("%d numbers do not fit shape %v", size, target)
	}
	return shape, nil
}

func squeeze(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	axes, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	shape := fullShape(o)
	drop := make([]bool, len(shape))
	for _, axis := range axes {
		at, err := n.axis(axis, len(shape))
		if err != nil {
			return err
		}
		if shape[at] != 1 {
			return n.failf("axis %d has %d entries, not one", axis, shape[at])
		}
		drop[at] = true
	}
	var kept []int
	for i, d := range shape {
		if !drop[i] && (axes != nil || d != 1) {
			kept = append(kept, d)
		}
	}
	return b.set(n, withFullShape(o, kept))
}

func unsqueeze(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	axes, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	old := fullShape(o)
	rank := len(old) + len(axes)
	if rank > maxRank {
		return n.failf("%d dimensions are too many", rank)
	}
	added := make([]bool, rank)
	for _, axis := range axes {
		at, err := n.axis(axis, rank)
		if err != nil {
			return err
		}
		if added[at] || at == 0 && o.constant == nil {
			return n.failf("axes %v do not keep the rows apart", axes)
		}
		added[at] = true
	}
	shape := make([]int, rank)
	for i := range shape {
		if shape[i] = 1; !added[i] {
			shape[i], old = old[0], old[1:]
		}
	}
	return b.set(n, withFullShape(o, shape))
}

// fullShape returns the shape with the dimension of the rows, which is -1.
func fullShape(o operand) []int {
	if o.constant != nil {
		return o.constant.shape
	}
	return slices.Concat([]int{-1}, o.shape)
}

func withFullShape(o operand, shape []int) operand {
	if o.constant != nil {
		return operand{constant: o.constant.withShape(shape)}
	}
	o.shape = shape[1:]
	return o
}

func shapeOf(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	if n.integer("start", 0) != 0 || n.attributes["end"].integer != 0 {
		return n.failf("only whole shapes are supported")
	}
	shape := fullShape(o)
	c := &constant{shape: []int{len(shape)}, whole: true}
	for _, d := range shape {
		if d < 0 {
			c.integers = append(c.integers, rowCount)
		} else {
			c.integers = append(c.integers, int64(d))
		}
	}
	return b.set(n, operand{constant: c})
}

const maxRank = 16
