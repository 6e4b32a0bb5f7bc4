package onnx

import (
	"math"
	"slices"
)

// keepAlong keeps the given indices of one axis, of rows or of a constant, whose axis
// counts from 0 without that of the rows.
func (b *builder) keepAlong(n *node, output string, o operand, axis int, keep []int) error {
	if o.constant != nil {
		shape := slices.Clone(o.constant.shape)
		shape[axis] = len(keep)
		if size, err := elements(shape); err != nil || size > maxDerived {
			return errTooLarge
		}
		shape, places := alongAxis(o.constant.shape, axis, keep)
		b.names[output] = operand{constant: o.constant.at(shape, places)}
		return nil
	}
	shape := slices.Clone(o.shape)
	shape[axis] = len(keep)
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	_, places := alongAxis(o.shape, axis, keep)
	b.steps = append(b.steps, &columnCopy{y: y.value, runs: runsOf(o.value, places)})
	b.names[output] = y
	return nil
}

// runsOf joins neighbouring columns.
func runsOf(from int, places []int) (runs []columnRun) {
	for at, p := range places {
		if last := len(runs) - 1; last >= 0 && runs[last].first+runs[last].n == p {
			runs[last].n++
			continue
		}
		runs = append(runs, columnRun{from, p, at, 1})
	}
	return runs
}

// axisOf returns an axis of an operand as keepAlong counts it, and its length.
func (n *node) axisOf(axis int64, o operand) (at, size int, err error) {
	if o.constant != nil {
		if at, err = n.axis(axis, len(o.constant.shape)); err != nil {
			return 0, 0, err
		}
		return at, o.constant.shape[at], nil
	}
	if at, err = n.rowAxis(axis, o); err != nil {
		return 0, 0, err
	}
	return at, o.shape[at], nil
}

func slice(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	var lists [4][]int64
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		if lists[i], err = n.list(name, i+1); err != nil {
			return err
		}
	}
	starts, ends, axes, steps := lists[0], lists[1], lists[2], lists[3]
	if len(starts) == 0 || len(ends) != len(starts) || axes != nil && len(axes) != len(starts) || steps != nil &&
		len(steps) != len(starts) {
		return n.failf("it has %d starts, %d ends, %d axes and %d steps", len(starts), len(ends), len(axes), len(steps))
	}
	for i := range starts {
		axis, step := int64(i), int64(1)
		if axes != nil {
			axis = axes[i]
		}
		if steps != nil {
			step = steps[i]
		}
		if axis == 0 && o.constant == nil && starts[i] == 0 && ends[i] >= math.MaxInt32 && step == 1 {
			continue // all rows
		}
		at, size, err := n.axisOf(axis, o)
		if err != nil {
			return err
		}
		keep, err := n.indices(starts[i], ends[i], step, size)
		if err != nil {
			return err
		}
		if err := b.keepAlong(n, n.outputs[0], o, at, keep); err != nil {
			return err
		}
		o = b.names[n.outputs[0]]
	}
	return b.set(n, o)
}

// indices lists what a slice keeps of an axis.
func (n *node) indices(start, end, step int64, size int) (keep []int, err error) {
	if step == 0 || start == rowCount || end == rowCount {
		return nil, n.failf("it goes from %d to %d in steps of %d", start, end, step)
	}
	from := func(v, low, high int64) int64 {
		if v < 0 {
			v += int64(size)
		}
		return min(max(v, low), high)
	}
	if step > 0 {
		for i := from(start, 0, int64(size)); i < from(end, 0, int64(size)); i += min(step, int64(size)) {
			keep = append(keep, int(i))
		}
	} else {
		for i := from(start, -1, int64(size)-1); i > from(end, -1, int64(size)-1); i += max(step, -int64(size)) {
			keep = append(keep, int(i))
		}
	}
	if len(keep) == 0 {
		return nil, n.failf("nothing remains from %d to %d of %d columns", start, end, size)
	}
	return keep, nil
}

func split(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	axis, size, err := n.axisOf(n.integer("axis", 0), o)
	if err != nil {
		return err
	}
	lengths, err := n.list("split", 1)
	if err != nil {
		return err
	}
	if lengths == nil {
		each := ceilDiv(size, len(n.outputs))
		for at := 0; at < size; at += each {
			lengths = append(lengths, int64(min(each, size-at)))
		}
	}
	if len(lengths) != len(n.outputs) {
		return n.failf("it splits %d columns into %v for %d outputs", size, lengths, len(n.outputs))
	}
	at := 0
	for i, length := range lengths {
		if length < 1 || length > int64(size-at) {
			return n.failf("it splits %d columns into %v", size, lengths)
		}
		keep := make([]int, length)
		for k := range keep {
			keep[k] = at + k
		}
		at += int(length)
		if n.outputs[i] == "" {
			continue
		}
		if err := b.keepAlong(n, n.outputs[i], o, axis, keep); err != nil {
			return err
		}
	}
	return nil
}

func gather(b *builder, n *node) error {
	data, err := n.at(0)
	if err != nil {
		return err
	}
	index, err := n.at(1)
	if err != nil {
		return err
	}
	if index.constant == nil {
		return b.embedding(n, index)
	}
	axis, size, err := n.axisOf(n.integer("axis", 0), data)
	if err != nil {
		return err
	}
	if !index.constant.whole || index.constant.len() == 0 || len(index.constant.shape) > 1 {
		return n.failf("indices of shape %v are not a list of integers", index.constant.shape)
	}
	keep := make([]int, index.constant.len())
	for i, k := range index.constant.integers {
		if k < 0 {
			k += int64(size)
		}
		if k < 0 || k >= int64(size) {
			return n.failf("index %d is not one of %d", index.constant.integers[i], size)
		}
		keep[i] = int(k)
	}
	if err := b.keepAlong(n, n.outputs[0], data, axis, keep); err != nil {
		return err
	}
	if len(index.constant.shape) == 1 {
		return nil
	}
	// A single index takes the axis away.
	o := b.names[n.outputs[0]]
	if o.constant != nil {
		return b.set(n, operand{constant: o.constant.withShape(slices.Delete(slices.Clone(o.constant.shape), axis, axis+1))})
	}
	o.shape = slices.Delete(slices.Clone(o.shape), axis, axis+1)
	return b.set(n, o)
}

// embedding looks rows of a table up.
func (b *builder) embedding(n *node, index operand) error {
	if n.integer("axis", 0) != 0 {
		return n.failf("it looks up along axis %d; only the rows of a table are supported", n.integer("axis", 0))
	}
	table, err := n.weightsAt(0)
	if err != nil {
		return err
	}
	y, err := b.value(slices.Concat(index.shape, []int{table.Cols}))
	if err != nil {
		return err
	}
	return b.append(n, &lookup{x: index.value, y: y.value, node: n.label(), table: table}, y)
}
