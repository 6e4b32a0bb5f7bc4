package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scans generates the searches for the smallest and the largest element.
func (v vectors) scans() {
	v.least()
	v.argMax()
	v.minLabel()
	if v.wide == 64 { // AVX2 has no instruction that moves lanes together
		v.atMost()
	}
}

// least generates min. The running minima are the first operand, so a NaN never
// replaces one.
func (v vectors) least() {
	v.begin("min", "(x []T) T", "returns the smallest element, +Inf if there is none.")
	w := v.over("x")
	inf := v.number(math.Inf(1))
	acc := v.regs(unrolled)
	for _, a := range acc {
		v.load(inf, a)
	}
	w.each("", unrolled, func(places []place) {
		for i, p := range places {
			v.min(acc[i], p.loadOr("x", inf), acc[i])
		}
	})
	for _, a := range acc[1:] {
		v.min(acc[0], a, acc[0])
	}
	v.fold(acc[0], v.min)
	v.returnLowest(acc[0])
}

// loadOr is load with the lanes of other where none exist.
func (p place) loadOr(slice string, other reg.VecVirtual) reg.VecVirtual {
	w := p.w
	if !p.part {
		return p.load(slice)
	}
	if w.wide == 64 {
		r := w.reg()
		w.emitter.load(other, r)
		w.typed(w.VMOVUPS, w.VMOVUPD, p.of(slice), p.opmask, r)
		return r
	}
	r := p.load(slice)
	if w.single() {
		w.VBLENDVPS(p.mask, r, other, r)
	} else {
		w.VBLENDVPD(p.mask, r, other, r)
	}
	return r
}

// argMaxBlock is the number of vectors in a block of argMax.
const argMaxBlock = 8

// argMax generates a search in two steps. The first goes over blocks and keeps
// the largest element and the start of the first block that has it, which
// changes rarely. The second searches from there for the first element that equals
// it: -Inf if there is nothing larger, and none if all is NaN. The zeros
// beyond the end do no harm: they come after the true place and differ from -Inf.
func (v vectors) argMax() {
	v.begin("argMax", "(x []T) int", "returns the lowest index of the largest element, -1 if there is none.")
	w := v.over("x")
	best, block, bits := v.number(math.Inf(-1)), v.GP64(), v.GP64()
	v.XORQ(block, block)
	v.largest(w, best, block)

	v.MOVQ(block, w.at)
	v.Load(v.Param("x").Len(), w.left)
	v.SUBQ(block, w.left)
	w.each("find", 1, func(places []place) {
		v.lanesWhere(equal, best, places[0].load("x"), bits)
		v.JNE(operand.LabelRef("found"))
	})
	v.MOVQ(operand.I32(-1), w.at)
	v.JMP(operand.LabelRef("return"))
	v.Label("found")
	v.TZCNTQ(bits, bits)
	v.ADDQ(bits, w.at)
	v.Label("return")
	v.VZEROUPPER()
	v.Store(w.at, v.ReturnIndex(0))
	v.RET()
}

// largest raises best to the largest element and sets block to the start of
// the first block that holds it.
func (v vectors) largest(w *walk, best reg.VecVirtual, block reg.GPVirtual) {
	bodies := 0
	w.each("block", argMaxBlock, func(places []place) {
		bodies++
		next := fmt.Sprintf("next%d", bodies)
		m := v.reg()
		v.max(best, places[0].loadOr("x", best), m)
		for _, p := range places[1:] {
			v.max(m, p.load("x"), m)
		}
		v.lanesWhere(greater, best, m, v.GP64())
		v.JE(operand.LabelRef(next))
		v.fold(m, v.max)
		v.broadcast(m.AsX(), best)
		v.MOVQ(w.at, block)
		v.Label(next)
	})
}

// lanesWhere sets one bit for each lane where y stands in the relation to x,
// and the zero flag if there is none.
func (v vectors) lanesWhere(relation uint8, x, y reg.VecVirtual, bits reg.GPVirtual) {
	if v.wide == 64 {
		mask := v.K()
		v.compare(relation, x, y, mask)
		v.KMOVW(mask, bits.As32())
	} else {
		mask := v.YMM()
		v.compare(relation, x, y, mask)
		v.signs(mask, bits)
	}
	v.TESTL(bits.As32(), bits.As32())
}

// signs gathers the sign bits of the lanes.
func (v vectors) signs(r reg.VecVirtual, bits reg.GPVirtual) {
	if v.single() {
		v.VMOVMSKPS(r, bits.As32())
	} else {
		v.VMOVMSKPD(r, bits.As32())
	}
}

