package onnx

// A description says how the tensors of a safetensors file make a network:
//
//	{"weights": "net.safetensors", "inputs": 10, "layers": [
//	  {"op": "Linear", "name": "0"},
//	  {"op": "ReLU", "as": "hidden"},
//	  {"op": "Linear", "name": "2"},
//	  {"op": "Add", "from": ["", "hidden"]},
//	  {"op": "Linear", "name": "out"}]}
//
// A layer has the name of PyTorch's class. Its tensors are name.weight, name.bias and so
// on, as in a state dictionary. It takes the results in from, by the names that as gave
// them; the empty name is the layer before, and "inputs" the rows. The layers become the
// nodes of a graph, which is checked like that of an ONNX file.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nextbatch/nextbatch/network"
)

type description struct {
	Weights string           `json:"weights"` // beside the description
	Inputs  int64            `json:"inputs"`
	Layers  []describedLayer `json:"layers"`
}

type describedLayer struct {
	Op    string   `json:"op"`
	Name  string   `json:"name"`
	As    string   `json:"as"`
	From  []string `json:"from"`
	Alpha *float32 `json:"alpha"`
	Eps   *float32 `json:"eps"`
}

// classes are PyTorch's classes as operators, with the tensors that they have.
var classes = map[string]struct {
	op      string
	tensors []string // a question mark says that there may be none
	alpha   float32  // where it is not the operator's own
}{
	"Linear":      {op: "Gemm", tensors: []string{"weight", "bias?"}},
	"BatchNorm1d": {op: "BatchNormalization", tensors: []string{"weight", "bias", "running_mean", "running_var"}},
	"LayerNorm":   {op: "LayerNormalization", tensors: []string{"weight", "bias?"}},
	"PReLU":       {op: "PRelu", tensors: []string{"weight"}},
	"ReLU":        {op: "Relu"}, "LeakyReLU": {op: "LeakyRelu"}, "ELU": {op: "Elu"},
	"SELU": {op: "Selu"}, "CELU": {op: "Celu"},
	"SiLU": {op: "Swish"}, "GELU": {op: "Gelu"}, "Mish": {op: "Mish"}, "Hardswish": {op: "HardSwish"},
	"Sigmoid": {op: "Sigmoid"}, "Tanh": {op: "Tanh"},
	"Softplus": {op: "Softplus"}, "Softsign": {op: "Softsign"}, "Hardsigmoid": {op: "HardSigmoid", alpha: 1.0 / 6},
	"Dropout": {op: "Identity"}, "Identity": {op: "Identity"}, "Flatten": {op: "Flatten"},
	"Add": {op: "Add"}, "Mul": {op: "Mul"}, "Concat": {op: "Concat"},
}

// LoadDescribed reads a description and the safetensors file that it names.
func LoadDescribed(path string, o Options) (*Network, error) {
	d, err := openDescription(path)
	if err != nil {
		return nil, err
	}
	weights := d.weightsBeside(path)
	raw, err := os.ReadFile(weights)
	if err != nil {
		return nil, err
	}
	tensors, err := network.ReadTensors(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", weights, err)
	}
	m, err := d.model(tensors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	net, err := newNetwork(m, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return net, nil
}

// WeightsFile returns the safetensors file that a description names.
func WeightsFile(path string) (string, error) {
	d, err := openDescription(path)
	if err != nil {
		return "", err
	}
	return d.weightsBeside(path), nil
}

func (d *description) weightsBeside(path string) string {
	return filepath.Join(filepath.Dir(path), d.Weights)
}

func openDescription(path string) (*description, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d, err := readDescription(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func readDescription(text []byte) (*description, error) {
	d := &description{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, err
	}
	switch {
	case !filepath.IsLocal(d.Weights):
		return nil, fmt.Errorf("weights must name a safetensors file beside the description, not %q", d.Weights)
	case d.Inputs < 1 || d.Inputs > maxWidth:
		return nil, fmt.Errorf("inputs must be from 1 to %d, not %d", maxWidth, d.Inputs)
	case len(d.Layers) == 0:
		return nil, fmt.Errorf("there are no layers")
	}
	return d, nil
}

// describedOpset is the version of the operators that layers become.
const describedOpset = 24

// model returns the layers as a graph.
func (d *description) model(tensors map[string]network.Tensor) (*modelProto, error) {
	m := &modelProto{opset: describedOpset}
	g := &m.graph
	for name, t := range tensors {
		p := tensorProto{name: "tensor " + name, dtype: typeFloat, floats: t.Numbers}
		for _, n := range t.Shape {
			p.dims = append(p.dims, int64(n))
		}
		g.initializers = append(g.initializers, p)
	}
	g.inputs = []valueProto{{name: "inputs", dtype: typeFloat, known: true, shape: []int64{-1, d.Inputs}}}
	last := "inputs"
	for i, l := range d.Layers {
		n, err := l.node(i, last, tensors)
		if err != nil {
			return nil, fmt.Errorf("layer %d (%s): %w", i, l.Op, err)
		}
		g.nodes = append(g.nodes, n)
		last = n.outputs[0]
	}
	g.outputs = []valueProto{{name: last}}
	return m, nil
}

// node returns a layer as a node.
func (l describedLayer) node(i int, last string, tensors map[string]network.Tensor) (nodeProto, error) {
	class, ok := classes[l.Op]
	if !ok {
		return nodeProto{}, fmt.Errorf("the class is not supported")
	}
	n := nodeProto{name: fmt.Sprintf("layer %d", i), op: class.op, attributes: map[string]attribute{}}
	n.outputs = []string{n.name}
	if l.As != "" {
		n.outputs[0] = l.As
	}
	if l.From == nil {
		l.From = []string{""}
	}
	for _, name := range l.From {
		if name == "" {
			name = last
		}
		n.inputs = append(n.inputs, name)
	}
	for _, suffix := range class.tensors {
		suffix, optional := bytes.CutSuffix([]byte(suffix), []byte("?"))
		name := l.Name + "." + string(suffix)
		if _, there := tensors[name]; !there && optional {
			continue
		} else if !there {
			return n, fmt.Errorf("there is no tensor %q", name)
		}
		n.inputs = append(n.inputs, "tensor "+name)
	}
	l.attributes(n.attributes, class.op, class.alpha)
	return n, nil
}

func (l describedLayer) attributes(to map[string]attribute, op string, alpha float32) {
	switch {
	case op == "Gemm":
		to["transB"] = attribute{integer: 1}
	case op == "Concat":
		to["axis"] = attribute{integer: 1}
	case l.Alpha != nil:
		to["alpha"] = attribute{float: *l.Alpha}
	case alpha != 0:
		to["alpha"] = attribute{float: alpha}
	}
	if l.Eps != nil {
		to["epsilon"] = attribute{float: *l.Eps}
	}
}
