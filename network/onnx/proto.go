package onnx

// The wire format of ONNX: protocol buffers, read field by field. Only the fields that
// matter here are kept; others are skipped. No message contains itself, because
// subgraphs are never entered, so the depth of the decoder is fixed. Memory stays
// within a small multiple of the file, because every number that is kept takes at least
// one byte there.

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// modelProto is the contents of a file.
type modelProto struct {
	opset    int64             // of the default domain
	graph    graphProto        // nodes, weights, inputs and outputs
	metadata map[string]string // texts by name
}

type graphProto struct {
	nodes        []nodeProto
	initializers []tensorProto
	inputs       []valueProto
	outputs      []valueProto
}

type nodeProto struct {
	inputs, outputs  []string
	name, op, domain string
	attributes       map[string]attribute
}

// attribute holds whichever of its fields the file sets.
type attribute struct {
	float    float32
	integer  int64
	text     string
	tensor   *tensorProto
	floats   []float32
	integers []int64
}

// valueProto is an input or output with its type.
type valueProto struct {
	name  string
	dtype int64
	known bool    // the file gives a shape
	shape []int64 // -1 where a dimension has a name or nothing
}

type tensorProto struct {
	name     string
	dims     []int64
	dtype    int64
	raw      []byte
	floats   []float32
	doubles  []float64
	integers []int64 // of int32_data, int64_data and uint64_data
	external bool
}

// Element types of the format.
const (
	typeFloat   = 1
	typeUint8   = 2
	typeInt8    = 3
	typeUint16  = 4
	typeInt16   = 5
	typeInt32   = 6
	typeInt64   = 7
	typeBool    = 9
	typeFloat16 = 10
	typeDouble  = 11
	typeUint32  = 12
	typeUint64  = 13
	typeBFloat  = 16
)

var errWire = errors.New("the file is damaged, or it is no ONNX model")

// field is one field of a message: a number for varint and fixed fields, bytes for the
// others.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
	bytes  []byte
}

// fields calls f for each field of a message.
func fields(message []byte, f func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		one := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			one.value, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			one.value = uint64(v)
		case protowire.Fixed64Type:
			one.value, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			one.bytes, n = protowire.ConsumeBytes(message)
		default:
			return errWire
		}
		if n < 0 {
			return errWire
		}
		message = message[n:]
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// decodeModel reads a file.
func decodeModel(raw []byte) (*modelProto, error) {
	m := &modelProto{metadata: map[string]string{}}
	graphs := 0
	err := fields(raw, func(f field) error {
		switch f.number {
		case 7:
			graphs++
			return m.graph.decode(f.bytes)
		case 8:
			return m.decodeOpset(f.bytes)
		case 14:
			return m.decodeMetadata(f.bytes)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case graphs != 1:
		return nil, errWire
	case m.opset == 0:
		return nil, errors.New("the file does not say which version of the operators it uses")
	}
	return m, nil
}

func (m *modelProto) decodeOpset(message []byte) error {
	domain, version := "", int64(0)
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			domain = string(f.bytes)
		case 2:
			version = int64(f.value)
		}
		return nil
	})
	if isDefault(domain) {
		m.opset = version
	}
	return err
}

// isDefault reports whether a domain is that of the standard operators.
func isDefault(domain string) bool { return domain == "" || domain == "ai.onnx" }

func (m *modelProto) decodeMetadata(message []byte) error {
	key, value := "", ""
	err := fields(message, func(f field) error {
		switch f.number {
		case 1:
			key = string(f.bytes)
		case 2:
			value = string(f.bytes)
		}
		return nil
	})
	m.metadata[key] = value
	return err
}

func (g *graphProto) decode(message []byte) error {
	return fields(message, func(f field) error {
		switch f.number {
		case 1:
			var n nodeProto
			err := n.decode(f.bytes)
			g.nodes = append(g.nodes, n)
			return err
		case 5:
			var t tensorProto
			err := t.decode(f.bytes)
			g.initializers = append(g.initializers, t)
			return err
		case 11, 12:
			v, err := decodeValue(f.bytes)
			if f.number == 11 {
				g.inputs = append(g.inputs, v)
			} else {
				g.outputs = append(g.outputs, v)
			}
			return err
		case 15:
			return errors.New("the file has sparse weights, which are not supported")
		}
		return nil
	})
}

