package onnx

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Network is a graph that has been checked and is ready to run. It takes rows of raw
// numbers, whatever scaling its own pipeline expects.
type Network struct {
	widths []int       // of values
	inputs map[int]int // first column of a row for each value that is an input
	steps  []step
	output int // value
	name   string

	// top is the value whose gradients the kernels use: the output before a scale and
	// a shift at the end of the graph, which only turn it into the units of the labels.
	top int

	layers   []int // steps with parameters, the last fully-connected one at the end
	layerOf  []int // by step: its place in layers, or -1
	upstream []int // by value: the last layer that it depends on, or -1

	sigmaW, sigmaB float64
	named          map[string]int  // values by the names of their tensors
	columns        *encode.Encoder // of a table, if the file describes them
}

// Options say how to read a network. The zero value reads the only output of a graph and
// uses the constants of the file, or the paper's.
type Options struct {
	Output string // the output to predict, where the graph has several

	// SigmaW and SigmaB are σ_w and σ_b of the kernels: weights count as σ_w/√d times
	// those in neural tangent parametrization, biases as σ_b. Zero means those that
	// nextbatch wrote into the file or else those of the paper, which has others for
	// smooth activations (network.Architecture).
	SigmaW, SigmaB float64
}

// maxFile is the size of the largest file that is read.
const maxFile = 1 << 31

// Load reads an ONNX file.
func Load(path string, o Options) (*Network, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), maxFile)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	net, err := Parse(raw, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return net, nil
}

// Parse reads the contents of an ONNX file.
func Parse(raw []byte, o Options) (*Network, error) {
	m, err := decodeModel(raw)
	if err != nil {
		return nil, err
	}
	return newNetwork(m, o)
}

func newNetwork(m *modelProto, o Options) (*Network, error) {
	for name, v := range map[string]float64{"σ_w": o.SigmaW, "σ_b": o.SigmaB} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%s is %v, but must be positive and finite", name, v)
		}
	}
	net, err := build(m, o.Output)
	if err != nil {
		return nil, err
	}
	paper := network.ReLUPreset().Architecture
	if net.uses(smooth) && !net.uses(kinked) {
		paper = network.SiLUPreset().Architecture
	}
	net.sigmaW, net.sigmaB = paper.SigmaW, *paper.SigmaB
	if err := net.readMetadata(m.metadata); err != nil {
		return nil, err
	}
	net.sigmaW, net.sigmaB = cmp.Or(o.SigmaW, net.sigmaW), cmp.Or(o.SigmaB, net.sigmaB)
	return net, net.parametrise()
}

// Names of the constants in the metadata of a file.
const (
	metadataSigmaW = "nextbatch.sigma_w"
	metadataSigmaB = "nextbatch.sigma_b"
)

// readMetadata reads what Save leaves in a file.
func (net *Network) readMetadata(metadata map[string]string) error {
	for name, to := range map[string]*float64{metadataSigmaW: &net.sigmaW, metadataSigmaB: &net.sigmaB} {
		text, ok := metadata[name]
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0 || v == 0 && name == metadataSigmaB) || math.IsInf(v, 1) {
			return fmt.Errorf("metadata %s is %q, but must be a positive number", name, text)
		}
		*to = v
	}
	text, ok := metadata[metadataColumns]
	if !ok {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &net.columns); err != nil {
		return fmt.Errorf("metadata %s: %w", metadataColumns, err)
	}
	if net.columns == nil || len(net.columns.Features()) != net.Inputs() {
		return fmt.Errorf("metadata %s does not describe the %d inputs of the network", metadataColumns, net.Inputs())
	}
	return nil
}

// Columns returns how a table becomes rows, for a file that Save wrote; nil for others.
func (net *Network) Columns() *encode.Encoder { return net.columns }

// smooth and kinked are the activations that decide which constants of the paper apply.
var (
	smooth = []string{"Tanh", "Sigmoid", "Softplus", "Softsign", "Erf", "Mish", "Elu", "Celu", "Selu", "Swish", "Gelu"}
	kinked = []string{"Relu", "LeakyRelu", "ThresholdedRelu", "HardSwish", "HardSigmoid", "PRelu"}
)

// uses reports whether an activation of the list is in the network.
func (net *Network) uses(list []string) bool {
	return slices.ContainsFunc(net.steps, func(s step) bool {
		op := ""
		switch s := s.(type) {
		case *unary:
			op = s.op
		case *prelu:
			op = "PRelu"
		case *dense:
			if s.then != nil {
				op = s.then.op
			}
		}
		return slices.Contains(list, op)
	})
}

// parametrise sets what depends on σ_w and σ_b.
func (net *Network) parametrise() error {
	for _, s := range net.steps {
		switch s := s.(type) {
		case *dense:
			if net.sigmaB == 0 && slices.ContainsFunc(s.bias, func(v float32) bool { return v != 0 }) {
				return fmt.Errorf("node %q has biases, but σ_b is 0", s.node)
			}
			s.parametrise(net.sigmaW, net.sigmaB)
		case *normal:
			s.sigmaW, s.sigmaB = float32(net.sigmaW), float32(net.sigmaB)
		case *prelu:
			s.sigmaW = float32(net.sigmaW)
		case *lookup:
			s.sigmaW = float32(net.sigmaW)
		}
	}
	return nil
}

