package onnx

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Names in the files that Save writes.
const (
	inputName  = "rows"
	outputName = "prediction"

	metadataColumns = "nextbatch.columns"

	writtenOpset = 17
	writtenIR    = 8
)

// Save writes a fitted model with one network as an ONNX file, which appears under its
// name only when it is complete. The graph takes raw rows, in the order of the model's
// columns after encoding, and returns labels in their own units: it contains the scaling
// of both. Metadata holds σ_w, σ_b and how a table becomes rows, so that Load returns
// the same kernels. The posterior and the intervals are not part of the file.
func Save(path string, m *network.Model) error {
	raw, err := Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, raw)
}

// Marshal returns the contents of the file that Save writes.
func Marshal(m *network.Model) ([]byte, error) {
	ensemble := m.Ensemble()
	if len(ensemble) != 1 {
		return nil, fmt.Errorf("an ONNX file holds one network, the model has %d", len(ensemble))
	}
	inputs, labels := m.Scaling()
	for j, centre := range m.Centres() {
		inputs.Mean[j] += centre
	}
	w := &writer{}
	w.scaleInputs(inputs)
	w.perceptron(ensemble[0])
	w.scaleLabels(labels)
	columns := m.Columns()
	if columns != nil {
		raw := *columns
		raw.Centres = nil // the graph subtracts them
		columns = &raw
	}
	return w.file(ensemble[0], columns)
}

// writer collects the nodes and weights of a graph. The last result is the input of the
// next node.
type writer struct {
	graph []byte
	last  string
	count int
}

// message returns a field that holds a message.
func message(number protowire.Number, contents []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), contents)
}

func text(number protowire.Number, s string) []byte { return message(number, []byte(s)) }

func integer(number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
}

// name returns a new name for a tensor.
func (w *writer) name(of string) string {
	w.count++
	return fmt.Sprintf("%s_%d", of, w.count)
}

// node appends a node with one output and the given attributes.
func (w *writer) node(op, output string, inputs ...string) { w.nodeWith(op, output, nil, inputs...) }

func (w *writer) nodeWith(op, output string, attributes []byte, inputs ...string) {
	var n []byte
	for _, in := range inputs {
		n = append(n, text(1, in)...)
	}
	n = append(n, text(2, output)...)
	n = append(n, text(3, output)...)
	n = append(n, text(4, op)...)
	w.graph = append(w.graph, message(1, append(n, attributes...))...)
	w.last = output
}

// apply appends a node that takes the last result first.
func (w *writer) apply(op string, more ...string) {
	w.node(op, w.name(op), append([]string{w.last}, more...)...)
}

