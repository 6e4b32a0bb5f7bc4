package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

func init() {
	operators = map[string]func(b *builder, n *node) error{
		"Gemm": gemm, "MatMul": matMul, "ai.onnx.ml.LinearRegressor": linearRegressor, "ai.onnx.ml.Scaler": scaler,
		"Add": arithmeticOf, "Sub": arithmeticOf, "Mul": arithmeticOf, "Div": arithmeticOf, "Sum": arithmeticOf,
		"Pow": pow, "Clip": clip,
		"PRelu": preluOf, "BatchNormalization": batchNormalization, "LayerNormalization": layerNormalization,
		"ReduceMean": reduce, "ReduceSum": reduce,
		"Concat": concat, "Slice": slice, "Split": split, "Gather": gather, "Transpose": transpose,
		"Flatten": flatten, "Reshape": reshape, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Shape": shapeOf,
		"Greater": compare, "GreaterOrEqual": compare, "Less": compare, "LessOrEqual": compare, "Where": where,
		"Identity": identity, "Dropout": dropout, "Cast": cast, "Constant": constantOf,
	}
}

// weightsAt returns a constant input as a matrix.
func (n *node) weightsAt(i int) (matrix.Dense[float32], error) {
	c, err := n.constantAt(i)
	if err != nil {
		return matrix.Dense[float32]{}, err
	}
	floats, err := n.floatsAt(i)
	if err != nil {
		return matrix.Dense[float32]{}, err
	}
	if len(c.shape) != 2 || len(floats) == 0 {
		return matrix.Dense[float32]{}, n.failf("weights %q have shape %v, not rows and columns", n.inputs[i], c.shape)
	}
	return matrix.View(c.shape[0], c.shape[1], floats), nil
}

func flipped(m matrix.Dense[float32]) matrix.Dense[float32] {
	t := matrix.New[float32](m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			t.Set(j, i, v)
		}
	}
	return t
}

func scaled(numbers []float32, factor float64) []float32 {
	if factor == 1 {
		return numbers
	}
	r := make([]float32, len(numbers))
	for i, v := range numbers {
		r[i] = float32(float64(v) * factor)
	}
	return r
}

// repeated returns as many numbers as columns: all the same if there is one.
func repeated(numbers []float32, columns int) ([]float32, bool) {
	if len(numbers) == 1 && columns > 1 {
		return slices.Repeat(numbers, columns), true
	}
	return numbers, len(numbers) == columns
}

func gemm(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	w, err := n.weightsAt(1)
	if err != nil {
		return err
	}
	if n.integer("transA", 0) != 0 {
		return n.failf("transA is set, which would mix rows")
	}
	if n.integer("transB", 0) != 0 {
		w = flipped(w)
	}
	w.Data = scaled(w.Data, n.float("alpha", 1))
	var bias []float32
	if n.has(2) {
		if bias, err = n.floatsAt(2); err != nil {
			return err
		}
		var ok bool
		if bias, ok = repeated(scaled(bias, n.float("beta", 1)), w.Cols); !ok {
			return n.failf("it has %d biases for %d outputs", len(bias), w.Cols)
		}
	}
	return b.dense(n, x, w, bias)
}

func matMul(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	w, err := n.weightsAt(1)
	if err != nil {
		return err
	}
	return b.dense(n, x, w, nil)
}

func linearRegressor(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	targets := int(n.integer("targets", 1))
	coefficients, bias := n.attributes["coefficients"].floats, n.attributes["intercepts"].floats
	switch {
	case n.text("post_transform", "NONE") != "NONE":
		return n.failf("post_transform %q is not supported", n.text("post_transform", ""))
	case targets < 1 || len(coefficients) == 0 || len(coefficients)%targets != 0 || bias != nil && len(bias) != targets:
		return n.failf("it has %d coefficients and %d intercepts for %d targets", len(coefficients), len(bias), targets)
	}
	return b.dense(n, x, flipped(matrix.View(targets, len(coefficients)/targets, coefficients)), bias)
}

