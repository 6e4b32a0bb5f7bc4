package onnx

// Fully-connected layers, of Gemm, MatMul and LinearRegressor. A weight that has been
// trained elsewhere is taken as one in neural tangent parametrization: with d inputs,
//
//	z = x·V + c = (σ_w/√d)·x·W + σ_b·b = x̃·W̃,   W = V·√d/σ_w,   b = c/σ_b,
//
// x̃ = [(σ_w/√d)·x, σ_b], and W̃ is W with b as a last row. The gradients of the kernel
// grad are those with respect to W and b: x̃ ⊗ ∂output/∂z, the two factors of the layer.
// A layer without biases has no last column and no last row. A perceptron of package
// network that is written as ONNX and read again thus has its own factors.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

type dense struct {
	x, y    int
	node    string
	output  string                // the name of what the node computes
	weights matrix.Dense[float32] // V, inputs down
	bias    []float32             // c; nil for none

	scale  float32 // σ_w/√d
	sigmaB float32
	tilde  matrix.Dense[float32] // W̃
	then   *unary                // an activation that is applied at once; nil for none
}

// parametrise sets W̃.
func (d *dense) parametrise(sigmaW, sigmaB float64) {
	rows, cols := d.weights.Rows, d.weights.Cols
	d.scale, d.sigmaB = float32(sigmaW/math.Sqrt(float64(rows))), float32(sigmaB)
	d.tilde = matrix.New[float32](d.width(), cols)
	up := math.Sqrt(float64(rows)) / sigmaW
	for i := range rows {
		to := d.tilde.Row(i)
		for j, v := range d.weights.Row(i) {
			to[j] = float32(float64(v) * up)
		}
	}
	for j, v := range d.bias {
		if v != 0 {
			d.tilde.Set(rows, j, float32(float64(v)/sigmaB))
		}
	}
	d.weights = matrix.Dense[float32]{}
}

// inputs returns d, the number of inputs of a neuron.
func (d *dense) inputs() int {
	if d.bias != nil {
		return d.tilde.Rows - 1
	}
	return d.tilde.Rows
}

// width returns the length of x̃, before W̃ exists.
func (d *dense) width() int {
	if d.bias != nil {
		return d.weights.Rows + 1
	}
	return d.weights.Rows
}

func (d *dense) reads() []int { return []int{d.x} }
func (d *dense) writes() int  { return d.y }

func (d *dense) prepare(p *pass, id, rows int) {
	p.in[id] = padded(rows, d.tilde.Rows)
	if d.bias != nil {
		for i := range rows {
			p.in[id].Set(i, d.tilde.Rows-1, d.sigmaB)
		}
	}
	if d.then != nil {
		d.then.prepare(p, id, rows)
	}
}

func (d *dense) forward(p *pass, id int) {
	x, in := p.x(d.x), p.in[id].Slice(0, p.n)
	p.each(func(i int, _ []float32) {
		p.set.ScaleAdd(in.Row(i)[:x.Cols], x.Row(i), 0, d.scale)
	})
	y := p.x(d.y)
	if y.Cols == 1 {
		p.team.Run(ceilDiv(p.n, piece), &rowProducts{p, d, id})
		return
	}
	var then linalg.Epilogue
	if d.then != nil {
		then = &activated{p, d, id}
	}
	linalg.GemmSplit(p.team, y, 1, in, linalg.NoTrans, d.tilde, linalg.NoTrans, 0, then)
}

// rowProducts computes a layer with one neuron.
type rowProducts struct {
	pass  *pass
	dense *dense
	id    int
}

func (j *rowProducts) Do(part, _ int) {
	p, d := j.pass, j.dense
	y, from, to := p.x(d.y), part*piece, min((part+1)*piece, p.n)
	var z [piece]float32
	p.set.DotRows(z[:to-from], d.tilde.Data, p.in[j.id].Slice(from, to).Data, p.in[j.id].Stride)
	for i := from; i < to; i++ {
		y.Set(i, 0, z[i-from])
		if d.then != nil {
			d.then.row(p, j.id, y, i, 0, 1)
		}
	}
}

// activated applies the activation to rows that the cache still holds.
type activated struct {
	pass  *pass
	dense *dense
	id    int
}

func (a *activated) Finish(r0, r1, c0, c1, _ int) {
	y := a.pass.x(a.dense.y)
	for i := r0; i < r1; i++ {
		a.dense.then.row(a.pass, a.id, y, i, c0, c1)
	}
}

// backward leaves ∂output/∂z in place of the gradient of the activation's value.
func (d *dense) backward(p *pass, id int) {
	g := p.g(d.y)
	if d.then != nil {
		p.each(func(i int, _ []float32) { d.then.bend(p, id, g.Row(i), g.Row(i), i) })
	}
	if !p.wants(d.x) {
		return
	}
	w := d.tilde.Slice(0, d.inputs())
	if w.Cols == 1 {
		p.propagate(d.x, func(dst []float32, i int) { p.set.ScaleAdd(dst, w.Data, 0, d.scale*g.At(i, 0)) })
		return
	}
	linalg.GemmSplit(p.team, p.g(d.x), d.scale, g, linalg.NoTrans, w, linalg.Trans, p.claim(d.x), nil)
}

func (d *dense) shape() matrix.Shape { return matrix.Shape{Rows: d.tilde.Rows, Cols: d.tilde.Cols} }

func (d *dense) factors(p *pass, id int) (in, grad matrix.Dense[float32]) {
	return p.in[id].Slice(0, p.n), p.g(d.y)
}
