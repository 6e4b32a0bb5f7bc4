package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maths generates the exponential and the functions based on it.
func (v vectors) maths() {
	v.exp()
	v.tanh()
	v.silu()
}

// The exponential: e^x = 2^n·(1+t) with n = x/ln 2 rounded to the nearest
// integer, r = x − n·ln 2 in [−ln 2/2, ln 2/2], and t = e^r − 1 from its Taylor
// series. ln 2 is the sum of two numbers, of which the first has so few digits
// that n times it is exact.
//
// Adding magic leaves an integer plus the bias of the exponent in the last
// digits of the sum: subtracting it again has rounded, and shifting the sum up
// makes a power of two.
type exponential struct {
	vectors
	log2e, high, low operand.Op // log2 e, ln 2
	one, half, magic operand.Op
	even             []operand.Op // 1/k! for k = 2, 4 ...
	odd              []float64    // 1/k! for k = 3, 5 ..., read where they are used
}

// expRange is where e^x is neither zero nor infinite after rounding, and a
// little more; order the degree of the series, whose remainder is below a
// tenth of the last digit; high and low sum to ln 2.
type expRange struct {
	least, most float64
	order       float64
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
	bias := math.Ldexp(1, 8*v.size-int(c.mantissa)-2) - 1
	x := exponential{vectors: v, log2e: v.numberSource(math.Log2E),
		high: v.numberSource(c.high), low: v.numberSource(c.low),
		one: v.numberSource(1), magic: v.numberSource(math.Ldexp(1.5, int(c.mantissa)) + bias)}
	if v.wide == 32 {
		x.half = v.numberSource(0.5)
	}
	for k, factorial := 2.0, 2.0; k < c.order; k += 2 {
		x.even = append(x.even, v.numberSource(1/factorial))
		factorial *= k + 1
		x.odd = append(x.odd, 1/factorial)
		factorial *= k + 2
	}
	return x
}

// split returns n and t of x.
func (e exponential) split(x reg.VecVirtual) (n, t reg.VecVirtual) {
	n, r, r2 := e.reg(), e.reg(), e.reg()
	e.load(e.magic, n)
	e.fma231(e.log2e, x, n)
	e.sub(e.magic, n, n)
	e.load(x, r)
	e.fnma231(e.high, n, r)
	e.fnma231(e.low, n, r)
	e.mulv(r, r, r2)
	t = e.polynomial(r, r2)
	e.fma213(r, r2, t)
	return n, t
}

// polynomial sums r^(k−2)/k! pair by pair, then pairs of pairs: a shorter
// chain of instructions than one coefficient after the other, so that more vectors
// are in flight at once.
func (e exponential) polynomial(r, r2 reg.VecVirtual) reg.VecVirtual {
	var terms []reg.VecVirtual
	for i, even := range e.even {
		t := e.number(e.odd[i])
		e.fma213(even, r, t)
		terms = append(terms, t)
	}
	for power := r2; len(terms) > 1; {
		var sums []reg.VecVirtual
		for k := 0; k+1 < len(terms); k += 2 {
			e.fma213(terms[k], power, terms[k+1])
			sums = append(sums, terms[k+1])
		}
		if len(terms)%2 == 1 {
			sums = append(sums, terms[len(terms)-1])
		}
		if terms = sums; len(terms) > 1 {
			square := e.reg()
			e.mulv(power, power, square)
			power = square
		}
	}
	return terms[0]
}

// of returns e^x for x inside expRange. A subnormal result is rounded once more.
func (e exponential) of(x reg.VecVirtual) reg.VecVirtual {
	n, p := e.split(x)
	e.add(e.one, p, p)
	if e.wide == 64 {
		e.typed(e.VSCALEFPS, e.VSCALEFPD, n, p, p)
		return p
	}
	// 2^n itself may be out of range: multiply by 2^(n/2) and by the rest.
	part, factor := e.reg(), e.reg()
	e.load(e.magic, part)
	e.fma231(e.half, n, part)
	e.shiftUp(part, factor)
	e.mulv(factor, p, p)
	e.sub(e.magic, part, part)
	e.sub(part, n, n)
	e.mulv(e.power(n), p, p)
	return p
}

// power returns 2^n for n within the range of normal exponents.
func (e exponential) power(n reg.VecVirtual) reg.VecVirtual {
	p := e.reg()
	e.add(e.magic, n, p)
	e.shiftUp(p, p)
	return p
}

// shiftUp moves the last digits to where the exponent is.
func (e exponential) shiftUp(x, to reg.VecVirtual) {
	e.typed(e.VPSLLD, e.VPSLLQ, operand.U8(e.expRange().mantissa), x, to)
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
		sum := v.reg()
		v.add(e.one, small, sum)
		r := v.reciprocal(sum, e.one)
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

// reciprocal returns 1/x for x from 1 to 2. AVX-512 has an estimate of 14 digits,
// which one step of Newton's doubles: r·(2 − x·r). Division takes three times as
// long.
func (v vectors) reciprocal(x reg.VecVirtual, one operand.Op) reg.VecVirtual {
	r := v.reg()
	if v.wide < 64 || !v.single() {
		v.load(one, r)
		v.div(x, r, r)
		return r
	}
	rest := v.reg()
	v.VRCP14PS(x, r)
	v.load(one, rest)
	v.fnma231(x, r, rest)
	v.fma213(r, rest, r)
	return r
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
