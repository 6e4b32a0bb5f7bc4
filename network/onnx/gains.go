package onnx

// Parameters that act on one number each: the gains γ and shifts β of a normalisation,
// and the slopes of PRelu. They count as weights with one input and as biases:
//
//	y = σ_w·γ'⊙x̂ + σ_b·β',   ∂output/∂(γ', β') = [σ_w·x̂⊙g, σ_b·g],   g = ∂output/∂y
//
// The gradient is as short as the value itself, so it is the one factor of such a layer;
// the other one is 1. A parameter that several columns share has the sum of theirs.

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// normal is LayerNormalization over groups of columns, and BatchNormalization, whose
// mean and deviation are constants.
type normal struct {
	x, y        int
	gain, shift []float32 // of a group; shift may be nil
	eps         float64

	mean, scale []float32 // of BatchNormalization: x̂ = (x - mean)·scale; nil for the other

	sigmaW, sigmaB float32
}

func (s *normal) reads() []int { return []int{s.x} }
func (s *normal) writes() int  { return s.y }

// width is the number of parameters.
func (s *normal) width() int { return len(s.gain) + len(s.shift) }

func (s *normal) prepare(p *pass, id, rows int) {
	if p.keeps() {
		p.in[id] = padded(rows, p.net.outputs()*s.width())
		p.aux[id] = padded(rows, p.net.widths[s.y]+p.net.widths[s.y]/len(s.gain)) // x̂, then 1/deviation of each group
	}
}

func (s *normal) forward(p *pass, id int) {
	x, y := p.x(s.x), p.x(s.y)
	p.each(func(i int, scratch []float32) {
		hat := scratch[:y.Cols]
		var inverse []float32
		if p.keeps() {
			hat, inverse = p.aux[id].Row(i)[:y.Cols], p.aux[id].Row(i)[y.Cols:]
		}
		group := len(s.gain)
		for j := 0; j < y.Cols; j += group {
			r := s.standardise(hat[j:j+group], x.Row(i)[j:j+group])
			if inverse != nil {
				inverse[j/group] = r
			}
			to := y.Row(i)[j : j+group]
			p.set.Mul(to, hat[j:j+group], s.gain)
			if s.shift != nil {
				p.set.Axpy(to, s.shift, 1)
			}
		}
	})
}

// standardise writes x̂ of a group to dst and returns 1/deviation.
func (s *normal) standardise(dst, x []float32) float32 {
	if s.mean != nil {
		for j, v := range x {
			dst[j] = (v - s.mean[j]) * s.scale[j]
		}
		return 1
	}
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
	}
	m := sum / float64(len(x))
	for _, v := range x {
		squares += (float64(v) - m) * (float64(v) - m)
	}
	r := 1 / math.Sqrt(squares/float64(len(x))+s.eps)
	for j, v := range x {
		dst[j] = float32((float64(v) - m) * r)
	}
	return float32(r)
}

func (s *normal) backward(p *pass, id int) {
	g := p.g(s.y)
	if p.net.layerOf[id] >= p.first {
		p.each(func(i int, _ []float32) { s.gradient(p, id, i, g.Row(i)) })
	}
	p.propagate(s.x, func(dst []float32, i int) {
		group := len(s.gain)
		for j := 0; j < len(dst); j += group {
			hat := p.aux[id].Row(i)[j : j+group]
			s.derive(dst[j:j+group], g.Row(i)[j:j+group], hat, p.aux[id].Row(i)[g.Cols+j/group])
		}
	})
}

// gradient writes the gradient with respect to gain and shift.
func (s *normal) gradient(p *pass, id, i int, g []float32) {
	n := len(s.gain)
	to := p.in[id].Row(i)[p.output*s.width() : (p.output+1)*s.width()]
	clear(to)
	for j, up := range g {
		to[j%n] += s.sigmaW * p.aux[id].At(i, j) * up
		if s.shift != nil {
			to[n+j%n] += s.sigmaB * up
		}
	}
}

// derive writes the gradient of a group of inputs: with h = g⊙γ,
//
//	(h - mean h - x̂·mean(h⊙x̂))/deviation,
//
// or h·scale where mean and deviation are constants.
func (s *normal) derive(dst, g, hat []float32, inverse float32) {
	if s.mean != nil {
		for j, up := range g {
			dst[j] = up * s.gain[j] * s.scale[j]
		}
		return
	}
	h, along := 0.0, 0.0
	for j, up := range g {
		v := float64(up) * float64(s.gain[j])
		h += v
		along += v * float64(hat[j])
	}
	n := float64(len(g))
	for j, up := range g {
		dst[j] = float32((float64(up)*float64(s.gain[j]) - h/n - float64(hat[j])*along/n)) * inverse
	}
}