func scaler(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	offset, ok1 := repeated(n.attributes["offset"].floats, x.width())
	scale, ok2 := repeated(n.attributes["scale"].floats, x.width())
	if !ok1 || !ok2 {
		return n.failf("it has %d offsets and %d scales for %d columns", len(offset), len(scale), x.width())
	}
	shift := make([]float32, len(scale))
	for j := range shift {
		shift[j] = -offset[j] * scale[j]
	}
	return b.affine(n, x, x.shape, slices.Clone(scale), shift)
}

func (b *builder) affine(n *node, x operand, shape []int, factor, shift []float32) error {
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &affine{x: x.value, y: y.value, a: factor, b: shift}, y)
}

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
	return b.append(n, &choice{test: test.value, yes: sides[0].value, no: sides[1].value, y: y.value}, y)
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

func batchNormalization(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	if n.integer("training_mode", 0) != 0 || len(n.outputs) > 1 && b.opset >= 14 {
		return n.failf("it is in training mode: export the model for inference (model.eval())")
	}
	var numbers [4][]float32
	for i := range numbers {
		if numbers[i], err = n.floatsAt(i + 1); err != nil {
			return err
		}
		if len(x.shape) != 1 || len(numbers[i]) != x.width() {
			return n.failf("input %q has %d numbers for rows of shape %v", n.inputs[i+1], len(numbers[i]), x.shape)
		}
	}
	scale, eps := make([]float32, x.width()), n.float("epsilon", 1e-5)
	for j, v := range numbers[3] {
		scale[j] = float32(1 / math.Sqrt(float64(v)+eps))
	}
	y, err := b.value(x.shape)
	if err != nil {
		return err
	}
	return b.append(n, &normal{x: x.value, y: y.value, gain: numbers[0], shift: numbers[1],
		mean: numbers[2], scale: scale}, y)
}

func layerNormalization(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	axis, err := n.rowAxis(n.integer("axis", -1), x)
	if err != nil {
		return err
	}
	group := 1
	for _, d := range x.shape[axis:] {
		group *= d
	}
	gain, err := n.floatsAt(1)
	if err != nil {
		return err
	}
	var shift []float32
	if n.has(2) {
		if shift, err = n.floatsAt(2); err != nil {
			return err
		}
	}
	if len(gain) != group || shift != nil && len(shift) != group {
		return n.failf("it has %d gains and %d shifts for %d columns", len(gain), len(shift), group)
	}
	y, err := b.value(x.shape)
	if err != nil {
		return err
	}
	return b.append(n, &normal{x: x.value, y: y.value, gain: gain, shift: shift, eps: n.float("epsilon", 1e-5)}, y)
}

func reduce(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	axes, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	if len(axes) != 1 {
		return n.failf("it reduces axes %v; only the last one is supported", axes)
	}
	axis, err := n.rowAxis(axes[0], x)
	if err != nil {
		return err
	}
	if axis != len(x.shape)-1 {
		return n.failf("it reduces axis %d; only the last one is supported", axes[0])
	}
	shape := slices.Clone(x.shape[:axis])
	if n.integer("keepdims", 1) != 0 {
		shape = append(shape, 1)
	}
	factor := float32(1)
	if n.op == "ReduceMean" {
		factor = float32(1 / float64(x.shape[axis]))
	}
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &mean{x: x.value, y: y.value, factor: factor}, y)
}

var errTooLarge = errors.New("a constant becomes too large")

