package onnx

import "math"

func identity(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	return b.set(n, o)
}

func dropout(b *builder, n *node) error {
	training, err := n.numberAt(2, 0)
	if err != nil {
		return err
	}
	if training != 0 {
		return n.failf("it is in training mode: export the model for inference (model.eval())")
	}
	return identity(b, n)
}

func cast(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	to := n.integer("to", 0)
	switch {
	case to == typeFloat || to == typeDouble || to == typeFloat16 || to == typeBFloat:
		if o.constant == nil || !o.constant.whole {
			return b.set(n, o)
		}
		floats, err := o.constant.asFloats()
		if err != nil {
			return err
		}
		return b.set(n, operand{constant: &constant{shape: o.constant.shape, floats: floats}})
	case to == typeInt32 || to == typeInt64:
		if o.constant == nil {
			return b.apply(n, plain, trunc)
		}
		if o.constant.whole {
			return b.set(n, o)
		}
		c := &constant{shape: o.constant.shape, whole: true}
		for _, v := range o.constant.floats {
			if math.Abs(float64(v)) > 1<<24 || v != v {
				return n.failf("%v is not an integer", v)
			}
			c.integers = append(c.integers, int64(v))
		}
		return b.set(n, operand{constant: c})
	}
	return n.failf("a cast to %s is not supported", typeName(to))
}

func constantOf(b *builder, n *node) error {
	c := &constant{shape: []int{}}
	for name, a := range n.attributes {
		switch name {
		case "value":
			if a.tensor == nil {
				return n.failf("it has no value")
			}
			var err error
			if c, err = newConstant(a.tensor); err != nil {
				return err
			}
		case "value_float":
			c.floats = []float32{a.float}
		case "value_floats":
			c.floats, c.shape = a.floats, []int{len(a.floats)}
		case "value_int":
			c.integers, c.whole = []int64{a.integer}, true
		case "value_ints":
			c.integers, c.shape, c.whole = a.integers, []int{len(a.integers)}, true
		default:
			return n.failf("attribute %s is not supported", name)
		}
	}
	if len(n.attributes) != 1 {
		return n.failf("it has %d values instead of one", len(n.attributes))
	}
	return b.set(n, operand{constant: c})
}