func (s *normal) shape() matrix.Shape { return matrix.Shape{Rows: s.width()} }

func (s *normal) factors(p *pass, id int) (in, grad matrix.Dense[float32]) {
	return p.in[id].Slice(0, p.n), matrix.Dense[float32]{}
}

// prelu is x where x is positive, slope·x elsewhere.
type prelu struct {
	x, y   int
	slope  []float32 // one for each column, or one for all
	sigmaW float32
}

func (s *prelu) reads() []int { return []int{s.x} }
func (s *prelu) writes() int  { return s.y }

func (s *prelu) prepare(p *pass, id, rows int) {
	if p.keeps() {
		p.in[id] = padded(rows, p.net.outputs()*len(s.slope))
	}
}

func (s *prelu) at(j int) float32 { return s.slope[min(j, len(s.slope)-1)] }

func (s *prelu) forward(p *pass, _ int) {
	x, y := p.x(s.x), p.x(s.y)
	p.each(func(i int, _ []float32) {
		to := y.Row(i)
		for j, v := range x.Row(i) {
			if v < 0 {
				v *= s.at(j)
			}
			to[j] = v
		}
	})
}

func (s *prelu) backward(p *pass, id int) {
	x, g := p.x(s.x), p.g(s.y)
	if p.net.layerOf[id] >= p.first {
		p.each(func(i int, _ []float32) {
			to := p.in[id].Row(i)[p.output*len(s.slope) : (p.output+1)*len(s.slope)]
			clear(to)
			for j, up := range g.Row(i) {
				to[min(j, len(to)-1)] += s.sigmaW * up * min(x.At(i, j), 0)
			}
		})
	}
	p.propagate(s.x, func(dst []float32, i int) {
		for j, up := range g.Row(i) {
			if x.At(i, j) < 0 {
				up *= s.at(j)
			}
			dst[j] = up
		}
	})
}

func (s *prelu) shape() matrix.Shape { return matrix.Shape{Rows: len(s.slope)} }

func (s *prelu) factors(p *pass, id int) (in, grad matrix.Dense[float32]) {
	return p.in[id].Slice(0, p.n), matrix.Dense[float32]{}
}

// lookup is an embedding: each index becomes a row of a table. For the kernel grad it
// is a fully-connected layer whose input is 1 at the index and 0 elsewhere. With d = 1,
// as only one input is not zero, x̃ is σ_w at the index.
type lookup struct {
	x, y   int
	node   string
	table  matrix.Dense[float32]
	sigmaW float32
}

// lookupError is an index that is not in the table of an embedding.
type lookupError struct {
	row   int
	value float32
	of    *lookup
}

func (e *lookupError) Error() string {
	return fmt.Sprintf("row %d (from 0): %v is not a category of %s, which has %d, counted from 0", e.row, e.value,
		e.of.node, e.of.table.Rows)
}

func (s *lookup) reads() []int { return []int{s.x} }
func (s *lookup) writes() int  { return s.y }

func (s *lookup) prepare(p *pass, id, rows int) {
	if p.keeps() && p.net.layerOf[id] >= 0 {
		p.in[id] = padded(rows, s.table.Rows)
	}
}

// index returns the row of the table, or -1.
func (s *lookup) index(v float32) int {
	k := int(v)
	if float32(k) != v || k < -s.table.Rows || k >= s.table.Rows {
		return -1
	}
	if k < 0 {
		k += s.table.Rows
	}
	return k
}

// forward runs on one thread: it is a copy, and the first bad index is the one to report.
func (s *lookup) forward(p *pass, id int) {
	x, y := p.x(s.x), p.x(s.y)
	for i := range p.n {
		for j, v := range x.Row(i) {
			to := y.Row(i)[j*s.table.Cols : (j+1)*s.table.Cols]
			k := s.index(v)
			if k < 0 {
				if p.missing.of == nil || i < p.missing.row {
					p.missing = lookupError{i, v, s}
				}
				for c := range to {
					to[c] = float32(math.NaN())
				}
				continue
			}
			copy(to, s.table.Row(k))
		}
		if p.in[id].Rows > 0 {
			to := p.in[id].Row(i)
			clear(to)
			if k := s.index(x.At(i, 0)); k >= 0 {
				to[k] = s.sigmaW
			}
		}
	}
}

func (s *lookup) backward(*pass, int) {} // an index has no gradient

func (s *lookup) shape() matrix.Shape {
	return matrix.Shape{Rows: s.table.Rows, Cols: s.table.Cols}
}

func (s *lookup) factors(p *pass, id int) (in, grad matrix.Dense[float32]) {
	return p.in[id].Slice(0, p.n), p.g(s.y)
}
