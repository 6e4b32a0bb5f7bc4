package onnx

import (
	"math"
	"slices"
)

func pow(b *builder, n *node) error {
	exponent, err := n.numberAt(1, 1)
	if err != nil {
		return err
	}
	return b.apply(n, plain, power(exponent))
}

func clip(b *builder, n *node) error {
	low, high := n.float("min", math.Inf(-1)), n.float("max", math.Inf(1))
	low, err := n.numberAt(1, low)
	if err != nil {
		return err
	}
	high, err = n.numberAt(2, high)
	if err != nil {
		return err
	}
	return b.apply(n, plain, clipped(low, high))
}

// compare writes 1 where rows compare with a constant as the operator says, 0 elsewhere.
func compare(b *builder, n *node) error {
	bound, err := n.numberAt(1, 0)
	if err != nil {
		return err
	}
	holds := map[string]func(z float64) bool{
		"Greater": func(z float64) bool { return z > bound }, "GreaterOrEqual": func(z float64) bool { return z >= bound },
		"Less": func(z float64) bool { return z < bound }, "LessOrEqual": func(z float64) bool { return z <= bound },
	}[n.op]
	return b.apply(n, plain, func(z float64) (value, slope float64) {
		if holds(z) {
			return 1, 0
		}
		return 0, 0
	})
}

// where chooses between two values, of which one or both may be a constant.
func where(b *builder, n *node) error {
	test, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	var sides [2]operand
	for i := range sides {
		if sides[i], err = n.at(i + 1); err != nil {
			return err
		}
		if c := sides[i].constant; c != nil {
			if sides[i], err = b.constantRows(test, c); err != nil {
				return err
			}
		}
		if !slices.Equal(sides[i].shape, test.shape) {
			return n.failf("rows of shape %v and %v do not fit", test.shape, sides[i].shape)
		}
	}
	y, err := b.value(test.shape)
	if err != nil {
		return err
	}
	return b.append(n, &whereStep{test: test.value, yes: sides[0].value, no: sides[1].value, y: y.value}, y)
}

// constantRows returns a value whose rows all hold the constant, in the shape of like.
func (b *builder) constantRows(like operand, c *constant) (operand, error) {
	numbers, err := c.asFloats()
	if err != nil {
		return operand{}, err
	}
	shape, numbers, err := broadcast(like.shape, c.shape, numbers)
	if err != nil {
		return operand{}, err
	}
	y, err := b.value(shape)
	if err != nil {
		return operand{}, err
	}
	b.steps = append(b.steps, &affine{x: like.value, y: y.value, a: make([]float32, len(numbers)), b: numbers})
	return y, nil
}

func preluOf(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	slopes, err := n.floatsAt(1)
	if err != nil {
		return err
	}
	if len(slopes) != 1 && (len(slopes) != x.width() || len(x.shape) != 1) {
		return n.failf("it has %d slopes for rows of shape %v", len(slopes), x.shape)
	}
	y, err := b.value(x.shape)
	if err != nil {
		return err
	}
	return b.append(n, &prelu{x: x.value, y: y.value, slope: slopes}, y)
}
