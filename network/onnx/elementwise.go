package onnx

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// function is an activation: its value and slope at z.
type function func(z float64) (value, slope float64)

// loopKind selects the vector loop of a function, where there is one.
type loopKind uint8

const (
	plain   loopKind = iota
	sigmoid          // has no loop, but is part of SiLU
	relu
	silu
	tanh
)

// unary applies a function to each number.
type unary struct {
	x, y int
	kind loopKind
	at   function
	op   string
}

func (u *unary) reads() []int { return []int{u.x} }
func (u *unary) writes() int  { return u.y }

func (u *unary) prepare(p *pass, id, rows int) {
	width := p.net.widths[p.net.steps[id].writes()]
	switch {
	case u.kind == relu: // the sign of the output tells the slope
	case p.keeps():
		p.aux[id] = padded(rows, width)
	case u.kind == silu: // the loop needs somewhere to write
		p.aux[id] = padded(rows, width)
	}
}

func (u *unary) forward(p *pass, id int) {
	x, y := p.x(u.x), p.x(u.y)
	p.each(func(i int, _ []float32) {
		copy(y.Row(i), x.Row(i))
		u.row(p, id, y, i, 0, y.Cols)
	})
}

// row applies the function to columns c0 to c1-1 of row i of y, in place.
func (u *unary) row(p *pass, id int, y matrix.Dense[float32], i, c0, c1 int) {
	z := y.Row(i)[c0:c1]
	var slope []float32
	if p.aux[id].Rows > 0 {
		slope = p.aux[id].Row(i)[c0:c1]
	}
	switch u.kind {
	case relu:
		p.set.ReLU(z, z)
	case silu:
		p.set.SiLU(z, slope, z)
	case tanh:
		p.set.Tanh(z, z)
		for j := range slope {
			slope[j] = 1 - z[j]*z[j]
		}
	default:
		for j, v := range z {
			value, s := u.at(float64(v))
			z[j] = float32(value)
			if slope != nil {
				slope[j] = float32(s)
			}
		}
	}
}

// bend writes g times the slope at row i to dst.
func (u *unary) bend(p *pass, id int, dst, g []float32, i int) {
	if u.kind == relu {
		p.set.ReLUMask(dst, g, p.value[p.net.steps[id].writes()].Row(i))
		return
	}
	p.set.Mul(dst, g, p.aux[id].Row(i))
}

func (u *unary) backward(p *pass, id int) {
	g := p.g(u.y)
	p.propagate(u.x, func(dst []float32, i int) { u.bend(p, id, dst, g.Row(i), i) })
}

// affine is a·x + b with constants, of Add, Sub, Mul and Div with one constant operand.
// A value of one column is repeated for each column of the constants.
type affine struct {
	x, y int
	a, b []float32 // one for each column of y
}

func (s *affine) reads() []int              { return []int{s.x} }
func (s *affine) writes() int               { return s.y }
func (s *affine) prepare(_ *pass, _, _ int) {}

func (s *affine) forward(p *pass, _ int) {
	x, y := p.x(s.x), p.x(s.y)
	p.each(func(i int, _ []float32) {
		from, to := x.Row(i), y.Row(i)
		if len(from) == 1 {
			p.set.ScaleAdd(to, s.a, 0, from[0])
		} else {
			p.set.Mul(to, from, s.a)
		}
		p.set.Axpy(to, s.b, 1)
	})
}

func (s *affine) backward(p *pass, _ int) {
	g := p.g(s.y)
	p.propagate(s.x, func(dst []float32, i int) {
		if len(dst) == 1 {
			dst[0] = p.set.Dot(g.Row(i), s.a)
			return
		}
		p.set.Mul(dst, g.Row(i), s.a)
	})
}

// arithmetic is a sum, difference, product or quotient of two values. One of them may
// have a single column, which then stands for all columns of a row.
type arithmetic struct {
	op   string // Add, Sub, Mul or Div
	a, b int
	y    int
}

func (s *arithmetic) reads() []int              { return []int{s.a, s.b} }
func (s *arithmetic) writes() int               { return s.y }
func (s *arithmetic) prepare(_ *pass, _, _ int) {}

func (s *arithmetic) forward(p *pass, _ int) {
	a, b, y := p.x(s.a), p.x(s.b), p.x(s.y)
	p.each(func(i int, _ []float32) {
		l, r, to := a.Row(i), b.Row(i), y.Row(i)
		for j := range to {
			u, v := l[min(j, len(l)-1)], r[min(j, len(r)-1)]
			switch s.op {
			case "Add":
				to[j] = u + v
			case "Sub":
				to[j] = u - v
			case "Mul":
				to[j] = u * v
			default:
				to[j] = u / v
			}
		}
	})
}

