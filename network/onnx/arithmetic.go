package onnx

import (
	"fmt"
	"math"
	"slices"
)

func arithmeticOf(b *builder, n *node) error {
	if len(n.inputs) != 2 {
		return n.failf("it has %d inputs; two are supported", len(n.inputs))
	}
	l, err := n.at(0)
	if err != nil {
		return err
	}
	r, err := n.at(1)
	if err != nil {
		return err
	}
	op := n.op
	if op == "Sum" {
		op = "Add"
	}
	switch {
	case l.constant != nil && r.constant != nil:
		return b.folded(n, op, l.constant, r.constant)
	case r.constant != nil:
		return b.withConstant(n, op, l, r.constant, false)
	case l.constant != nil:
		return b.withConstant(n, op, r, l.constant, true)
	}
	shape := l.shape
	switch {
	case len(l.shape) != len(r.shape):
		return n.failf("rows of shape %v and %v do not fit", l.shape, r.shape)
	case l.width() == 1:
		shape = r.shape
	case r.width() != 1 && !slices.Equal(l.shape, r.shape):
		return n.failf("rows of shape %v and %v do not fit", l.shape, r.shape)
	}
	if at, ok := b.siluOf(op, l.value, r.value); ok {
		y, err := b.value(shape)
		if err != nil {
			return err
		}
		return b.append(n, &unary{x: at, y: y.value, kind: silu, op: "Swish"}, y)
	}
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &arithmetic{op: op, a: l.value, b: r.value, y: y.value}, y)
}

// siluOf recognises x·σ(x), which is how SiLU is written, and returns x.
func (b *builder) siluOf(op string, l, r int) (x int, ok bool) {
	if op != "Mul" {
		return 0, false
	}
	for _, s := range b.steps {
		u, isUnary := s.(*unary)
		if !isUnary || u.kind != sigmoid {
			continue
		}
		if u.y == l && u.x == r || u.y == r && u.x == l {
			return u.x, true
		}
	}
	return 0, false
}

// folded computes with two constants.
func (b *builder) folded(n *node, op string, l, r *constant) error {
	u, err := l.asFloats()
	if err != nil {
		return err
	}
	v, err := r.asFloats()
	if err != nil {
		return err
	}
	shape := l.shape
	switch {
	case len(v) == 1 && len(r.shape) <= len(l.shape):
	case len(u) == 1 && len(l.shape) <= len(r.shape):
		shape = r.shape
	case !slices.Equal(l.shape, r.shape):
		return n.failf("constants of shape %v and %v are not combined", l.shape, r.shape)
	}
	c := &constant{shape: shape, whole: l.whole && r.whole}
	for i := range max(len(u), len(v)) {
		if len(u) == 0 || len(v) == 0 {
			break
		}
		y := combine(op, u[min(i, len(u)-1)], v[min(i, len(v)-1)])
		if !c.whole {
			c.floats = append(c.floats, y)
			continue
		}
		if float64(y) != math.Trunc(float64(y)) || math.Abs(float64(y)) > 1<<24 || op == "Div" {
			return n.failf("this arithmetic of integers is not supported")
		}
		c.integers = append(c.integers, int64(y))
	}
	return b.set(n, operand{constant: c})
}

func combine(op string, u, v float32) float32 {
	switch op {
	case "Add":
		return u + v
	case "Sub":
		return u - v
	case "Mul":
		return u * v
	}
	return u / v
}

// withConstant computes with rows and a constant; swapped says that the constant comes
// first.
func (b *builder) withConstant(n *node, op string, x operand, c *constant, swapped bool) error {
	numbers, err := c.asFloats()
	if err != nil {
		return err
	}
	if fused, err := b.addBias(n, op, x, c, numbers); fused || err != nil {
		return err
	}
	shape, numbers, err := broadcast(x.shape, c.shape, numbers)
	if err != nil {
		return err
	}
	if op == "Div" && swapped {
		y, err := b.value(x.shape)
		if err != nil {
			return err
		}
		at, _ := functions["Reciprocal"].of(n)
		b.steps = append(b.steps, &unary{x: x.value, y: y.value, at: at})
		x, op = y, "Mul"
	}
	factor, shift := make([]float32, len(numbers)), make([]float32, len(numbers))
	for j, v := range numbers {
		factor[j] = 1
		switch {
		case op == "Add":
			shift[j] = v
		case op == "Sub" && swapped:
			factor[j], shift[j] = -1, v
		case op == "Sub":
			shift[j] = -v
		case op == "Mul":
			factor[j] = v
		default:
			factor[j] = float32(1 / float64(v))
		}
	}
	return b.affine(n, x, shape, factor, shift)
}

// addBias makes an added constant the bias of the fully-connected layer that computes
// x, if that has none.
func (b *builder) addBias(n *node, op string, x operand, c *constant, numbers []float32) (fused bool, err error) {
	if op != "Add" || len(x.shape) != 1 || len(numbers) != x.width() || len(c.shape) > 2 {
		return false, nil
	}
	for _, s := range b.steps {
		d, ok := s.(*dense)
		if ok && d.y == x.value && d.bias == nil && b.uses[d.output] == 1 && slices.Contains(n.inputs, d.output) {
			d.bias = slices.Clone(numbers)
			return true, b.set(n, x)
		}
	}
	return false, nil
}

// broadcast returns a constant as one number for each column of the result, by the
// rules of NumPy, and the shape of the rows of the result.
func broadcast(rows, shape []int, numbers []float32) ([]int, []float32, error) {
	for len(shape) > len(rows) && shape[0] == 1 {
		shape = shape[1:]
	}
	if len(shape) > len(rows) {
		return nil, nil, fmt.Errorf("a constant of shape %v does not fit rows of shape %v", shape, rows)
	}
	full := slices.Concat(slices.Repeat([]int{1}, len(rows)-len(shape)), shape)
	result, n, x := make([]int, len(rows)), 1, 1
	for i, d := range rows {
		if result[i] = max(d, full[i]); d != full[i] && d != 1 && full[i] != 1 || full[i] == 0 || n > maxWidth/result[i] {
			return nil, nil, fmt.Errorf("a constant of shape %v does not fit rows of shape %v", shape, rows)
		}
		n *= result[i]
		x *= d
	}
	if x != 1 && x != n {
		return nil, nil, fmt.Errorf("rows of shape %v and a constant of shape %v are not combined", rows, shape)
	}
	all := make([]float32, n)
	index := make([]int, len(result))
	for k := range all {
		at := 0
		for i, d := range full {
			at = at*d + min(index[i], d-1)
		}
		all[k] = numbers[at]
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < result[i] {
				break
			}
			index[i] = 0
		}
	}
	return result, all, nil
}