// minLabel generates a loop that writes only where something changes, and
// touches no label in a block where nothing does.
func (v vectors) minLabel() {
	v.begin("minLabel", "(dst []T, label []int32, x []T, id int32)", "lowers dst to x and labels with id what it lowers.")
	w := v.over("dst", "label", "x")
	id := v.reg()
	v.VBROADCASTSS(v.param("id"), id) // moves bits, of an integer too
	bodies := 0
	w.each("", unrolled, func(places []place) {
		bodies++
		next := fmt.Sprintf("next%d", bodies)
		x := make([]reg.VecVirtual, len(places))
		mask := make([]reg.Register, len(places))
		for i, p := range places {
			x[i], mask[i] = p.load("x"), v.maskReg()
			v.compare(less, p.operand("dst"), x[i], mask[i])
		}
		v.jumpIfNone(mask, next)
		for i, p := range places {
			v.storeWhere(mask[i], x[i], p.of("dst"))
			v.labelWhere(mask[i], id, operand.Mem{Base: w.bases["label"], Index: w.at, Scale: 4, Disp: 4 * p.disp})
		}
		v.Label(next)
	})
	v.end()
}

// maskReg returns a register for the result of compare.
func (v vectors) maskReg() reg.Register {
	if v.wide == 64 {
		return v.K()
	}
	return v.YMM()
}

// jumpIfNone jumps if all masks are empty.
func (v vectors) jumpIfNone(masks []reg.Register, label string) {
	any := v.maskReg()
	if v.wide == 64 {
		v.KORW(masks[0], masks[len(masks)-1], any)
		for _, m := range masks[1:] {
			v.KORW(m, any, any)
		}
		v.KORTESTW(any, any)
	} else {
		v.or(masks[0], masks[len(masks)-1], any)
		for _, m := range masks[1:] {
			v.or(m, any, any)
		}
		bits := v.GP64()
		v.signs(any.(reg.VecVirtual), bits)
		v.TESTL(bits.As32(), bits.As32())
	}
	v.JE(operand.LabelRef(label))
}

// storeWhere stores the lanes of the mask.
func (v vectors) storeWhere(mask reg.Register, r reg.VecVirtual, to operand.Mem) {
	switch {
	case v.wide == 64:
		v.typed(v.VMOVUPS, v.VMOVUPD, r, mask, to)
	case v.single():
		v.VMASKMOVPS(r, mask, to)
	default:
		v.VMASKMOVPD(r, mask, to)
	}
}

// labelWhere stores an int32 for each lane of the mask. For float64 the labels
// of a vector are half as wide as the vector.
func (v vectors) labelWhere(mask reg.Register, id reg.VecVirtual, to operand.Mem) {
	switch {
	case v.wide == 64 && v.single():
		v.VMOVDQU32(id, mask, to)
	case v.wide == 64:
		v.VMOVDQU32(id.AsY(), mask, to)
	case v.single():
		v.VPMASKMOVD(id, mask, to)
	default:
		m, high := mask.(reg.VecVirtual), v.XMM()
		v.VEXTRACTF128(operand.U8(1), m, high)
		v.VSHUFPS(operand.U8(0x88), high, m.AsX(), m.AsX()) // the low half of each lane
		v.VPMASKMOVD(id.AsX(), m.AsX(), to)
	}
}

// atMost generates a loop without a branch: which elements count is unpredictable.
func (v vectors) atMost() {
	v.begin("atMost", "(list []int32, x []T, bound T) int", "lists the elements that are at most bound.")
	w := v.over("x")
	bound, lanes := v.reg(), v.laneNumbers()
	v.broadcast(v.param("bound"), bound)
	list, count, bits := v.Load(v.Param("list").Base(), v.GP64()), v.GP64(), v.GP64()
	v.XORQ(count, count)
	w.each("", 1, func(places []place) {
		p, mask := places[0], v.K()
		v.compare(atMost, bound, p.load("x"), mask)
		if p.part {
			v.KANDW(p.opmask, mask, mask)
		}
		v.storeTogether(p, mask, v.numbersFrom(w.at, lanes), operand.Mem{Base: list, Index: count, Scale: 4})
		v.KMOVW(mask, bits.As32())
		v.POPCNTL(bits.As32(), bits.As32())
		v.ADDQ(bits, count)
	})
	v.VZEROUPPER()
	v.Store(count, v.ReturnIndex(0))
	v.RET()
}

// laneNumbers returns 0, 1, 2 and so on as int32.
func (v vectors) laneNumbers() reg.VecVirtual {
	at := v.StaticGlobal("laneNumbers" + v.tag)
	v.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		v.AddDatum(4*i, operand.U32(uint32(i)))
	}
	r := v.ZMM()
	v.VMOVDQU32(at, r)
	return r
}

// numbersFrom adds a number to those of the lanes.
func (v vectors) numbersFrom(first reg.GPVirtual, lanes reg.VecVirtual) reg.VecVirtual {
	r := v.ZMM()
	v.VPBROADCASTD(first.As32(), r)
	v.VPADDD(lanes, r, r)
	return r
}

// storeTogether stores the int32 numbers of the lanes of the mask one after the
// other, and zeros behind them: as much as the place is long, which fits, since
// no more numbers than elements have gone before.
func (v vectors) storeTogether(p place, mask reg.OpmaskVirtual, numbers reg.VecVirtual, to operand.Mem) {
	var r reg.Register = numbers
	if !v.single() {
		r = numbers.AsY()
	}
	v.VPCOMPRESSD_Z(r, mask, r)
	if p.part {
		v.VMOVDQU32(r, p.opmask, to)
	} else {
		v.VMOVDQU32(r, to)
	}
}
