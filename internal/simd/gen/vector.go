package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector generates the vector primitives.
func vector(c *build.Context, s isa) {
	var masks operand.Mem
	if s.wide == 32 {
		masks = maskTable(c)
	}
	for _, f := range floats {
		v := vectors{emitter{c, s, f}, masks, map[string]operand.Mem{}}
		v.reductions()
		v.elementWise()
		v.rowBlocks()
		v.adam()
		v.scans()
		v.maths()
	}
	widen(c, s)
	byteRows(c, s, masks)
	roundBytes(c, s)
}

// vectors generates the vector primitives of one element type.
type vectors struct {
	emitter
	masks  operand.Mem            // AVX2 only; see maskTable
	tables map[string]operand.Mem // constants in the file's data
}

// begin starts a function. In params, T stands for the element type.
func (v vectors) begin(name, params, doc string) {
	full := name + v.tag + v.isa.name
	text(v.Context, full, signature(params, v.float.name))
	v.Doc(full + " " + doc)
	v.Pragma("noescape")
}

// param is the address of a parameter.
func (v vectors) param(name string) operand.Mem { return addr(v.Param(name)) }

// returnLowest ends a function that returns the lowest lane of r.
func (v vectors) returnLowest(r reg.VecVirtual) {
	v.VZEROUPPER()
	v.typed(v.VMOVSS, v.VMOVSD, r.AsX(), addr(v.ReturnIndex(0)))
	v.RET()
}

// addr is the address of a part of the arguments or results.
func addr(c gotypes.Component) operand.Mem {
	at, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return at.Addr
}
