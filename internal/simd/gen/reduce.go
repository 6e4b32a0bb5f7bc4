package main

import "github.com/mmcloughlin/avo/reg"

// reductions generates the sums over one or two slices. Element i always goes
// to the same lane of the same running sum, so the order of summation depends
// on the length alone.
func (v vectors) reductions() {
	v.sumOf("dot", "(x, y []T) T", "returns Σ x[i]·y[i].", func(p place, acc reg.VecVirtual) {
		x := p.load("x")
		v.fma231(p.operand("y"), x, acc)
	}, "x", "y")
	v.sumOf("sum", "(x []T) T", "returns Σ x[i].", func(p place, acc reg.VecVirtual) {
		v.add(p.operand("x"), acc, acc)
	}, "x")
	v.sumOf("sumSquares", "(x []T) T", "returns Σ x[i]².", func(p place, acc reg.VecVirtual) {
		x := p.load("x")
		v.fma231(x, x, acc)
	}, "x")
}

// sums is the number of running sums: two loads a cycle and an addition of
// four cycles keep eight in flight.
const sums = 8

func (v vectors) sumOf(name, params, doc string, addTo func(p place, acc reg.VecVirtual), slices ...string) {
	v.begin(name, params, doc)
	w := v.over(slices...)
	acc := v.regs(sums)
	for _, a := range acc {
		v.zero(a)
	}
	w.each("", sums, func(places []place) {
		for i, p := range places {
			addTo(p, acc[i])
		}
	})
	for n := sums / 2; n > 0; n /= 2 {
		for i := 0; i < n; i++ {
			v.add(acc[i+n], acc[i], acc[i])
		}
	}
	v.fold(acc[0], v.add)
	v.returnLowest(acc[0])
}