// weight appends numbers and returns their name.
func (w *writer) weight(numbers []float32, shape ...int) string {
	name := w.name("weight")
	var t, raw []byte
	for _, d := range shape {
		t = append(t, integer(1, uint64(d))...)
	}
	for _, v := range numbers {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	t = append(t, integer(2, typeFloat)...)
	t = append(t, text(8, name)...)
	t = append(t, message(9, raw)...)
	w.graph = append(w.graph, message(5, t)...)
	return name
}

// scaleInputs writes 5·tanh((x - mean)/(5·deviation)). The mean is subtracted in two parts, as
// float32 would round one that is far from zero by more than the inputs differ.
func (w *writer) scaleInputs(s encode.Scaler) {
	const clip = 5
	shift, rest, factor := make([]float32, len(s.Mean)), make([]float32, len(s.Mean)), make([]float32, len(s.Mean))
	for j, mean := range s.Mean {
		shift[j] = float32(mean)
		rest[j] = float32(mean - float64(shift[j]))
		if s.Deviation[j] > 0 {
			factor[j] = float32(1 / (clip * s.Deviation[j]))
		}
	}
	w.last = inputName
	w.apply("Sub", w.weight(shift, len(shift)))
	w.apply("Sub", w.weight(rest, len(rest)))
	w.apply("Mul", w.weight(factor, len(factor)))
	w.apply("Tanh")
	w.apply("Mul", w.weight([]float32{clip}))
}

// scaleLabels writes deviation·z + mean.
func (w *writer) scaleLabels(s encode.LabelScaler) {
	w.apply("Mul", w.weight([]float32{float32(s.Deviation)}))
	w.node("Add", outputName, w.last, w.weight([]float32{float32(s.Mean)}))
}

// perceptron writes the layers, with the weights as they act: (σ_w/√d)·W and σ_b·b.
func (w *writer) perceptron(net *network.MLP) {
	if w.last == "" {
		w.last = inputName
	}
	a := net.Architecture()
	for l := range net.Layers() {
		weights := net.Weights(l)
		factor := a.SigmaW / math.Sqrt(float64(weights.Rows))
		w.apply("Gemm", w.weight(times(weights, factor), weights.Rows, weights.Cols),
			w.weight(scaled(net.Bias(l), *a.SigmaB), weights.Cols))
		if l < net.Layers()-1 {
			w.activation(a.Activation)
		}
	}
}

func times(m matrix.Dense[float32], factor float64) []float32 {
	return scaled(m.Clone().Data, factor)
}

func (w *writer) activation(a network.Activation) {
	z := w.last
	switch a {
	case network.ReLU:
		w.apply("Relu")
	case network.SiLU:
		w.apply("Sigmoid")
		w.apply("Mul", z)
	case network.Tanh:
		w.apply("Tanh")
	case network.GELU:
		w.apply("Div", w.weight([]float32{math.Sqrt2}))
		w.apply("Erf")
		w.apply("Add", w.weight([]float32{1}))
		w.apply("Mul", z)
		w.apply("Mul", w.weight([]float32{0.5}))
	case network.SELU:
		w.apply("Selu")
	case network.ELU:
		w.apply("Elu")
	case network.LeakyReLU:
		w.nodeWith("LeakyRelu", w.name("LeakyRelu"), floatAttribute("alpha", 0.01), z)
	case network.Softplus:
		w.apply("Softplus")
	case network.Sigmoid:
		w.apply("Sigmoid")
	}
}

func floatAttribute(name string, v float32) []byte {
	a := text(1, name)
	a = protowire.AppendFixed32(protowire.AppendTag(a, 2, protowire.Fixed32Type), math.Float32bits(v))
	a = append(a, integer(20, 1)...) // the type: a float
	return message(5, a)
}

// declaration is the name and type of an input or output, with any number of rows and the
// given number of columns.
func declaration(name string, columns int) []byte {
	rows, width := message(1, text(2, "rows")), message(1, integer(1, uint64(columns)))
	tensor := append(integer(1, typeFloat), message(2, append(rows, width...))...)
	return append(text(1, name), message(2, message(1, tensor))...)
}

// file returns the model with its metadata.
func (w *writer) file(net *network.MLP, columns *encode.Encoder) ([]byte, error) {
	a := net.Architecture()
	g := append(w.graph, text(2, "nextbatch")...)
	g = append(g, message(11, declaration(inputName, net.Inputs()))...)
	g = append(g, message(12, declaration(outputName, net.Outputs()))...)
	out := integer(1, writtenIR)
	out = append(out, text(2, "nextbatch")...)
	out = append(out, message(7, g)...)
	out = append(out, message(8, append(text(1, ""), integer(2, writtenOpset)...))...)
	metadata := [][2]string{
		{metadataSigmaW, strconv.FormatFloat(a.SigmaW, 'g', -1, 64)},
		{metadataSigmaB, strconv.FormatFloat(*a.SigmaB, 'g', -1, 64)},
	}
	if columns != nil {
		encoded, err := json.Marshal(columns)
		if err != nil {
			return nil, err
		}
		metadata = append(metadata, [2]string{metadataColumns, string(encoded)})
	}
	for _, m := range metadata {
		out = append(out, message(14, append(text(1, m[0]), text(2, m[1])...))...)
	}
	return out, nil
}