// network makes a network of the steps.
func (b *builder) network(name string, output operand) (*Network, error) {
	net := &Network{widths: b.widths, inputs: map[int]int{}, output: output.value, name: name, named: map[string]int{}}
	for v, at := range b.inputs { // inputs are the first values
		net.inputs[v] = at
	}
	for name, o := range b.names {
		if o.constant == nil {
			net.named[name] = o.value
		}
	}
	net.steps = alive(b.steps, output.value)
	net.top = net.topOf(output.value)
	net.fuse()
	net.order()
	return net, nil
}

// alive drops the steps whose result nobody reads.
func alive(steps []step, output int) []step {
	read := map[int]bool{output: true}
	var kept []step
	for _, s := range slices.Backward(steps) {
		if !read[s.writes()] {
			continue
		}
		for _, v := range s.reads() {
			read[v] = true
		}
		kept = append(kept, s)
	}
	slices.Reverse(kept)
	return kept
}

// topOf goes from the output down through scales and shifts by constants.
func (net *Network) topOf(output int) int {
	for _, s := range slices.Backward(net.steps) {
		if a, ok := s.(*affine); ok && a.y == output && uniform(a.a) && net.widths[a.x] == len(a.a) {
			output = a.x
		} else if s.writes() == output {
			break
		}
	}
	return output
}

// uniform reports whether all numbers are the same.
func uniform(numbers []float32) bool {
	return !slices.ContainsFunc(numbers, func(v float32) bool { return v != numbers[0] })
}

// fuse lets a fully-connected layer apply the activation that alone reads it.
func (net *Network) fuse() {
	readers := map[int]int{net.output: 1}
	readers[net.top]++
	for _, s := range net.steps {
		for _, v := range s.reads() {
			readers[v]++
		}
	}
	written := map[int]*dense{}
	var kept []step
	for _, s := range net.steps {
		if u, ok := s.(*unary); ok {
			if d := written[u.x]; d != nil && readers[u.x] == 1 {
				delete(written, u.x)
				d.then, d.y = u, u.y
				continue
			}
		}
		if d, ok := s.(*dense); ok {
			written[d.y] = d
		}
		kept = append(kept, s)
	}
	net.steps = kept
}

// layer is a step with parameters: its two factors, as kernel.Taps describes them.
type layer interface {
	step
	// shape is the widths of the factors for one output; no columns mean that the
	// gradient is 1.
	shape() matrix.Shape
	// factors returns them for the current block.
	factors(p *pass, id int) (in, grad matrix.Dense[float32])
}

// order lists the layers and what each value depends on.
func (net *Network) order() {
	last := -1
	net.layerOf = slices.Repeat([]int{-1}, len(net.steps))
	for id, s := range net.steps {
		if _, ok := s.(*dense); ok {
			last = id
		}
	}
	for id, s := range net.steps {
		if _, ok := s.(layer); ok && id != last && last >= 0 {
			net.layerOf[id] = len(net.layers)
			net.layers = append(net.layers, id)
		}
	}
	if last >= 0 {
		net.layerOf[last] = len(net.layers)
		net.layers = append(net.layers, last)
	}
	net.upstream = slices.Repeat([]int{-1}, len(net.widths))
	for id, s := range net.steps {
		y := s.writes()
		net.upstream[y] = net.layerOf[id]
		if _, index := s.(*lookup); index {
			continue // an index has no gradient
		}
		for _, v := range s.reads() {
			net.upstream[y] = max(net.upstream[y], net.upstream[v])
		}
	}
}

// Inputs returns how many columns a row has.
func (net *Network) Inputs() int {
	n := 0
	for v := range net.inputs {
		n += net.widths[v]
	}
	return n
}

// Outputs returns how many numbers the network predicts for a row.
func (net *Network) Outputs() int { return net.widths[net.output] }

// outputs returns how many columns the kernels differentiate.
func (net *Network) outputs() int { return net.widths[net.top] }

// Memory forecasts, in bytes, what the weights and a block of rows take in Predict.
func (net *Network) Memory() int64 {
	const single = 4
	bytes := int64(0)
	for _, w := range net.widths {
		bytes += 2 * single * kernel.BlockRows * int64(w)
	}
	for _, s := range net.steps {
		if d, ok := s.(*dense); ok {
			bytes += single * int64(len(d.tilde.Data))
		}
	}
	return bytes
}

// Predict returns the outputs for the rows of x, one row each.
func (net *Network) Predict(ctx context.Context, x matrix.Dense[float32]) (matrix.Dense[float32], error) {
	if x.Cols != net.Inputs() {
		return matrix.Dense[float32]{}, fmt.Errorf("rows have %d columns, the network takes %d", x.Cols, net.Inputs())
	}
	team := linalg.TeamOf(ctx)
	if i, j, found := linalg.FirstNotFinite(team, x); found {
		return matrix.Dense[float32]{}, fmt.Errorf("row %d, column %d (from 0) is %v", i, j, x.At(i, j))
	}
	dst := matrix.New[float32](x.Rows, net.Outputs())
	if x.Rows == 0 {
		return dst, nil
	}
	p := newPass(net, min(kernel.BlockRows, x.Rows), false)
	p.team = team
	for from := 0; from < x.Rows; from += kernel.BlockRows {
		if ctx.Err() != nil {
			return dst, ctx.Err()
		}
		to := min(from+kernel.BlockRows, x.Rows)
		p.forward(x.Slice(from, to))
		if wrong := p.missing; wrong.of != nil {
			wrong.row += from
			return dst, &wrong
		}
		matrix.Copy(dst.Slice(from, to), p.x(net.output))
	}
	return dst, nil
}
