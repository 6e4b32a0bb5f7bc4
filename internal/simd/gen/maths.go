package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maths generates the exponential and what is made of it.
func (v vectors) maths() {
	v.exp()
	v.tanh()
	v.silu()
}

// The exponential: e^x = 2^n·(1+t) with n = x/ln 2 rounded to the nearest
// integer, r = x − n·ln 2 in [−ln 2/2, ln 2/2], and t = e^r − 1 from its Taylor
// series. ln 2 is the sum of two numbers, of which the first has so few digits
// that n times it is exact.
type exponential struct {
	vectors
	log2e      operand.Op
	high, low  operand.Op   // ln 2
	taylor     []operand.Op // 1/k! for k = 2, 3 ...
	one, magic operand.Op
	half       operand.Op
}

// expRange is where e^x is neither zero nor infinite after rounding, and a
// little more; order the degree of the series, whose remainder is below a
// tenth of the last digit; high and low sum to ln 2.
type expRange struct {
	least, most float64
	order       int
	high, low   float64
	mantissa    uint8 // bits
}

func (e emitter) expRange() expRange {
	if e.single() {
		return expRange{-104, 89, 7, 0x1.63p-1, -0x1.bd0105c610ca8p-13, 23}
	}
	return expRange{-746, 710, 13, 0x1.62e42ffp-1, -0x1.718432a1b0e26p-35, 52}
}

func (v vectors) exponential() exponential {
	c := v.expRange()
	x := exponential{vectors: v, log2e: v.numberSource(math.Log2E),
		high: v.numberSource(c.high), low: v.numberSource(c.low), one: v.numberSource(1)}
	factorial := 1.0
	for k := 2; k <= c.order; k++ {
		factorial *= float64(k)
		x.taylor = append(x.taylor, v.numberSource(1/factorial))
	}
	if v.wide == 32 {
		bias := float64(int(1)<<(8*v.size-int(c.mantissa)-2) - 1)
		x.magic = v.numberSource(1.5*math.Ldexp(1, int(c.mantissa)) + bias)
		x.half = v.numberSource(0.5)
	}
	return x
}

// split returns n and t of x.
func (e exponential) split(x reg.VecVirtual) (n, t reg.VecVirtual) {
	n, r, q, t := e.reg(), e.reg(), e.reg(), e.reg()
	e.mulv(e.log2e, x, n)
	e.round(n, n)
	e.load(x, r)
	e.fnma231(e.high, n, r)
	e.fnma231(e.low, n, r)
	last := len(e.taylor) - 1
	e.load(e.taylor[last], q)
	for k := last - 1; k >= 0; k-- {
		e.fma213(e.taylor[k], r, q)
	}
	e.mulv(r, r, t)
	e.fma213(r, q, t)
	return n, t
}

// round rounds to the nearest integer.
func (e exponential) round(x, to reg.VecVirtual) {
	const nearest = operand.U8(8)
	switch {
	case e.wide == 64:
		e.typed(e.VRNDSCALEPS, e.VRNDSCALEPD, nearest, x, to)
	case e.single():
		e.VROUNDPS(nearest, x, to)
	default:
		e.VROUNDPD(nearest, x, to)
	}
}

// of returns e^x for x inside expRange, rounding once more where the result is
// subnormal.
func (e exponential) of(x reg.VecVirtual) reg.VecVirtual {
	n, p := e.split(x)
	e.add(e.one, p, p)
	if e.wide == 64 {
		e.typed(e.VSCALEFPS, e.VSCALEFPD, n, p, p)
		return p
	}
	// 2^n itself may be out of range, so multiply by it in two steps.
	part := e.reg()
	e.mulv(e.half, n, part)
	e.round(part, part)
	e.sub(part, n, n)
	e.mulv(e.power(part), p, p)
	e.mulv(e.power(n), p, p)
	return p
}

