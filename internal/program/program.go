// Package program has the programs by which devices compute features. A device, such as a GPU, computes features by
// itself, in its own memory, so it cannot call Embed or Features. It runs a program: a
// list of steps on matrices that have one row for each row of inputs.
package program

import "github.com/nextbatch/nextbatch/matrix"

// Value numbers a matrix of a  Value 0 holds the inputs.
type Value int

// None stands for no value.
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
	By                     Constant
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
type Constant struct {
	Single matrix.Dense[float32]
	Double matrix.Dense[float64]
}

// ConstantOf returns a matrix as a Constant.
func ConstantOf[T matrix.Float](m matrix.Dense[T]) Constant {
	switch m := any(m).(type) {
	case matrix.Dense[float32]:
		return Constant{Single: m}
	case matrix.Dense[float64]:
		return Constant{Double: m}
	}
	panic("program: a matrix that is neither float32 nor float64")
}

// IsDouble reports whether T is float64.
func IsDouble[T matrix.Float]() bool {
	_, double := any(T(0)).(float64)
	return double
}