func concat(b *builder, n *node) error {
	parts := make([]operand, len(n.inputs))
	rows := 0
	for i := range parts {
		o, err := n.at(i)
		if err != nil {
			return err
		}
		if parts[i] = o; o.constant == nil {
			rows++
		}
	}
	switch {
	case len(parts) == 0:
		return n.failf("it has no input")
	case rows == 0:
		return b.concatConstants(n, parts)
	case rows < len(parts):
		return n.failf("it joins rows and a constant, which is not supported")
	}
	axis, err := n.rowAxis(n.integer("axis", 1), parts[0])
	if err != nil {
		return err
	}
	shape := slices.Clone(parts[0].shape)
	shape[axis] = 0
	for i, o := range parts {
		if len(o.shape) != len(shape) || !slices.Equal(o.shape[:axis], shape[:axis]) ||
			!slices.Equal(o.shape[axis+1:], shape[axis+1:]) {
			return n.failf("input %q has rows of shape %v, which do not fit %v", n.inputs[i], o.shape, parts[0].shape)
		}
		shape[axis] += o.shape[axis]
	}
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	outer, inner := 1, 1
	for i, d := range shape {
		if i < axis {
			outer *= d
		} else if i > axis {
			inner *= d
		}
	}
	s, at := &columns{y: y.value}, 0
	for k := range outer {
		for _, o := range parts {
			width := o.shape[axis] * inner
			s.runs = append(s.runs, run{o.value, k * width, at, width})
			at += width
		}
	}
	return b.append(n, s, y)
}

func (b *builder) concatConstants(n *node, parts []operand) error {
	c := &constant{whole: parts[0].constant.whole, shape: []int{0}}
	for _, o := range parts {
		p := o.constant
		if len(p.shape) != 1 || p.whole != c.whole {
			return n.failf("only lists of numbers of one kind are joined")
		}
		c.floats, c.integers = append(c.floats, p.floats...), append(c.integers, p.integers...)
		if c.len() > maxDerived {
			return errTooLarge
		}
	}
	c.shape[0] = c.len()
	return b.set(n, operand{constant: c})
}

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
	b.steps = append(b.steps, &columns{y: y.value, runs: runsOf(o.value, places)})
	b.names[output] = y
	return nil
}