// power returns 2^n for n within the range of normal exponents.
func (e exponential) power(n reg.VecVirtual) reg.VecVirtual {
	p := e.reg()
	if e.wide == 64 {
		e.load(e.one, p)
		e.typed(e.VSCALEFPS, e.VSCALEFPD, n, p, p)
		return p
	}
	// The sum has n plus the exponent's bias in its last digits.
	e.add(e.magic, n, p)
	e.typed(e.VPSLLD, e.VPSLLQ, operand.U8(e.expRange().mantissa), p, p)
	return p
}

// exp clamps x to the range; v.min and v.max keep NaN as their first operand.
func (v vectors) exp() {
	v.begin("exp", "(dst, x []T)", "writes e^x to dst, subnormal where it underflows.")
	w := v.over("dst", "x")
	c, e := v.expRange(), v.exponential()
	least, most := v.number(c.least), v.number(c.most)
	w.eachAlone(1, func(p place) {
		x := v.reg()
		v.min(p.operand("x"), most, x)
		v.max(x, least, x)
		p.store(e.of(x), "dst")
	})
	v.end()
}

// tanh generates tanh x = ±d/(d+2) with d = e^{2|x|} − 1 = 2^n·t + (2^n−1),
// which keeps all digits of a small x.
func (v vectors) tanh() {
	v.begin("tanh", "(dst, x []T)", "writes the hyperbolic tangent of x to dst.")
	w := v.over("dst", "x")
	e := v.exponential()
	sign, two := v.register(v.signBit()), v.numberSource(2)
	limit := v.number(map[bool]float64{true: 10, false: 20}[v.single()]) // tanh is 1 from here on
	w.eachAlone(1, func(p place) {
		x, signOfX := p.load("x"), v.reg()
		v.and(x, sign, signOfX)
		v.typed(v.VANDNPS, v.VANDNPD, x, sign, x)
		v.min(x, limit, x)
		v.add(x, x, x)
		n, d := e.split(x)
		power, less1 := e.power(n), v.reg()
		v.load(power, less1)
		v.sub(e.one, less1, less1)
		v.fma213(less1, power, d)
		sum := v.reg()
		v.add(two, d, sum)
		v.div(sum, d, d)
		v.or(signOfX, d, d)
		p.store(d, "dst")
	})
	v.end()
}

// silu generates σ(x) = r and 1 − σ(x) = e·r for x ≥ 0, the other way round for
// x < 0, with e = e^{−|x|} and r = 1/(1+e): neither overflows nor cancels.
func (v vectors) silu() {
	v.begin("silu", "(dst, deriv, x []T)", "writes x·σ(x) to dst and its derivative to deriv.")
	w := v.over("dst", "deriv", "x")
	e := v.exponential()
	sign, least := v.source(v.signBit()), v.number(v.expRange().least)
	w.eachAlone(1, func(p place) {
		x, a := p.load("x"), v.reg()
		v.or(sign, x, a)
		v.max(a, least, a)
		small := e.of(a)
		sum, r := v.reg(), v.reg()
		v.add(e.one, small, sum)
		v.load(e.one, r)
		v.div(sum, r, r)
		v.mulv(r, small, small)
		sigma, rest := v.bySign(x, small, r), v.bySign(x, r, small)
		y := v.reg()
		v.mulv(sigma, x, y)
		p.store(y, "dst")
		v.fma213(sigma, rest, y)
		p.store(y, "deriv")
	})
	v.end()
}

// bySign returns the lanes of minus where x has a sign, of plus elsewhere.
func (v vectors) bySign(x, minus, plus reg.VecVirtual) reg.VecVirtual {
	r := v.reg()
	switch {
	case v.wide == 64 && v.single():
		mask := v.K()
		v.VPMOVD2M(x, mask)
		v.VBLENDMPS(minus, plus, mask, r)
	case v.wide == 64:
		mask := v.K()
		v.VPMOVQ2M(x, mask)
		v.VBLENDMPD(minus, plus, mask, r)
	case v.single():
		v.VBLENDVPS(x, minus, plus, r)
	default:
		v.VBLENDVPD(x, minus, plus, r)
	}
	return r
}