func (s *arithmetic) backward(p *pass, _ int) {
	a, b, g := p.x(s.a), p.x(s.b), p.g(s.y)
	side := func(v int, slope func(u, v float32) float32) {
		p.propagate(v, func(dst []float32, i int) {
			l, r := a.Row(i), b.Row(i)
			one := len(dst) == 1 && len(g.Row(i)) > 1
			if one {
				dst[0] = 0
			}
			for j, up := range g.Row(i) {
				term := up * slope(l[min(j, len(l)-1)], r[min(j, len(r)-1)])
				if one {
					dst[0] += term
				} else {
					dst[j] = term
				}
			}
		})
	}
	switch s.op {
	case "Add":
		side(s.a, func(_, _ float32) float32 { return 1 })
		side(s.b, func(_, _ float32) float32 { return 1 })
	case "Sub":
		side(s.a, func(_, _ float32) float32 { return 1 })
		side(s.b, func(_, _ float32) float32 { return -1 })
	case "Mul":
		side(s.a, func(_, v float32) float32 { return v })
		side(s.b, func(u, _ float32) float32 { return u })
	default:
		side(s.a, func(_, v float32) float32 { return 1 / v })
		side(s.b, func(u, v float32) float32 { return -u / (v * v) })
	}
}

// whereStep is the value yes where test is not 0, and no elsewhere.
type whereStep struct{ test, yes, no, y int }

func (s *whereStep) reads() []int              { return []int{s.test, s.yes, s.no} }
func (s *whereStep) writes() int               { return s.y }
func (s *whereStep) prepare(_ *pass, _, _ int) {}

func (s *whereStep) forward(p *pass, _ int) {
	test, yes, no, y := p.x(s.test), p.x(s.yes), p.x(s.no), p.x(s.y)
	p.each(func(i int, _ []float32) {
		for j, v := range test.Row(i) {
			if v != 0 {
				y.Set(i, j, yes.At(i, j))
			} else {
				y.Set(i, j, no.At(i, j))
			}
		}
	})
}

func (s *whereStep) backward(p *pass, _ int) {
	test, g := p.x(s.test), p.g(s.y)
	for _, side := range []struct {
		value int
		holds bool
	}{{s.yes, true}, {s.no, false}} {
		p.propagate(side.value, func(dst []float32, i int) {
			for j, up := range g.Row(i) {
				if dst[j] = 0; (test.At(i, j) != 0) == side.holds {
					dst[j] = up
				}
			}
		})
	}
}

// groupMean averages groups of columns, or adds them up.
type groupMean struct {
	x, y   int
	factor float32 // of the sum
}

func (s *groupMean) reads() []int              { return []int{s.x} }
func (s *groupMean) writes() int               { return s.y }
func (s *groupMean) prepare(_ *pass, _, _ int) {}

func (s *groupMean) forward(p *pass, _ int) {
	x, y := p.x(s.x), p.x(s.y)
	p.each(func(i int, _ []float32) {
		group := x.Cols / y.Cols
		for j := range y.Cols {
			sum := 0.0
			for _, v := range x.Row(i)[j*group : (j+1)*group] {
				sum += float64(v)
			}
			y.Set(i, j, float32(sum)*s.factor)
		}
	})
}

func (s *groupMean) backward(p *pass, _ int) {
	g := p.g(s.y)
	p.propagate(s.x, func(dst []float32, i int) {
		group := len(dst) / g.Cols
		for j := range dst {
			dst[j] = g.At(i, j/group) * s.factor
		}
	})
}

// columnRun are columns of a value that go side by side into another.
type columnRun struct{ from, first, at, n int }

// columnCopy copies columns: Concat, Slice, Split, Transpose, Gather with constant indices.
type columnCopy struct {
	y    int
	runs []columnRun
}

func (s *columnCopy) reads() (list []int) {
	for _, r := range s.runs {
		list = append(list, r.from)
	}
	return list
}
func (s *columnCopy) writes() int               { return s.y }
func (s *columnCopy) prepare(_ *pass, _, _ int) {}

func (s *columnCopy) forward(p *pass, _ int) {
	y := p.x(s.y)
	p.each(func(i int, _ []float32) {
		for _, r := range s.runs {
			copy(y.Row(i)[r.at:r.at+r.n], p.value[r.from].Row(i)[r.first:r.first+r.n])
		}
	})
}

func (s *columnCopy) backward(p *pass, _ int) {
	for _, r := range s.runs {
		if p.wants(r.from) && p.claim(r.from) == 0 {
			to := p.g(r.from)
			p.each(func(i int, _ []float32) { clear(to.Row(i)) })
		}
	}
	g := p.g(s.y)
	p.each(func(i int, _ []float32) {
		for _, r := range s.runs {
			if p.wants(r.from) {
				p.set.Axpy(p.grad[r.from].Row(i)[r.first:r.first+r.n], g.Row(i)[r.at:r.at+r.n], 1)
			}
		}
	})
}

// trunc drops the fraction of each number: a cast to an integer type.
func trunc(z float64) (value, slope float64) { return math.Trunc(z), 0 }
