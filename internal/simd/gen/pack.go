package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packPanel generates the copy of k rows, two vectors wide, into a panel.
func packPanel(e emitter) {
	text(e.Context, "packPanel"+e.tag+e.isa.name, "func(dst, src []"+e.float.name+", ld, k int)")
	e.Doc("packPanel" + e.tag + e.isa.name + " copies full rows; see Set.PackPanel.")
	e.Pragma("noescape")
	dst := e.Load(e.Param("dst").Base(), e.GP64())
	src := e.Load(e.Param("src").Base(), e.GP64())
	ld := bytesOf(e, "ld")
	k := e.Load(e.Param("k"), e.GP64())
	e.Label("loop")
	e.TESTQ(k, k)
	e.JLE(operand.LabelRef("done"))
	for half := 0; half < 2; half++ {
		e.load(operand.Mem{Base: src, Disp: half * e.wide}, e.vec(half))
		e.store(e.vec(half), operand.Mem{Base: dst, Disp: half * e.wide})
	}
	e.ADDQ(ld, src)
	e.ADDQ(operand.U32(uint32(2*e.wide)), dst)
	e.DECQ(k)
	e.JMP(operand.LabelRef("loop"))
	e.Label("done")
	e.VZEROUPPER()
	e.RET()
}

// bytesOf loads a parameter that counts elements and turns it into bytes.
func bytesOf(e emitter, param string) reg.GPVirtual {
	r := e.Load(e.Param(param), e.GP64()).(reg.GPVirtual)
	e.SHLQ(operand.U8(map[int]uint8{4: 2, 8: 3}[e.size]), r)
	return r
}

// packPanelT generates the transposing copy. It goes along the source by whole
// cache lines (64 bytes), and transposes square blocks as wide as a 32-byte
// register. It returns the number of panel rows written, a multiple of a line.
func packPanelT(e emitter) {
	const line, block = 64, 32
	text(e.Context, "packPanelT"+e.tag+e.isa.name, "func(dst, src []"+e.float.name+", ld, k int) int")
	e.Doc("packPanelT" + e.tag + e.isa.name + " transposes full columns; see Set.PackPanelT.")
	e.Pragma("noescape")
	n := block / e.size // rows and columns of a block
	nr := 2 * e.lanes(e.size)
	dst := e.Load(e.Param("dst").Base(), e.GP64())
	src := e.Load(e.Param("src").Base(), e.GP64())
	k := e.Load(e.Param("k"), e.GP64())
	ld := bytesOf(e, "ld")
	ld3, ld5, ld7 := e.GP64(), e.GP64(), e.GP64()
	e.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, ld3)
	e.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 4}, ld5)
	e.LEAQ(operand.Mem{Base: ld3, Index: ld, Scale: 4}, ld7)
	sourceRow := func(base reg.Register, r, disp int) operand.Mem {
		m := operand.Mem{Base: base, Disp: disp}
		switch r {
		case 1, 2, 4:
			m.Index, m.Scale = ld, uint8(r)
		case 3, 6:
			m.Index, m.Scale = ld3, uint8(r/3)
		case 5:
			m.Index, m.Scale = ld5, 1
		case 7:
			m.Index, m.Scale = ld7, 1
		}
		return m
	}
	perLine := line / e.size
	done := e.GP64()
	e.MOVQ(k, done)
	e.ANDQ(operand.I8(int8(-perLine)), done)
	left, row := e.GP64(), e.GP64()
	e.MOVQ(done, left)
	e.Label("loop")
	e.TESTQ(left, left)
	e.JLE(operand.LabelRef("done"))
	e.MOVQ(src, row)
	for group := 0; group < nr/n; group++ {
		for half := 0; half < 2; half++ {
			for r := 0; r < n; r++ {
				e.load(sourceRow(row, r, half*block), ymm[r])
			}
			out := transpose(e)
			for r := 0; r < n; r++ {
				e.store(out[r], operand.Mem{Base: dst, Disp: ((half*n+r)*nr + group*n) * e.size})
			}
		}
		for r := 0; group+1 < nr/n && r < n; r += 4 {
			e.LEAQ(operand.Mem{Base: row, Index: ld, Scale: 4}, row)
		}
	}
	e.ADDQ(operand.U32(line), src)
	e.ADDQ(operand.U32(uint32(perLine*nr*e.size)), dst)
	e.SUBQ(operand.U32(uint32(perLine)), left)
	e.JMP(operand.LabelRef("loop"))
	e.Label("done")
	e.VZEROUPPER()
	e.Store(done, e.ReturnIndex(0))
	e.RET()
}

// transpose transposes the square block in the first registers and returns the
// registers that hold the result.
func transpose(e emitter) []reg.VecPhysical {
	if e.single() {
		return transpose8(e)
	}
	return transpose4(e)
}

func transpose4(e emitter) []reg.VecPhysical {
	t := ymm[8:12]
	e.VUNPCKLPD(ymm[1], ymm[0], t[0])
	e.VUNPCKHPD(ymm[1], ymm[0], t[1])
	e.VUNPCKLPD(ymm[3], ymm[2], t[2])
	e.VUNPCKHPD(ymm[3], ymm[2], t[3])
	e.VPERM2F128(operand.U8(0x20), t[2], t[0], ymm[0])
	e.VPERM2F128(operand.U8(0x20), t[3], t[1], ymm[1])
	e.VPERM2F128(operand.U8(0x31), t[2], t[0], ymm[2])
	e.VPERM2F128(operand.U8(0x31), t[3], t[1], ymm[3])
	return ymm[:4]
}

func transpose8(e emitter) []reg.VecPhysical {
	in, t := ymm[:8], ymm[8:16]
	for i := 0; i < 8; i += 2 {
		e.VUNPCKLPS(in[i+1], in[i], t[i])
		e.VUNPCKHPS(in[i+1], in[i], t[i+1])
	}
	// t holds pairs of rows interleaved; now interleave pairs of pairs.
	for i := 0; i < 8; i += 4 {
		e.VUNPCKLPD(t[i+2], t[i], in[i])
		e.VUNPCKHPD(t[i+2], t[i], in[i+1])
		e.VUNPCKLPD(t[i+3], t[i+1], in[i+2])
		e.VUNPCKHPD(t[i+3], t[i+1], in[i+3])
	}
	for i := 0; i < 4; i++ {
		e.VPERM2F128(operand.U8(0x20), in[i+4], in[i], t[i])
		e.VPERM2F128(operand.U8(0x31), in[i+4], in[i], t[i+4])
	}
	return t
}
