package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// cpu generates the processor queries that Go has no functions for.
func cpu(c *build.Context) {
	text(c, "cpuid", "func(leaf, sub uint32) (a, b, c, d uint32)")
	c.Doc("cpuid asks the processor for its features.")
	c.Load(c.Param("leaf"), reg.EAX)
	c.Load(c.Param("sub"), reg.ECX)
	c.CPUID()
	c.Store(reg.EAX, c.Return("a"))
	c.Store(reg.EBX, c.Return("b"))
	c.Store(reg.ECX, c.Return("c"))
	c.Store(reg.EDX, c.Return("d"))
	c.RET()

	text(c, "xgetbv", "func() (lo, hi uint32)")
	c.Doc("xgetbv tells which registers the operating system saves.")
	c.XORL(reg.ECX, reg.ECX)
	c.XGETBV()
	c.Store(reg.EAX, c.Return("lo"))
	c.Store(reg.EDX, c.Return("hi"))
	c.RET()

	text(c, "pause", "func(n int)")
	c.Doc("pause executes n spin-wait hints.")
	n := c.Load(c.Param("n"), c.GP64())
	c.Label("loop")
	c.TESTQ(n, n)
	c.JLE(operand.LabelRef("done"))
	c.PAUSE()
	c.DECQ(n)
	c.JMP(operand.LabelRef("loop"))
	c.Label("done")
	c.RET()
}
