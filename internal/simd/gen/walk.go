package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// walk goes over slices of one length side by side, in blocks of several
// vectors, then vector by vector, then over the remaining part of a vector.
type walk struct {
	vectors
	bases map[string]reg.Register
	at    reg.GPVirtual // elements done
	left  reg.GPVirtual // elements not done, less than a block inside blocks
}

// over loads the bases of the slices; the first one's length counts.
func (v vectors) over(slices ...string) *walk {
	w := &walk{vectors: v, bases: map[string]reg.Register{}, at: v.GP64(), left: v.GP64()}
	for _, name := range slices {
		w.bases[name] = v.Load(v.Param(name).Base(), v.GP64())
	}
	v.Load(v.Param(slices[0]).Len(), w.left)
	v.XORQ(w.at, w.at)
	return w
}

// place is where one vector lies in all slices of a walk.
type place struct {
	w    *walk
	disp int // elements from w.at on

	part   bool // only the first elements exist, as these masks say:
	opmask reg.OpmaskVirtual
	mask   reg.VecVirtual
}

// each emits body for a block of count vectors in a loop, for single vectors
// in a loop, and for the part at the end. label keeps two walks of a function
// apart.
func (w *walk) each(label string, count int, body func(places []place)) {
	w.loop(label+"Block", count, body)
	if count > 1 {
		w.loop(label+"Vector", 1, body)
	}
	w.TESTQ(w.left, w.left)
	w.JE(operand.LabelRef(label + "Done"))
	body([]place{w.lastPart()})
	w.Label(label + "Done")
}

// eachAlone is each for a body that takes the vectors of a block one by one.
func (w *walk) eachAlone(count int, body func(p place)) {
	w.each("", count, func(places []place) {
		for _, p := range places {
			body(p)
		}
	})
}

func (w *walk) loop(label string, count int, body func([]place)) {
	step := operand.U32(uint32(count * w.lanes(w.size)))
	places := make([]place, count)
	for i := range places {
		places[i] = place{w: w, disp: i * w.lanes(w.size)}
	}
	w.SUBQ(step, w.left)
	w.JL(operand.LabelRef(label + "End"))
	w.Label(label)
	body(places)
	w.ADDQ(step, w.at)
	w.SUBQ(step, w.left)
	w.JGE(operand.LabelRef(label))
	w.Label(label + "End")
	w.ADDQ(step, w.left)
}

// lastPart sets the masks to the remaining elements.
func (w *walk) lastPart() place {
	p := place{w: w, part: true}
	if w.wide == 64 {
		p.opmask = w.firstLanes(w.left)
	} else {
		p.mask = w.YMM()
		w.firstLaneVector(w.left, p.mask)
	}
	return p
}

// firstLanes is the opmask of the first n lanes.
func (v vectors) firstLanes(n reg.GPVirtual) reg.OpmaskVirtual {
	bits, mask := v.GP64(), v.K()
	v.MOVQ(operand.I32(-1), bits)
	v.BZHIQ(n, bits, bits)
	v.KMOVW(bits.As32(), mask)
	return mask
}

// firstLaneVector is firstLanes for AVX2: all bits of these lanes.
func (v vectors) firstLaneVector(n reg.GPVirtual, mask reg.VecVirtual) {
	table, back := v.GP64(), v.GP64()
	v.MOVQ(n, back)
	v.NEGQ(back)
	v.LEAQ(v.masks.Offset(64), table)
	v.VMOVUPS(operand.Mem{Base: table, Index: back, Scale: uint8(v.size)}, mask)
}

// of is the address in a slice.
func (p place) of(slice string) operand.Mem {
	return operand.Mem{Base: p.w.bases[slice], Index: p.w.at, Scale: uint8(p.w.size), Disp: p.disp * p.w.size}
}

// load returns the vector of a slice in a register; lanes that do not exist
// are zero.
func (p place) load(slice string) reg.VecVirtual {
	r := p.w.reg()
	p.w.loadLanes(p, p.of(slice), r)
	return r
}

func (v vectors) loadLanes(p place, from operand.Mem, to reg.VecVirtual) {
	switch {
	case !p.part:
		v.load(from, to)
	case v.wide == 64:
		v.typed(v.maskedLoadPS, v.maskedLoadPD, from, p.opmask, to)
	case v.single():
		v.VMASKMOVPS(from, p.mask, to)
	default:
		v.VMASKMOVPD(from, p.mask, to)
	}
}

func (e emitter) maskedLoadPS(ops ...operand.Op) { e.VMOVUPS_Z(ops[0], ops[1], ops[2]) }
func (e emitter) maskedLoadPD(ops ...operand.Op) { e.VMOVUPD_Z(ops[0], ops[1], ops[2]) }

// operand returns the vector of a slice as an instruction can read it: in
// memory where all of it exists.
func (p place) operand(slice string) operand.Op {
	if p.part {
		return p.load(slice)
	}
	return p.of(slice)
}

// store writes the lanes that exist.
func (p place) store(r reg.VecVirtual, slice string) {
	w, to := p.w, p.of(slice)
	switch {
	case !p.part:
		w.emitter.store(r, to)
	case w.wide == 64:
		w.storeWhere(p.opmask, r, to)
	default:
		w.storeWhere(p.mask, r, to)
	}
}
