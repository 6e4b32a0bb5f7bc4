package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bits returns the bits of a number in the element type.
func (e emitter) bits(x float64) uint64 {
	if e.single() {
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// signBit returns the sign bit of the element type.
func (e emitter) signBit() uint64 { return 1 << (8*e.size - 1) }

// table returns the address of a constant in the file's data: one element for
// AVX-512, a whole vector for AVX2.
func (v vectors) table(bits uint64) operand.Mem {
	name := fmt.Sprintf("bits%s_%x", v.tag, bits)
	if at, ok := v.tables[name]; ok {
		return at
	}
	at := v.StaticGlobal(name)
	v.DataAttributes(attr.RODATA | attr.NOPTR)
	copies := 1
	if v.wide == 32 {
		copies = v.lanes(v.size)
	}
	for i := 0; i < copies; i++ {
		if v.single() {
			v.AddDatum(i*v.size, operand.U32(uint32(bits)))
		} else {
			v.AddDatum(i*v.size, operand.U64(bits))
		}
	}
	v.tables[name] = at
	return at
}

// register returns a constant in all lanes of a register.
func (v vectors) register(bits uint64) reg.VecVirtual {
	r := v.reg()
	if v.wide == 64 {
		v.broadcast(v.table(bits), r)
	} else {
		v.load(v.table(bits), r)
	}
	return r
}

// source returns a constant as the first operand of an instruction: in a
// register for AVX-512, which has enough of them, in memory for AVX2.
func (v vectors) source(bits uint64) operand.Op {
	if v.wide == 64 {
		return v.register(bits)
	}
	return v.table(bits)
}

func (v vectors) number(x float64) reg.VecVirtual   { return v.register(v.bits(x)) }
func (v vectors) numberSource(x float64) operand.Op { return v.source(v.bits(x)) }