// runsOf joins neighbouring columns.
func runsOf(from int, places []int) (runs []run) {
	for at, p := range places {
		if last := len(runs) - 1; last >= 0 && runs[last].first+runs[last].n == p {
			runs[last].n++
			continue
		}
		runs = append(runs, run{from, p, at, 1})
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

func transpose(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	rank := len(o.shape) + 1
	if o.constant != nil {
		rank = len(o.constant.shape)
	}
	perm := make([]int, rank)
	given, err := n.list("perm", -1)
	if err != nil {
		return err
	}
	seen := make([]bool, rank)
	for i := range perm {
		perm[i] = rank - 1 - i
		if given != nil {
			if len(given) != rank || given[i] < 0 || given[i] >= int64(rank) || seen[given[i]] {
				return n.failf("perm %v is not a permutation of %d axes", given, rank)
			}
			perm[i] = int(given[i])
			seen[perm[i]] = true
		}
	}
	if o.constant != nil {
		shape, places := transposed(o.constant.shape, perm)
		return b.set(n, operand{constant: o.constant.at(shape, places)})
	}
	if perm[0] != 0 {
		return n.failf("it exchanges rows and columns")
	}
	inner := make([]int, rank-1)
	for i, axis := range perm[1:] {
		inner[i] = axis - 1
	}
	shape, places := transposed(o.shape, inner)
	y, err := b.value(shape)
	if err != nil {
		return err
	}
	return b.append(n, &columns{y: y.value, runs: runsOf(o.value, places)}, y)
}

func flatten(b *builder, n *node) error {
	x, err := n.rowsAt(0)
	if err != nil {
		return err
	}
	axis := n.integer("axis", 1)
	if axis < 0 {
		axis += int64(len(x.shape) + 1)
	}
	if axis != 1 {
		return n.failf("axis %d does not keep the rows apart", axis)
	}
	x.shape = []int{x.width()}
	return b.set(n, x)
}

func reshape(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	target, err := n.list("shape", 1)
	if err != nil {
		return err
	}
	if len(target) == 0 {
		return n.failf("it has no shape to reshape to")
	}
	if o.constant != nil {
		shape, err := fitted(target, o.constant.shape, o.constant.len(), n.integer("allowzero", 0) != 0)
		if err != nil {
			return err
		}
		return b.set(n, operand{constant: o.constant.withShape(shape)})
	}
	rest := slices.Clone(target[1:])
	if n.integer("allowzero", 0) == 0 {
		for i, d := range rest {
			if d == 0 && i < len(o.shape) {
				rest[i] = int64(o.shape[i])
			}
		}
	}
	switch first := target[0]; {
	case first == rowCount, first == 0, first == -1 && !slices.Contains(rest, -1), first == b.batch && first > 0:
	default:
		return n.failf("shape %v does not keep the rows apart", target)
	}
	shape, err := fitted(rest, nil, o.width(), true)
	if err != nil {
		return n.failf("shape %v does not keep the rows apart: a row has %d numbers", target, o.width())
	}
	o.shape = shape
	return b.set(n, o)
}

// fitted returns a target shape for size numbers; one dimension may be -1, and a
// zero copies that of the original unless zeros are allowed.
func fitted(target []int64, original []int, size int, zeros bool) ([]int, error) {
	shape, product, open := make([]int, len(target)), 1, -1
	for i, d := range target {
		switch {
		case d == -1 && open < 0:
			open = i
			continue
		case d == 0 && !zeros && i < len(original):
			d = int64(original[i])
		}
		if d < 1 || d > int64(size) || product > size/int(d) {
			return nil, fmt.Errorf("%d numbers do not fit shape %v", size, target)
		}
		shape[i] = int(d)
		product *= int(d)
	}
	if open >= 0 {
		shape[open] = size / product
		product *= shape[open]
	}
	if product != size {
		return nil, fmt.Errorf("%d numbers do not fit shape %v", size, target)
	}
	return shape, nil
}

func squeeze(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	axes, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	shape := fullShape(o)
	drop := make([]bool, len(shape))
	for _, axis := range axes {
		at, err := n.axis(axis, len(shape))
		if err != nil {
			return err
		}
		if shape[at] != 1 {
			return n.failf("axis %d has %d entries, not one", axis, shape[at])
		}
		drop[at] = true
	}
	var kept []int
	for i, d := range shape {
		if !drop[i] && (axes != nil || d != 1) {
			kept = append(kept, d)
		}
	}
	return b.set(n, withFullShape(o, kept))
}

func unsqueeze(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	axes, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	old := fullShape(o)
	rank := len(old) + len(axes)
	if rank > maxRank {
		return n.failf("%d dimensions are too many", rank)
	}
	added := make([]bool, rank)
	for _, axis := range axes {
		at, err := n.axis(axis, rank)
		if err != nil {
			return err
		}
		if added[at] || at == 0 && o.constant == nil {
			return n.failf("axes %v do not keep the rows apart", axes)
		}
		added[at] = true
	}
	shape := make([]int, rank)
	for i := range shape {
		if shape[i] = 1; !added[i] {
			shape[i], old = old[0], old[1:]
		}
	}
	return b.set(n, withFullShape(o, shape))
}

const maxRank = 16

// fullShape returns the shape with the dimension of the rows, which is -1.
func fullShape(o operand) []int {
	if o.constant != nil {
		return o.constant.shape
	}
	return slices.Concat([]int{-1}, o.shape)
}

func withFullShape(o operand, shape []int) operand {
	if o.constant != nil {
		return operand{constant: o.constant.withShape(shape)}
	}
	o.shape = shape[1:]
	return o
}

func shapeOf(b *builder, n *node) error {
	o, err := n.at(0)
	if err != nil {
		return err
	}
	if n.integer("start", 0) != 0 || n.attributes["end"].integer != 0 {
		return n.failf("only whole shapes are supported")
	}
	shape := fullShape(o)
	c := &constant{shape: []int{len(shape)}, whole: true}
	for _, d := range shape {
		if d < 0 {
			c.integers = append(c.integers, rowCount)
		} else {
			c.integers = append(c.integers, int64(d))
		}
	}
	return b.set(n, operand{constant: c})
}

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
