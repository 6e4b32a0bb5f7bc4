package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/matrix"
)

// operand is what a name in a graph stands for: a constant, or a value that is computed
// for each row, in the given shape without the dimension of the rows.
type operand struct {
	constant *constant
	value    int
	shape    []int
}

// width is the number of columns of a value.
func (o operand) width() int {
	n := 1
	for _, d := range o.shape {
		n *= d
	}
	return n
}

// Limits that only a mistake or a damaged file exceeds.
const (
	maxWidth   = 1 << 20 // columns of all values together
	maxDerived = 1 << 22 // numbers of a constant that is computed from others
	maxNodes   = 1 << 14
	oldest     = 9 // operator set
)

// builder turns a graph into steps.
type builder struct {
	opset  int64
	widths []int
	steps  []step
	inputs []int // first column of each input, by value
	total  int   // of widths
	names  map[string]operand
	uses   map[string]int // how many inputs of nodes have a name; the output is one more
	batch  int64          // size that the file gives for the dimension of the rows; -1 for none
}

// node is a node of the graph with its operands.
type node struct {
	*nodeProto
	b *builder
}

// NodeError reports a node that cannot be run.
type NodeError struct {
	Op     string // such as Conv
	Node   string // its name, or that of its first output
	Reason string
}

func (e *NodeError) Error() string { return fmt.Sprintf("node %q (%s): %s", e.Node, e.Op, e.Reason) }

func (n *nodeProto) label() string {
	if n.name == "" && len(n.outputs) > 0 {
		return n.outputs[0]
	}
	return n.name
}

func (n *nodeProto) failf(format string, args ...any) error {
	return &NodeError{Op: n.op, Node: n.label(), Reason: fmt.Sprintf(format, args...)}
}

// operators are those of the standard domain, by name; activations are in functions.
// They are set in init because an operator refers to the table.
var operators map[string]func(b *builder, n *node) error

// key is the name of an operator in operators: those of other domains have theirs in
// front.
func (n *nodeProto) key() string {
	if isDefault(n.domain) {
		return n.op
	}
	return n.domain + "." + n.op
}

func (n *nodeProto) known() bool {
	_, function := functions[n.key()]
	return function || operators[n.key()] != nil
}

// build checks a graph and returns its steps as a network. The output may be empty if
// the graph has only one.
func build(m *modelProto, output string) (*Network, error) {
	if m.opset < oldest {
		return nil,
			fmt.Errorf("the file uses operator set %d; %d is the oldest that is supported: export the model again", m.opset,
				oldest)
	}
	if len(m.graph.nodes) > maxNodes {
		return nil, fmt.Errorf("the graph has %d nodes, at most %d are supported", len(m.graph.nodes), maxNodes)
	}
	output, err := chosenOutput(&m.graph, output)
	if err != nil {
		return nil, err
	}
	nodes := needed(m.graph.nodes, output)
	if err := checkOperators(nodes); err != nil {
		return nil, err
	}
	b := &builder{opset: m.opset, names: map[string]operand{}, uses: map[string]int{output: 1}, batch: -1}
	for _, n := range nodes {
		for _, name := range n.inputs {
			b.uses[name]++
		}
	}
	if err := b.constants(m.graph.initializers); err != nil {
		return nil, err
	}
	if err := b.rows(m.graph.inputs); err != nil {
		return nil, err
	}
	for i := range nodes {
		if err := b.add(&nodes[i]); err != nil {
			return nil, err
		}
	}
	top, ok := b.names[output]
	if !ok || top.constant != nil {
		return nil, fmt.Errorf("output %q does not depend on the rows", output)
	}
	return b.network(output, top)
}

func chosenOutput(g *graphProto, name string) (string, error) {
	var names []string
	for _, o := range g.outputs {
		if o.name == name && name != "" {
			return name, nil
		}
		names = append(names, o.name)
	}
	switch {
	case len(names) == 0:
		return "", errors.New("the graph has no output")
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", fmt.Errorf("the graph has %d outputs; choose one of %s", len(names), strings.Join(names, ", "))
	}
	return "", fmt.Errorf("the graph has no output %q; choose one of %s", name, strings.Join(names, ", "))
}

