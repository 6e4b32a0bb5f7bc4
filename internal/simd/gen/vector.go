package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
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

// addr is the address of a parameter or, with an empty name, of the result.
func (v vectors) addr(name string) operand.Mem {
	p := v.ReturnIndex(0)
	if name != "" {
		p = v.Param(name)
	}
	return v.addrOf(p)
}

func (v vectors) addrOf(c gotypes.Component) operand.Mem {
	at, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return at.Addr
}
