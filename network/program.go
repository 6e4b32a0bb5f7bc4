package network

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/matrix"
)

// Describe adds the steps that compute what Block returns, for a device that runs the
// network by itself (see program.Program). The formulas are those of pass and Taps.
func (t *Taps) Describe(p *program.Program, rows program.Value, first int) (in, grad []program.Value, ok bool) {
	d := description{Program: p, net: t.pass.net, first: first}
	d.forward(rows)
	if t.single() {
		return d.in[first:], d.backward(0, 1), true
	}
	last := d.net.Layers() - 1
	d.in[last] = d.scaled(d.in[last], t.lastFactor())
	for l := first; l < last; l++ {
		grad = append(grad, d.value(len(t.roots)*d.net.sizes[l+1]))
	}
	for output, root := range t.roots {
		for i, g := range d.backward(output, root) {
			p.Add(program.Place{To: grad[i], From: g, At: output * p.Values[g].Width, Factor: 1})
		}
	}
	return d.in[first:], grad, true
}

// describe returns the program that evaluate is for a device. Its result has a column for the
// output of each member, and then one for each variance, if they are wanted.
func (m *Model) describe(team *linalg.Team, withVariances bool) (*program.Program, error) {
	p, members := &program.Program{}, len(m.ensemble)
	width := members
	if withVariances {
		width += members
	}
	rows := p.New(program.ValueShape{Width: len(m.inputs.Mean), Double: true})
	p.Result = p.New(program.ValueShape{Width: width, Double: true})
	for i, net := range m.ensemble {
		d := description{Program: p, net: net, first: net.Layers()}
		d.forward(p.Converted(rows, program.IsDouble[Real]()))
		x, output := d.in[net.Layers()-1], d.output(m.output)
		p.Add(program.Place{To: p.Result, From: output, At: i, Factor: 1})
		if !withVariances {
			continue
		}
		q := m.posteriors[i]
		inverse := q.factor.Clone()
		if err := linalg.InvertLower(team, inverse); err != nil {
			return nil, err
		}
		psi, variance := p.New(program.ValueShape{Width: inverse.Rows, Double: true}), p.New(p.Values[output])
		p.Add(program.Multiply{To: psi, From: p.Converted(x, true), By: program.ConstantOf(inverse), Transposed: true,
			Upper: true, Factor: 1, Times: program.None})
		p.Add(program.Likelihood{To: variance, Projections: output, Features: psi, Linear: q.Noise * q.Lambda * q.Lambda})
		p.Add(program.Place{To: p.Result, From: variance, At: members + i, Factor: 1})
	}
	return p, nil
}

// output computes an output of the network, in float64, after forward.
func (d *description) output(number int) program.Value {
	last := d.net.Layers() - 1
	z, w := d.value(1), d.net.layer(d.net.parameters, last)
	d.Add(program.Multiply{To: z, From: d.in[last], By: program.ConstantOf(w.Block(0, w.Rows, number, number+1)),
		Factor: 1, Times: program.None})
	return d.Converted(z, true)
}

// description collects the steps of a network.
type description struct {
	*program.Program
	net       *MLP
	first     int // layer whose gradient is wanted
	in, slope []program.Value
}

func (d *description) value(width int) program.Value {
	return d.New(program.ValueShape{Width: width, Double: program.IsDouble[Real]()})
}

// scaled returns a multiple of a value.
func (d *description) scaled(v program.Value, factor Real) program.Value {
	to := d.value(d.Values[v].Width)
	d.Add(program.Place{To: to, From: v, Factor: float64(factor)})
	return to
}

// withBias returns x̃ of a layer with the factor of the bias in its last column. The
// other columns are still to be written.
func (d *description) withBias(l int) program.Value {
	x := d.value(d.net.sizes[l] + 1)
	d.Add(program.Fill{To: x, At: d.net.sizes[l], Number: float64(Real(*d.net.architecture.SigmaB))})
	return x
}

// forward computes x̃ of all layers, and φ' of the hidden layers from first on.
func (d *description) forward(rows program.Value) {
	x := d.withBias(0)
	d.Add(program.Place{To: x, From: rows, Factor: float64(d.net.scale(0))})
	d.in = []program.Value{x}
	for l := range d.net.Layers() - 1 {
		z, slope := d.value(d.net.sizes[l+1]), program.None
		if l >= d.first {
			slope = d.value(d.net.sizes[l+1])
		}
		d.Add(program.Multiply{To: z, From: d.in[l], By: program.ConstantOf(d.net.layer(d.net.parameters, l)),
			Factor: 1, Times: program.None})
		next := d.withBias(l + 1)
		d.Add(program.Activate{To: next, Slope: slope, From: z, Function: d.net.architecture.Activation.String(),
			Factor: float64(d.net.scale(l + 1))})
		d.in, d.slope = append(d.in, next), append(d.slope, slope)
	}
}

// backward computes g of one output, times a factor, for the hidden layers from first on.
func (d *description) backward(output int, factor Real) []program.Value {
	last := d.net.Layers() - 1
	grad := make([]program.Value, last-d.first)
	for l := last - 1; l >= d.first; l-- {
		g, above := d.value(d.net.sizes[l+1]), d.net.Weights(l+1)
		if l == last-1 {
			d.Add(program.Place{To: g, From: d.slope[l], Factor: float64(d.net.scale(l+1) * factor),
				Scales: outputWeights(above, output)})
		} else {
			d.Add(program.Multiply{To: g, From: grad[l+1-d.first], By: program.ConstantOf(above), Transposed: true,
				Factor: float64(d.net.scale(l + 1)), Times: d.slope[l]})
		}
		grad[l-d.first] = g
	}
	return grad
}

func outputWeights(m matrix.Dense[Real], j int) []float64 {
	column := make([]float64, m.Rows)
	for i := range column {
		column[i] = float64(m.At(i, j))
	}
	return column
}
