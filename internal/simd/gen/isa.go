package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set that code is generated for.
type isa struct {
	name string
	wide int // bytes of a vector register
	mr   int // rows of the GEMM micro-kernel, two registers wide
}

var (
	avx2   = isa{"AVX2", 32, 6}
	avx512 = isa{"AVX512", 64, 14}
)

// lanes is the number of elements of the given size in a vector register.
func (s isa) lanes(size int) int { return s.wide / size }

// vec returns vector register i.
func (s isa) vec(i int) reg.VecPhysical {
	if s.wide == 64 {
		return zmm[i]
	}
	return ymm[i]
}

var (
	ymm = []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}
	zmm = []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}
)

// float is an element type: its Go name, its size in bytes, and the name that
// generated functions carry.
type float struct {
	name string
	size int
	tag  string
}

var floats = []float{{"float32", 4, "F32"}, {"float64", 8, "F64"}}

// emitter adds to a context the instructions that differ in the element type
// only by their last letter.
type emitter struct {
	*build.Context
	isa
	float
}

func (e emitter) single() bool { return e.size == 4 }

func (e emitter) load(from operand.Op, to reg.Register) {
	if e.single() {
		e.VMOVUPS(from, to)
	} else {
		e.VMOVUPD(from, to)
	}
}

func (e emitter) store(from reg.Register, to operand.Op) {
	if e.single() {
		e.VMOVUPS(from, to)
	} else {
		e.VMOVUPD(from, to)
	}
}

func (e emitter) broadcast(from operand.Op, to reg.Register) {
	if e.single() {
		e.VBROADCASTSS(from, to)
	} else {
		e.VBROADCASTSD(from, to)
	}
}

func (e emitter) fma231(x, y operand.Op, acc reg.Register) {
	if e.single() {
		e.VFMADD231PS(x, y, acc)
	} else {
		e.VFMADD231PD(x, y, acc)
	}
}

func (e emitter) mulv(x, y operand.Op, to reg.Register) {
	if e.single() {
		e.VMULPS(x, y, to)
	} else {
		e.VMULPD(x, y, to)
	}
}

func (e emitter) zero(r reg.Register) {
	if e.wide == 64 {
		e.VPXORD(r, r, r)
	} else {
		e.VXORPS(r, r, r)
	}
}

// paramAddr is where a parameter of the function is.
func (e emitter) paramAddr(name string) operand.Mem {
	b, err := e.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// text begins a function. None calls another, so none needs a stack check.
func text(c *build.Context, name, signature string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr(signature)
}