func (n *nodeProto) decode(message []byte) error {
	n.attributes = map[string]attribute{}
	return fields(message, func(f field) error {
		switch f.number {
		case 1:
			n.inputs = append(n.inputs, string(f.bytes))
		case 2:
			n.outputs = append(n.outputs, string(f.bytes))
		case 3:
			n.name = string(f.bytes)
		case 4:
			n.op = string(f.bytes)
		case 5:
			return n.decodeAttribute(f.bytes)
		case 7:
			n.domain = string(f.bytes)
		}
		return nil
	})
}

func (n *nodeProto) decodeAttribute(message []byte) error {
	name, a := "", attribute{}
	err := fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 2:
			a.float = math.Float32frombits(uint32(f.value))
		case 3:
			a.integer = int64(f.value)
		case 4:
			a.text = string(f.bytes)
		case 5:
			a.tensor = &tensorProto{}
			err = a.tensor.decode(f.bytes)
		case 7:
			a.floats, err = appendFloats(a.floats, f)
		case 8:
			a.integers, err = appendIntegers(a.integers, f)
		}
		return err
	})
	n.attributes[name] = a
	return err
}

func decodeValue(message []byte) (v valueProto, err error) {
	err = fields(message, func(f field) error {
		switch f.number {
		case 1:
			v.name = string(f.bytes)
		case 2:
			return fields(f.bytes, func(kind field) error {
				if kind.number != 1 {
					return nil // a sequence or a map, which has no element type here
				}
				return v.decodeTensorType(kind.bytes)
			})
		}
		return nil
	})
	return v, err
}

func (v *valueProto) decodeTensorType(message []byte) error {
	return fields(message, func(f field) error {
		switch f.number {
		case 1:
			v.dtype = int64(f.value)
		case 2:
			v.known = true
			return fields(f.bytes, func(dim field) error {
				if dim.number != 1 {
					return nil
				}
				size := int64(-1)
				err := fields(dim.bytes, func(d field) error {
					if d.number == 1 {
						size = int64(d.value)
					}
					return nil
				})
				v.shape = append(v.shape, size)
				return err
			})
		}
		return nil
	})
}

func (t *tensorProto) decode(message []byte) error {
	return fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			t.dims, err = appendIntegers(t.dims, f)
		case 2:
			t.dtype = int64(f.value)
		case 4:
			t.floats, err = appendFloats(t.floats, f)
		case 5, 7, 11:
			t.integers, err = appendIntegers(t.integers, f)
		case 8:
			t.name = string(f.bytes)
		case 9:
			t.raw = f.bytes
		case 10:
			t.doubles, err = appendDoubles(t.doubles, f)
		case 13:
			t.external = true
		case 14:
			t.external = t.external || f.value != 0
		}
		return err
	})
}

// appendIntegers reads a repeated integer, packed or not.
func appendIntegers(to []int64, f field) ([]int64, error) {
	if f.kind == protowire.VarintType {
		return append(to, int64(f.value)), nil
	}
	for rest := f.bytes; len(rest) > 0; {
		v, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return nil, errWire
		}
		to, rest = append(to, int64(v)), rest[n:]
	}
	return to, nil
}

func appendFloats(to []float32, f field) ([]float32, error) {
	if f.kind == protowire.Fixed32Type {
		return append(to, math.Float32frombits(uint32(f.value))), nil
	}
	for rest := f.bytes; len(rest) > 0; {
		v, n := protowire.ConsumeFixed32(rest)
		if n < 0 {
			return nil, errWire
		}
		to, rest = append(to, math.Float32frombits(v)), rest[n:]
	}
	return to, nil
}

func appendDoubles(to []float64, f field) ([]float64, error) {
	if f.kind == protowire.Fixed64Type {
		return append(to, math.Float64frombits(f.value)), nil
	}
	for rest := f.bytes; len(rest) > 0; {
		v, n := protowire.ConsumeFixed64(rest)
		if n < 0 {
			return nil, errWire
		}
		to, rest = append(to, math.Float64frombits(v)), rest[n:]
	}
	return to, nil
}

// typeName returns the name of an element type for messages.
func typeName(dtype int64) string {
	names := map[int64]string{typeFloat: "float", typeUint8: "uint8", typeInt8: "int8",
		typeUint16: "uint16", typeInt16: "int16",
		typeInt32: "int32", typeInt64: "int64", 8: "string", typeBool: "bool", typeFloat16: "float16", typeDouble: "double",
		typeUint32: "uint32", typeUint64: "uint64", typeBFloat: "bfloat16"}
	if name, ok := names[dtype]; ok {
		return name
	}
	return fmt.Sprintf("type %d", dtype)
}