// needed returns the nodes that an output depends on, in their order.
func needed(nodes []nodeProto, output string) []nodeProto {
	wanted := map[string]bool{output: true}
	var kept []nodeProto
	for _, n := range slices.Backward(nodes) {
		if !slices.ContainsFunc(n.outputs, func(name string) bool { return name != "" && wanted[name] }) {
			continue
		}
		for _, name := range n.inputs {
			wanted[name] = true
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	return kept
}

// checkOperators names every operator that cannot be run, each with its first node.
func checkOperators(nodes []nodeProto) error {
	var found []error
	seen := map[string]bool{}
	for i := range nodes {
		if n := &nodes[i]; !n.known() && !seen[n.key()] {
			seen[n.key()] = true
			found = append(found, &NodeError{Op: n.key(), Node: n.label(), Reason: "the operator is not supported"})
		}
	}
	return errors.Join(found...)
}

func (b *builder) constants(tensors []tensorProto) error {
	for i := range tensors {
		c, err := newConstant(&tensors[i])
		if err != nil {
			return fmt.Errorf("tensor %q: %w", tensors[i].name, err)
		}
		b.names[tensors[i].name] = operand{constant: c}
	}
	return nil
}

// rows makes values of the inputs. Columns of a row go to the inputs in their order;
// old files list weights among the inputs, too.
func (b *builder) rows(inputs []valueProto) error {
	at := 0
	for _, in := range inputs {
		if _, weight := b.names[in.name]; weight || b.uses[in.name] == 0 {
			continue
		}
		switch in.dtype {
		case typeFloat, typeDouble, typeFloat16, typeInt32, typeInt64:
		default:
			return fmt.Errorf("input %q takes %s, not numbers", in.name, typeName(in.dtype))
		}
		if !in.known || len(in.shape) == 0 {
			return fmt.Errorf("input %q has no dimension for the rows", in.name)
		}
		shape := make([]int, len(in.shape)-1)
		for i, d := range in.shape[1:] {
			if d < 1 || d > maxWidth {
				return fmt.Errorf("input %q does not say how wide it is: export the model with only the first dimension left open",
					in.name)
			}
			shape[i] = int(d)
		}
		b.batch = in.shape[0]
		o, err := b.value(shape)
		if err != nil {
			return fmt.Errorf("input %q: %w", in.name, err)
		}
		b.names[in.name] = o
		b.inputs = append(b.inputs, at)
		at += o.width()
	}
	if len(b.inputs) == 0 {
		return errors.New("the output depends on no input")
	}
	return nil
}

// value returns a new value with rows of the given shape.
func (b *builder) value(shape []int) (operand, error) {
	width := 1
	for _, d := range shape {
		if d < 1 || width > maxWidth/d {
			return operand{}, fmt.Errorf("rows of shape %v are empty or too wide", shape)
		}
		width *= d
	}
	if b.total += width; b.total > maxWidth {
		return operand{}, fmt.Errorf("the tensors of the graph have more than %d columns", maxWidth)
	}
	b.widths = append(b.widths, width)
	return operand{value: len(b.widths) - 1, shape: shape}, nil
}

// add appends the steps of a node.
func (b *builder) add(proto *nodeProto) error {
	n := &node{proto, b}
	if len(n.outputs) == 0 || n.outputs[0] == "" {
		return n.failf("it has no output")
	}
	for _, name := range n.inputs {
		if _, ok := b.names[name]; !ok && name != "" {
			return n.failf("nothing computes its input %q", name)
		}
	}
	if f, ok := functions[n.key()]; ok {
		at, err := f.of(n)
		if err != nil {
			return err
		}
		return b.apply(n, f.kind, at)
	}
	err := operators[n.key()](b, n)
	if wrong := (*NodeError)(nil); err != nil && !errors.As(err, &wrong) {
		return n.failf("%v", err)
	}
	return err
}

// apply appends an activation of the node's first input.
func (b *builder) apply(n *node, k loopKind, at function) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	y, err := b.value(x.shape)
	if err != nil {
		return n.failf("%v", err)
	}
	return b.append(n, &unary{x: x.value, y: y.value, kind: k, at: at, op: n.op}, y)
}

// append adds a step and names its result.
func (b *builder) append(n *node, s step, y operand) error {
	b.steps = append(b.steps, s)
	b.names[n.outputs[0]] = y
	return nil
}

// set names the result of a node that needs no step.
func (b *builder) set(n *node, o operand) error {
	b.names[n.outputs[0]] = o
	return nil
}

// has reports whether the node has an input with this number.
func (n *node) has(i int) bool { return i < len(n.inputs) && n.inputs[i] != "" }

// at returns an input.
func (n *node) at(i int) (operand, error) {
	if !n.has(i) {
		return operand{}, n.failf("input %d is missing", i)
	}
	return n.b.names[n.inputs[i]], nil
}

// rowsAt returns an input that depends on the rows.
func (n *node) rowsAt(i int) (operand, error) {
	o, err := n.at(i)
	if err == nil && o.constant != nil {
		return o, n.failf("input %q is a constant; only %s of rows is supported", n.inputs[i], n.op)
	}
	return o, err
}

// constantAt returns an input that does not depend on the rows.
func (n *node) constantAt(i int) (*constant, error) {
	o, err := n.at(i)
	if err == nil && o.constant == nil {
		return nil, n.failf("input %q depends on the rows, but must be a constant", n.inputs[i])
	}
	return o.constant, err
}

// floatsAt returns the numbers of a constant input.
func (n *node) floatsAt(i int) ([]float32, error) {
	c, err := n.constantAt(i)
	if err != nil {
		return nil, err
	}
	floats, err := c.asFloats()
	if err != nil {
		return nil, n.failf("input %q: %v", n.inputs[i], err)
	}
	return floats, nil
}

// numberAt returns a constant input that is a single number, or a default.
func (n *node) numberAt(i int, otherwise float64) (float64, error) {
	if !n.has(i) {
		return otherwise, nil
	}
	floats, err := n.floatsAt(i)
	if err != nil {
		return 0, err
	}
	if len(floats) != 1 {
		return 0, n.failf("input %q has %d numbers instead of one", n.inputs[i], len(floats))
	}
	return float64(floats[0]), nil
}

// list returns integers that are an attribute in old files and an input in newer ones;
// nil if there are none.
func (n *node) list(attribute string, input int) ([]int64, error) {
	if a, ok := n.attributes[attribute]; ok {
		return a.integers, nil
	}
	if input < 0 || !n.has(input) {
		return nil, nil
	}
	c, err := n.constantAt(input)
	if err != nil {
		return nil, err
	}
	if !c.whole {
		return nil, n.failf("input %q must be integers", n.inputs[input])
	}
	return c.integers, nil
}

func (n *node) float(name string, otherwise float64) float64 {
	if a, ok := n.attributes[name]; ok {
		return float64(a.float)
	}
	return otherwise
}

func (n *node) integer(name string, otherwise int64) int64 {
	if a, ok := n.attributes[name]; ok {
		return a.integer
	}
	return otherwise
}

func (n *node) text(name, otherwise string) string {
	if a, ok := n.attributes[name]; ok {
		return a.text
	}
	return otherwise
}

// axis returns an axis from 0 to rank-1 for one that may count from the end.
func (n *node) axis(axis int64, rank int) (int, error) {
	if axis < 0 {
		axis += int64(rank)
	}
	if axis < 0 || axis >= int64(rank) {
		return 0, n.failf("axis %d is not one of a tensor with %d dimensions", axis, rank)
	}
	return int(axis), nil
}

// rowAxis returns an axis of the rows' shape: the first axis, that of the rows, is
// refused.
func (n *node) rowAxis(axis int64, o operand) (int, error) {
	a, err := n.axis(axis, len(o.shape)+1)
	if err == nil && a == 0 {
		err = n.failf("axis 0 counts the rows; only an operation that treats every row alike is supported")
	}
	return a - 1, err
}

// dense appends a fully-connected layer.
func (b *builder) dense(n *node, x operand, weights matrix.Dense[float32], bias []float32) error {
	if len(x.shape) != 1 || x.shape[0] != weights.Rows {
		return n.failf("weights of shape %v do not fit rows of shape %v", weights.Shape(), x.shape)
	}
	y, err := b.value([]int{weights.Cols})
	if err != nil {
		return err
	}
	return b.append(n, &dense{x: x.value, y: y.value, node: n.label(), output: n.outputs[0],
		weights: weights, bias: bias}, y)
}
