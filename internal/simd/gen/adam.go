package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// adam generates one step of Adam in one pass. step points to the numbers of
// AdamStep, in their order there. Square root and quotient are exact: the pass
// waits for memory, not for them.
func (v vectors) adam() {
	v.begin("adam", "(w, m, v, grad []T, step *T)", "makes one step of Adam; see AdamStep.")
	w := v.over("w", "m", "v", "grad")
	step := v.Load(v.Param("step"), v.GP64())
	number := func(i int) reg.VecVirtual {
		r := v.reg()
		v.broadcast(operand.Mem{Base: step, Disp: i * v.size}, r)
		return r
	}
	beta1, gain1, beta2, gain2 := number(0), number(1), number(2), number(3)
	keep, rate, root, eps := number(4), number(5), number(6), number(7)
	w.eachAlone(1, func(p place) {
		grad, scaled := p.load("grad"), v.reg()
		m, moment := p.load("m"), p.load("v")
		v.mulv(beta1, m, m)
		v.fma231(gain1, grad, m)
		v.mulv(beta2, moment, moment)
		v.mulv(gain2, grad, scaled)
		v.fma231(scaled, grad, moment)
		p.store(m, "m")
		p.store(moment, "v")
		v.sqrt(moment, moment)
		v.fma213(eps, root, moment)
		v.mulv(rate, m, m)
		v.div(moment, m, m)
		weight := p.load("w")
		v.fms213(m, keep, weight)
		p.store(weight, "w")
	})
	v.end()
}
