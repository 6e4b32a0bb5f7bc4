package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// constant is a tensor that does not depend on the rows: weights in float32, or
// integers such as shapes and axes. Among the integers, the number of rows of a block
// is rowCount.
type constant struct {
	shape    []int
	floats   []float32
	integers []int64
	whole    bool // the numbers are in integers
}

// rowCount stands for the number of rows in a constant that came from a shape.
const rowCount = math.MinInt64

// maxElements bounds a tensor, so that products of dimensions cannot overflow.
const maxElements = 1 << 31

func (c *constant) len() int {
	if c.whole {
		return len(c.integers)
	}
	return len(c.floats)
}

// elements multiplies dimensions.
func elements(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxElements/d {
			return 0, fmt.Errorf("shape %v is too large", shape)
		}
		n *= d
	}
	return n, nil
}

// newConstant reads the numbers of a tensor.
func newConstant(t *tensorProto) (*constant, error) {
	if t.external {
		return nil, errors.New("its numbers are in another file: save the model with all weights inside")
	}
	c := &constant{shape: make([]int, len(t.dims))}
	for i, d := range t.dims {
		if d < 0 || d > maxElements {
			return nil, fmt.Errorf("shape %v is not one of a tensor", t.dims)
		}
		c.shape[i] = int(d)
	}
	n, err := elements(c.shape)
	if err != nil {
		return nil, err
	}
	if err := c.read(t); err != nil {
		return nil, err
	}
	if n == 0 && len(t.dims) > 0 && slices.Max(t.dims) > 1 {
		return nil, fmt.Errorf("a tensor of shape %v has no numbers", t.dims)
	}
	if c.len() != n {
		return nil, fmt.Errorf("shape %v takes %d numbers, the file has %d", c.shape, n, c.len())
	}
	return c, nil
}

func (c *constant) read(t *tensorProto) error {
	switch t.dtype {
	case typeFloat:
		c.floats = t.floats
	case typeDouble:
		for _, v := range t.doubles {
			c.floats = append(c.floats, float32(v))
		}
	case typeFloat16:
		for _, v := range t.integers {
			c.floats = append(c.floats, halfToFloat(uint16(v)))
		}
	case typeUint8, typeInt8, typeUint16, typeInt16, typeInt32, typeInt64, typeBool, typeUint32, typeUint64:
		c.whole, c.integers = true, t.integers
	default:
		return fmt.Errorf("numbers of %s are not supported", typeName(t.dtype))
	}
	if t.raw == nil {
		return nil
	}
	if c.len() > 0 {
		return errWire
	}
	return c.readRaw(t.dtype, t.raw)
}

// sizes are the bytes of a number in raw data.
var sizes = map[int64]int{typeFloat: 4, typeDouble: 8, typeFloat16: 2, typeUint8: 1, typeInt8: 1, typeBool: 1,
	typeUint16: 2, typeInt16: 2,
	typeInt32: 4, typeUint32: 4, typeInt64: 8, typeUint64: 8}

func (c *constant) readRaw(dtype int64, raw []byte) error {
	size := sizes[dtype]
	if len(raw)%size != 0 {
		return fmt.Errorf("%d bytes are not a whole number of %ss", len(raw), typeName(dtype))
	}
	little := binary.LittleEndian
	for ; len(raw) > 0; raw = raw[size:] {
		switch dtype {
		case typeFloat:
			c.floats = append(c.floats, math.Float32frombits(little.Uint32(raw)))
		case typeDouble:
			c.floats = append(c.floats, float32(math.Float64frombits(little.Uint64(raw))))
		case typeFloat16:
			c.floats = append(c.floats, halfToFloat(little.Uint16(raw)))
		case typeUint8, typeBool:
			c.integers = append(c.integers, int64(raw[0]))
		case typeInt8:
			c.integers = append(c.integers, int64(int8(raw[0])))
		case typeUint16:
			c.integers = append(c.integers, int64(little.Uint16(raw)))
		case typeInt16:
			c.integers = append(c.integers, int64(int16(little.Uint16(raw))))
		case typeInt32:
			c.integers = append(c.integers, int64(int32(little.Uint32(raw))))
		case typeUint32:
			c.integers = append(c.integers, int64(little.Uint32(raw)))
		default:
			c.integers = append(c.integers, int64(little.Uint64(raw)))
		}
	}
	return nil
}

// halfToFloat converts a half-precision number.
func halfToFloat(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, int(bits>>10&31), uint32(bits&1023)
	switch exponent {
	case 0: // zero or subnormal
		v := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | uint32(exponent+112)<<23 | fraction<<13)
}

// asFloats returns the numbers in float32.
func (c *constant) asFloats() ([]float32, error) {
	if !c.whole {
		return c.floats, nil
	}
	floats := make([]float32, len(c.integers))
	for i, v := range c.integers {
		if v == rowCount {
			return nil, errors.New("it computes with the number of rows")
		}
		floats[i] = float32(v)
	}
	return floats, nil
}

// withShape returns the same numbers in another shape.
func (c *constant) withShape(shape []int) *constant {
	return &constant{shape: shape, floats: c.floats, integers: c.integers, whole: c.whole}
}

// at returns the constant whose numbers are those of c at the given places.
func (c *constant) at(shape, places []int) *constant {
	r := &constant{shape: shape, whole: c.whole}
	for _, p := range places {
		if c.whole {
			r.integers = append(r.integers, c.integers[p])
		} else {
			r.floats = append(r.floats, c.floats[p])
		}
	}
	return r
}

// transposed returns the shape after a permutation of axes and, for each element of the
// result, its place in the original.
func transposed(shape, perm []int) (result, places []int) {
	strides := make([]int, len(shape))
	stride := 1
	for i, d := range slices.Backward(shape) {
		strides[i] = stride
		stride *= d
	}
	result = make([]int, len(shape))
	for i, axis := range perm {
		result[i] = shape[axis]
	}
	places = make([]int, stride)
	index := make([]int, len(shape))
	for k := range places {
		at := 0
		for i, axis := range perm {
			at += index[i] * strides[axis]
		}
		places[k] = at
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < result[i] {
				break
			}
			index[i] = 0
		}
	}
	return result, places
}

// alongAxis returns the shape and the places of the elements that remain when only the
// given indices of one axis are kept.
func alongAxis(shape []int, axis int, keep []int) (result, places []int) {
	result = slices.Clone(shape)
	result[axis] = len(keep)
	outer, inner := 1, 1
	for i, d := range shape {
		if i < axis {
			outer *= d
		} else if i > axis {
			inner *= d
		}
	}
	for o := range outer {
		for _, k := range keep {
			for i := range inner {
				places = append(places, (o*shape[axis]+k)*inner+i)
			}
		}
	}
	return result, places
}
