package kernel

// Programs describe features for devices. A device, such as a GPU, computes features by
// itself, in its own memory, so it cannot call Embed or Features. It runs a program: a
// list of steps on matrices that have one row for each row of inputs. A kernel has a
// program if all its parts can describe themselves; others are computed on the CPU.

import (
	"errors"

	"github.com/nextbatch/nextbatch/matrix"
)

// Value numbers a matrix of a program. Value 0 holds the inputs.
type Value int

// None is no value.
const None Value = -1

// ValueShape is the width of a value, and whether it is in float64 or float32.
type ValueShape struct {
	Width  int
	Double bool
}

// Program computes the features of rows. A row of the result depends on the same row
// of the inputs alone, so a device may run a program block by block. Steps only read
// what steps before them have written.
type Program struct {
	Values []ValueShape
	Steps  []Step
	Result Value
}

// New adds a value.
func (p *Program) New(shape ValueShape) Value {
	p.Values = append(p.Values, shape)
	return Value(len(p.Values) - 1)
}

// Add adds a step.
func (p *Program) Add(s Step) { p.Steps = append(p.Steps, s) }

// Converted returns a value in float64 or float32, after a step that converts it if need be.
func (p *Program) Converted(v Value, double bool) Value {
	if p.Values[v].Double == double {
		return v
	}
	to := p.New(ValueShape{p.Values[v].Width, double})
	p.Add(Convert{To: to, From: v})
	return to
}

// Step is one of the types below. All values of a step have the same precision, except
// those of Convert.
type Step interface{ step() }

// Multiply computes To = Factor·(From·By), or From·Byᵀ if Transposed. Unless Times is
// None, it multiplies the result by Times, element by element. If Add, it adds the
// result to To. Upper means that the right operand is zero below its diagonal. To is
// neither From nor Times.
type Multiply struct {
	To, From, Times        Value
	By                     constant
	Factor                 float64
	Transposed, Upper, Add bool
}

// Place writes Factor·From to the columns of To from At on. Unless Scales is nil, it
// multiplies each column of From by its own factor as well.
type Place struct {
	To, From Value
	At       int
	Factor   float64
	Scales   []float64
}

// Fill writes a number to column At of To.
type Fill struct {
	To     Value
	At     int
	Number float64
}

// Activate applies a function φ to each number z of From. It writes Factor·φ(z) to the
// first columns of To and, unless Slope is None, φ'(z) to Slope. Function is the name
// of a network.Activation.
type Activate struct {
	To, Slope, From Value
	Function        string
	Factor          float64
}

// Outer writes the tensor product of two rows; the index of Left changes slowest.
type Outer struct{ To, Left, Right Value }

// Convert changes the precision.
type Convert struct{ To, From Value }

// Likelihood turns projections v of the features ψ of a posterior into
// l(|ψ|²) − Slope·v², with l(κ) = Log·log(1 + Rate·κ) + Linear·κ + Offset. With nothing but
// Linear it is a multiple of the squared norm.
type Likelihood struct {
	To, Projections, Features        Value
	Log, Rate, Linear, Offset, Slope float64
}

func (Multiply) step()   {}
func (Place) step()      {}
func (Fill) step()       {}
func (Activate) step()   {}
func (Outer) step()      {}
func (Convert) step()    {}
func (Likelihood) step() {}

// Constant is a matrix in one of two precisions; the other one is empty. The program
// does not copy it.
type constant struct {
	Single matrix.Dense[float32]
	Double matrix.Dense[float64]
}

// ConstantOf returns a matrix as a constant.
func ConstantOf[T matrix.Float](m matrix.Dense[T]) constant {
	switch m := any(m).(type) {
	case matrix.Dense[float32]:
		return constant{Single: m}
	case matrix.Dense[float64]:
		return constant{Double: m}
	}
	panic("kernel: a matrix that is neither float32 nor float64")
}

// IsDouble reports whether T is float64.
func IsDouble[T matrix.Float]() bool {
	_, double := any(T(0)).(float64)
	return double
}

// Described is an Embedding that can describe itself: it adds steps that compute its
// parts from the rows. If ok is false, what it added does not matter.
type described interface {
	Describe(p *Program, rows Value) (parts []Value, ok bool)
}

// DescribedMap is a Map that can describe itself.
type describedMap interface {
	Describe(p *Program, rows Value) (features Value, ok bool)
}

// DescribedTaps are Taps that can describe themselves.
type DescribedTaps interface {
	Describe(p *Program, rows Value, first int) (in, grad []Value, ok bool)
}

// ErrNoProgram means that a part of a kernel cannot describe itself.
var ErrNoProgram = errors.New("a part of the kernel is computed on the CPU only")

// ProgramOf returns the program of the features that Prepare would compute, and nil if
// Prepare would leave the rows as they are or compute factors instead.
func ProgramOf[T matrix.Float](k Kernel[T]) (*Program, error) {
	e, f := Decompose(k)
	if IsLinear(k) || !hasFewFeatures(e, f) {
		return nil, nil
	}
	p := &Program{}
	rows := p.New(ValueShape{e.Inputs(), IsDouble[T]()})
	var ok bool
	if p.Result, ok = describe(p, e, f, rows); !ok || p.Result == rows {
		return nil, ErrNoProgram
	}
	return p, nil
}

