package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// unrolled is the number of vectors in a block of an element-wise loop.
const unrolled = 4

// elementWise generates the loops that process each element independently.
func (v vectors) elementWise() {
	v.axpy()
	v.scaleAdd()
	v.mul()
	v.rotate()
	v.relu()
	v.reluMask()
}

func (v vectors) end() {
	v.VZEROUPPER()
	v.RET()
}

// scalar returns a parameter in all lanes.
func (v vectors) scalar(param string) reg.VecVirtual {
	r := v.reg()
	v.broadcast(v.param(param), r)
	return r
}

func (v vectors) axpy() {
	v.begin("axpy", "(dst, x []T, a T)", "adds a·x to dst.")
	w := v.over("dst", "x")
	a := v.scalar("a")
	w.eachAlone(unrolled, func(p place) {
		dst := p.load("dst")
		v.fma231(p.operand("x"), a, dst)
		p.store(dst, "dst")
	})
	v.end()
}

func (v vectors) scaleAdd() {
	v.begin("scaleAdd", "(dst, x []T, a, b T)", "writes a·dst + b·x to dst.")
	w := v.over("dst", "x")
	a, b := v.scalar("a"), v.scalar("b")
	w.eachAlone(unrolled, func(p place) {
		x := p.load("x")
		v.mulv(x, b, x)
		v.fma231(p.operand("dst"), a, x)
		p.store(x, "dst")
	})
	v.end()
}

func (v vectors) mul() {
	v.begin("mul", "(dst, x, y []T)", "writes x·y to dst.")
	w := v.over("dst", "x", "y")
	w.eachAlone(unrolled, func(p place) {
		x := p.load("x")
		v.mulv(p.operand("y"), x, x)
		p.store(x, "dst")
	})
	v.end()
}

func (v vectors) rotate() {
	v.begin("rotate", "(x, y []T, c, s T)", "writes c·x + s·y to x and c·y − s·x to y.")
	w := v.over("x", "y")
	c, s := v.scalar("c"), v.scalar("s")
	w.eachAlone(unrolled, func(p place) {
		x, y := p.load("x"), p.load("y")
		newX, newY := v.reg(), v.reg()
		v.mulv(x, c, newX)
		v.mulv(y, c, newY)
		v.fma231(y, s, newX)
		v.fnma231(x, s, newY)
		p.store(newX, "x")
		p.store(newY, "y")
	})
	v.end()
}

// relu keeps NaN and the sign of zero, because max returns its first operand
// then.
func (v vectors) relu() {
	v.begin("relu", "(dst, x []T)", "writes max(x, 0) to dst.")
	w := v.over("dst", "x")
	zero := v.reg()
	v.zero(zero)
	w.eachAlone(unrolled, func(p place) {
		y := v.reg()
		v.max(p.operand("x"), zero, y)
		p.store(y, "dst")
	})
	v.end()
}

func (v vectors) reluMask() {
	v.begin("reluMask", "(dst, grad, y []T)", "writes grad to dst where y > 0, zero elsewhere.")
	w := v.over("dst", "grad", "y")
	zero := v.reg()
	v.zero(zero)
	w.eachAlone(unrolled, func(p place) {
		grad, positive := p.load("grad"), v.maskReg()
		v.compare(greater, zero, p.load("y"), positive)
		v.keep(positive, grad)
		p.store(grad, "dst")
	})
	v.end()
}

// keep sets r to zero outside the lanes of the mask.
func (v vectors) keep(mask reg.Register, r reg.VecVirtual) {
	if v.wide == 64 {
		v.typed(v.maskedLoadPS, v.maskedLoadPD, r, mask, r)
	} else {
		v.and(mask, r, r)
	}
}

// widen generates the conversion of whole vectors.
func widen(c *build.Context, s isa) {
	v := vectors{emitter: emitter{c, s, floats[1]}}
	name := "widen" + s.name
	text(c, name, "func(dst []float64, src []float32)")
	v.Doc(name + " writes src to dst: whole vectors of dst alone.")
	v.Pragma("noescape")
	w := v.over("dst", "src")
	body := func(places []place) {
		for _, p := range places {
			from, wide := p.of("src"), v.reg()
			from.Scale, from.Disp = 4, 4*p.disp
			v.VCVTPS2PD(from, wide)
			p.store(wide, "dst")
		}
	}
	w.loop("block", unrolled, body)
	w.loop("vector", 1, body)
	v.end()
}
