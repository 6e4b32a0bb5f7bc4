package main

import (
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// signature replaces T by the name of the element type.
func signature(params, float string) string {
	return "func" + strings.NewReplacer("]T", "]"+float, " T", " "+float, "*T", "*"+float).Replace(params)
}

// reg returns a new vector register.
func (e emitter) reg() reg.VecVirtual {
	if e.wide == 64 {
		return e.ZMM()
	}
	return e.YMM()
}

func (e emitter) regs(n int) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = e.reg()
	}
	return list
}

type instruction = func(ops ...operand.Op)

// typed emits the instruction of the element type.
func (e emitter) typed(single, double instruction, ops ...operand.Op) {
	if e.single() {
		single(ops...)
	} else {
		double(ops...)
	}
}

// As in Go's assembler, the destination comes last and the subtrahend or
// divisor first.

func (e emitter) add(ops ...operand.Op)  { e.typed(e.VADDPS, e.VADDPD, ops...) }
func (e emitter) sub(ops ...operand.Op)  { e.typed(e.VSUBPS, e.VSUBPD, ops...) }
func (e emitter) div(ops ...operand.Op)  { e.typed(e.VDIVPS, e.VDIVPD, ops...) }
func (e emitter) sqrt(ops ...operand.Op) { e.typed(e.VSQRTPS, e.VSQRTPD, ops...) }
func (e emitter) and(ops ...operand.Op)  { e.typed(e.VANDPS, e.VANDPD, ops...) }
func (e emitter) or(ops ...operand.Op)   { e.typed(e.VORPS, e.VORPD, ops...) }

// max and min return their first operand if either is NaN or both are zero.
func (e emitter) max(ops ...operand.Op) { e.typed(e.VMAXPS, e.VMAXPD, ops...) }
func (e emitter) min(ops ...operand.Op) { e.typed(e.VMINPS, e.VMINPD, ops...) }

// fma213 turns z into y·z + x, fms213 into y·z − x; fnma231 into z − x·y.
func (e emitter) fma213(x, y, z operand.Op)  { e.typed(e.VFMADD213PS, e.VFMADD213PD, x, y, z) }
func (e emitter) fms213(x, y, z operand.Op)  { e.typed(e.VFMSUB213PS, e.VFMSUB213PD, x, y, z) }
func (e emitter) fnma231(x, y, z operand.Op) { e.typed(e.VFNMADD231PS, e.VFNMADD231PD, x, y, z) }

// The relations of compare. None holds for NaN.
const (
	equal   = 0x00
	less    = 0x11
	atMost  = 0x12
	greater = 0x1e
)

// compare sets the mask to those lanes where y stands in the relation to x. The
// mask is a vector register (all bits of a lane) or an opmask register.
func (e emitter) compare(relation uint8, x, y, mask operand.Op) {
	e.typed(e.VCMPPS, e.VCMPPD, operand.U8(relation), x, y, mask)
}

// fold combines all lanes of r into its lowest one: halves of the register,
// then halves of these. Lanes above the lowest are lost.
func (e emitter) fold(r reg.VecVirtual, combine instruction) {
	half := e.reg()
	if e.wide == 64 {
		e.VEXTRACTF64X4(operand.U8(1), r, half.AsY())
		combine(half.AsY(), r.AsY(), r.AsY())
	}
	x, y := r.AsX(), half.AsX()
	e.VEXTRACTF128(operand.U8(1), r.AsY(), y)
	combine(y, x, x)
	e.VPERMILPD(operand.U8(1), x, y)
	combine(y, x, x)
	if e.single() {
		e.VMOVSHDUP(x, y)
		combine(y, x, x)
	}
}