// DescribeMap adds the steps that compute the features of m.
func DescribeMap[T matrix.Float](p *Program, m FeatureMap[T], rows Value) (Value, bool) {
	e, f := Decompose[T](m)
	return describe(p, e, f, rows)
}

func describe[T matrix.Float](p *Program, e Embedding[T], f Form[T], rows Value) (Value, bool) {
	parts, ok := DescribeEmbedding(p, e, rows)
	if !ok {
		return None, false
	}
	return DescribeForm(p, f, parts)
}

// DescribeEmbedding adds the steps that compute the parts of rows.
func DescribeEmbedding[T matrix.Float](p *Program, e Embedding[T], rows Value) ([]Value, bool) {
	d, ok := e.(described)
	if !ok {
		return nil, false
	}
	return d.Describe(p, rows)
}

// DescribeForm adds the steps that compute the features of a form from its parts.
func DescribeForm[T matrix.Float](p *Program, f Form[T], parts []Value) (Value, bool) {
	switch f := f.(type) {
	case Dot[T], One[T]:
		return parts[0], true
	case Scaled[T]:
		of, ok := DescribeForm(p, f.Of, parts)
		if !ok {
			return None, false
		}
		to := p.New(p.Values[of])
		p.Add(Place{To: to, From: of, Factor: float64(f.root())})
		return to, true
	case *Product[T]:
		return f.describe(p, parts)
	case *Sum[T]:
		return f.describe(p, parts)
	}
	return None, false
}

func (s *Product[T]) describe(p *Program, parts []Value) (Value, bool) {
	if first := s.Factors[0]; s.restIsOne() {
		return DescribeForm(p, first, parts)
	}
	all, ok := describeForms(p, s.Factors, parts)
	if !ok {
		return None, false
	}
	done := all[0]
	for _, next := range all[1:] {
		to := p.New(ValueShape{p.Values[done].Width * p.Values[next].Width, p.Values[done].Double})
		p.Add(Outer{To: to, Left: done, Right: next})
		done = to
	}
	return done, true
}

func (s *Sum[T]) describe(p *Program, parts []Value) (Value, bool) {
	all, ok := describeForms(p, s.Terms, parts)
	if !ok {
		return None, false
	}
	if len(all) == 1 {
		return all[0], true
	}
	width := 0
	for _, v := range all {
		width += p.Values[v].Width
	}
	to, at := p.New(ValueShape{width, IsDouble[T]()}), 0
	for _, v := range all {
		p.Add(Place{To: to, From: v, At: at, Factor: 1})
		at += p.Values[v].Width
	}
	return to, true
}

// describeForms describes forms that take consecutive parts.
func describeForms[T matrix.Float](p *Program, forms []Form[T], parts []Value) ([]Value, bool) {
	all := make([]Value, len(forms))
	for i, f := range forms {
		var ok bool
		if all[i], ok = DescribeForm(p, f, parts[:f.Parts()]); !ok {
			return nil, false
		}
		parts = parts[f.Parts():]
	}
	return all, true
}

// Describe returns the rows.
func (e identity[T]) Describe(_ *Program, rows Value) ([]Value, bool) { return []Value{rows}, true }

// Describe describes all embeddings.
func (e joined[T]) Describe(p *Program, rows Value) (parts []Value, ok bool) {
	for _, one := range e.of {
		more, ok := DescribeEmbedding(p, one, rows)
		if !ok {
			return nil, false
		}
		parts = append(parts, more...)
	}
	return parts, true
}

// Describe describes the map.
func (e *mapped[T]) Describe(p *Program, rows Value) ([]Value, bool) {
	d, ok := e.Map.(describedMap)
	if !ok {
		return nil, false
	}
	features, ok := d.Describe(p, rows)
	return []Value{features}, ok
}

// Describe describes the network.
func (e *tapped[T]) Describe(p *Program, rows Value) (parts []Value, ok bool) {
	d, ok := e.taps.(DescribedTaps)
	if !ok {
		return nil, false
	}
	in, grad, ok := d.Describe(p, rows, e.first)
	if !ok {
		return nil, false
	}
	for i, width := range e.grad {
		if width > 0 {
			parts, grad = append(parts, in[i], grad[0]), grad[1:]
			continue
		}
		one := p.New(ValueShape{1, IsDouble[T]()})
		p.Add(Fill{To: one, Number: 1})
		parts = append(parts, in[i], one)
	}
	return parts, true
}

// Describe describes the map in float32 and converts its features.
func (m *float64Map) Describe(p *Program, rows Value) (Value, bool) {
	features, ok := DescribeMap(p, m.of, p.Converted(rows, false))
	if !ok {
		return None, false
	}
	return p.Converted(features, true), true
}

// Describe describes the network in float32 and converts its factors.
func (t *float64Taps) Describe(p *Program, rows Value, first int) (in, grad []Value, ok bool) {
	d, ok := t.of.(DescribedTaps)
	if !ok {
		return nil, nil, false
	}
	in, grad, ok = d.Describe(p, p.Converted(rows, false), first)
	for _, list := range [][]Value{in, grad} {
		for i, v := range list {
			list[i] = p.Converted(v, true)
		}
	}
	return in, grad, ok
}
