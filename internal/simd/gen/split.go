package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The float32 product on the tile registers of AMX, which multiply numbers of 8
// digits (bfloat16). A float32 has 24 and is the sum of three of them, each the rounded
// remainder of the previous ones:
//
//	x = x₁ + x₂ + x₃,   |x₂| ≤ 2^−8·|x|,   |x₃| ≤ 2^−16·|x|
//	x·y ≈ x₁y₁ + x₁y₂ + x₁y₃ + x₂y₂ + x₂y₁ + x₃y₁
//
// The omitted products are below the last digit of the result. A block holds 32 by 32
// numbers as six tiles, x₁ of its two halves, x₂, x₃. A tile has 16 rows of 16
// pairs of numbers; the pair d of a row is products d and d+16 of 32.
const (
	tileBytes  = 1024
	blockBytes = 6 * tileBytes
	side       = 32 // of a block
)

func split(c *build.Context) {
	e := emitter{c, avx512, floats[0]}
	splitter{emitter: e}.rows()
	splitter{emitter: e}.cols()
	turnTiles(e)
	mulBlocks(e)
}

// splitter splits the numbers of adjacent blocks into their parts.
type splitter struct {
	emitter
	half, digits              reg.VecVirtual
	dst, src, ld, blocks, gap reg.Register
}

func (s splitter) begin(name string) splitter {
	text(s.Context, name, "func(dst *uint32, src *float32, ld, blocks, step int)")
	s.Doc(name + " splits blocks that stand side by side, to places step bytes apart.")
	s.Pragma("noescape")
	s.half, s.digits = s.constant(0x8000), s.constant(0xffff0000)
	s.dst = s.Load(s.Param("dst"), s.GP64())
	s.src = s.Load(s.Param("src"), s.GP64())
	s.ld = bytesOf(s.emitter, "ld")
	s.blocks = s.Load(s.Param("blocks"), s.GP64())
	s.gap = s.Load(s.Param("step"), s.GP64())
	return s
}

// end continues with the next block, at the label "block".
func (s splitter) end() {
	s.ADDQ(operand.U32(4*side), s.src)
	s.ADDQ(s.gap, s.dst)
	s.DECQ(s.blocks)
	s.JNZ(operand.LabelRef("block"))
	s.VZEROUPPER()
	s.RET()
}

func (s splitter) constant(bits uint32) reg.VecVirtual {
	word, r := s.GP32(), s.reg()
	s.MOVL(operand.U32(bits), word)
	s.VPBROADCASTD(word, r)
	return r
}

// pairs stores the three parts of 16 pairs, from two places, two tiles apart.
func (s splitter) pairs(low, high, to operand.Mem) {
	x, y := s.reg(), s.reg()
	s.VMOVUPS(low, x)
	s.VMOVUPS(high, y)
	for part := 0; part < 3; part++ {
		a, b, both := x, s.reg(), s.reg()
		if part < 2 {
			a, b = s.leading(x), s.leading(y)
		} else {
			s.VPANDD(s.digits, y, b) // digits of a remainder below 2^−126 may lie in its lower half
		}
		s.VPSRLD(operand.U8(16), a, both)
		s.VPORD(b, both, both)
		to.Disp += min(part, 1) * 2 * tileBytes
		s.VMOVDQU32(both, to)
		if part < 2 {
			s.VSUBPS(a, x, x)
			s.VSUBPS(b, y, y)
		}
	}
}

// leading rounds to 8 digits. The bits of consecutive floats are consecutive integers.
func (s splitter) leading(x reg.VecVirtual) reg.VecVirtual {
	r := s.reg()
	s.VPADDD(s.half, x, r)
	s.VPANDD(s.digits, r, r)
	return r
}

// rows generates the left operand: rows of a block are rows of tiles.
func (s splitter) rows() {
	s = s.begin("splitRows")
	row, tile := s.GP64(), s.GP64()
	s.Label("block")
	s.MOVQ(s.src, row)
	s.MOVQ(s.dst, tile)
	for half := 0; half < 2; half++ {
		name := []string{"upper", "lower"}[half]
		left := s.GP64()
		s.MOVQ(operand.U32(side/2), left)
		s.Label(name)
		s.pairs(operand.Mem{Base: row}, operand.Mem{Base: row, Disp: 64}, operand.Mem{Base: tile})
		s.PREFETCHT0(operand.Mem{Base: row, Disp: 4 * 2 * side}) // two blocks on
		s.PREFETCHT0(operand.Mem{Base: row, Disp: 4*2*side + 64})
		s.ADDQ(s.ld, row)
		s.ADDQ(operand.U32(64), tile)
		s.DECQ(left)
		s.JNZ(operand.LabelRef(name))
	}
	s.end()
}

// cols generates the right operand: a row of a tile is two rows of the block.
func (s splitter) cols() {
	s = s.begin("splitCols")
	low, high, tile, left := s.GP64(), s.GP64(), s.GP64(), s.GP64()
	s.Label("block")
	s.MOVQ(s.src, low)
	s.MOVQ(s.ld, high)
	s.SHLQ(operand.U8(4), high)
	s.ADDQ(s.src, high)
	s.MOVQ(s.dst, tile)
	s.MOVQ(operand.U32(side/2), left)
	s.Label("pair")
	for half := 0; half < 2; half++ {
		s.pairs(operand.Mem{Base: low, Disp: 64 * half}, operand.Mem{Base: high, Disp: 64 * half},
			operand.Mem{Base: tile, Disp: tileBytes * half})
		s.PREFETCHT0(operand.Mem{Base: low, Disp: 4*side + 64*half}) // the next block
		s.PREFETCHT0(operand.Mem{Base: high, Disp: 4*side + 64*half})
	}
	s.ADDQ(s.ld, low)
	s.ADDQ(s.ld, high)
	s.ADDQ(operand.U32(64), tile)
	s.DECQ(left)
	s.JNZ(operand.LabelRef("pair"))
	s.end()
}

// turnTiles generates the transposition of tiles, pairs kept together: it makes
// what SplitRows writes into what SplitCols writes for the transposed block.
func turnTiles(e emitter) {
	text(e.Context, "turnTiles", "func(tiles *uint32, n int)")
	e.Doc("turnTiles transposes tiles where they stand; see Set.TurnBlocks.")
	e.Pragma("noescape")
	tile := e.Load(e.Param("tiles"), e.GP64())
	n := e.Load(e.Param("n"), e.GP64())
	e.Label("loop")
	rows := e.regs(16)
	for i, r := range rows {
		e.VMOVUPS(operand.Mem{Base: tile, Disp: 64 * i}, r)
	}
	rows = e.interleave(rows)
	rows = e.gatherLanes(rows)
	for i, r := range rows {
		e.VMOVUPS(r, operand.Mem{Base: tile, Disp: 64 * i})
	}
	e.ADDQ(operand.U32(tileBytes), tile)
	e.DECQ(n)
	e.JNZ(operand.LabelRef("loop"))
	e.VZEROUPPER()
	e.RET()
}

// interleave transposes the squares of four that the lanes of four rows make:
// lane L of register 4g+c then holds column 4L+c of rows 4g to 4g+3.
func (e emitter) interleave(rows []reg.VecVirtual) []reg.VecVirtual {
	out := e.regs(16)
	for g := 0; g < 16; g += 4 {
		t := e.regs(4)
		for i := 0; i < 4; i += 2 {
			e.VUNPCKLPS(rows[g+i+1], rows[g+i], t[i])
			e.VUNPCKHPS(rows[g+i+1], rows[g+i], t[i+1])
		}
		for i := 0; i < 2; i++ {
			e.VUNPCKLPD(t[i+2], t[i], out[g+2*i])
			e.VUNPCKHPD(t[i+2], t[i], out[g+2*i+1])
		}
	}
	return out
}

// gatherLanes brings the lanes of one column together: lane g of register 4L+c
// is lane L of register 4g+c.
func (e emitter) gatherLanes(rows []reg.VecVirtual) []reg.VecVirtual {
	const even, odd = 0x88, 0xdd
	out := e.regs(16)
	for c := 0; c < 4; c++ {
		t := e.regs(4)
		for i := 0; i < 2; i++ {
			e.VSHUFF32X4(operand.U8(even), rows[8*i+4+c], rows[8*i+c], t[2*i])
			e.VSHUFF32X4(operand.U8(odd), rows[8*i+4+c], rows[8*i+c], t[2*i+1])
		}
		for i := 0; i < 2; i++ {
			e.VSHUFF32X4(operand.U8(even), t[2+i], t[i], out[4*i+c])
			e.VSHUFF32X4(operand.U8(odd), t[2+i], t[i], out[4*(i+2)+c])
		}
	}
	return out
}

// mulBlocks generates the micro-kernel, Set.MulBlocks.
func mulBlocks(e emitter) {
	text(e.Context, "mulBlocks", "func(c *float32, ldc, rows, cols int, alpha, beta float32, a, b *uint32, blocks int, "+
		"tailA, tailB *float32, tail, tailWidth int, work *float32)")
	e.Doc("mulBlocks multiplies a row of blocks by panels of them; see Set.MulBlocks.")
	e.Pragma("noescape")
	m := blockMultiplier{emitter: e, tiles: tiles{e.Context}, cols: e.GP64()}
	m.configure(configuration(e))
	e.Load(e.Param("b"), reg.RDI)
	e.Load(e.Param("cols"), m.cols)
	m.c = e.Load(e.Param("c"), e.GP64())
	m.ldc = bytesOf(e, "ldc")
	m.alpha, m.beta = m.broadcastParam("alpha"), m.broadcastParam("beta")
	m.tail = e.Load(e.Param("tailB"), e.GP64())
	e.Label("panel")
	m.multiply()
	m.writeBack()
	e.ADDQ(operand.U32(4*side), m.c)
	e.ADDQ(operand.U32(4*side), m.tail)
	e.SUBQ(operand.U32(side), m.cols)
	e.JG(operand.LabelRef("panel"))
	m.release()
	e.VZEROUPPER()
	e.RET()
}

type blockMultiplier struct {
	emitter
	tiles       tiles
	c, ldc      reg.Register // where the block goes
	cols        reg.Register // that are left
	tail        reg.Register // of the right operand
	alpha, beta reg.VecVirtual
}

func (m blockMultiplier) broadcastParam(name string) reg.VecVirtual {
	r := m.reg()
	m.VBROADCASTSS(m.paramAddr(name), r)
	return r
}

func (m blockMultiplier) configure(at operand.Mem) {
	m.LEAQ(at, reg.RAX)
	m.tiles.configure(reg.RAX)
}

func (m blockMultiplier) release() { m.tiles.release() }

// multiply sums the products of one panel in tiles 0 to 3 and stores them to the
// work space, row by row. Tiles 4 and 5 hold parts of the left operand, 6 and 7
// those of the right one. RDI then points past the panel.
func (m blockMultiplier) multiply() {
	blocks := m.Load(m.Param("blocks"), m.GP64())
	m.Load(m.Param("a"), reg.RAX)
	m.MOVQ(operand.U32(64), reg.RCX)
	for t := 0; t < 4; t++ {
		m.tiles.zero(t)
	}
	m.Label("block")
	a, b := -1, -1 // the parts in the tiles
	for _, parts := range [][2]int{{2, 0}, {0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}} {
		for half := 0; half < 2 && parts[0] != a; half++ {
			m.tiles.load(4+half, reg.RAX, reg.RCX, (2*parts[0]+half)*tileBytes)
		}
		for half := 0; half < 2 && parts[1] != b; half++ {
			m.tiles.load(6+half, reg.RDI, reg.RCX, (2*parts[1]+half)*tileBytes)
		}
		a, b = parts[0], parts[1]
		for t := 0; t < 4; t++ {
			m.tiles.multiply(t, 4+t/2, 6+t%2)
		}
	}
	m.ADDQ(operand.U32(blockBytes), reg.RAX)
	m.ADDQ(operand.U32(blockBytes), reg.RDI)
	m.DECQ(blocks)
	m.JNZ(operand.LabelRef("block"))
	m.Load(m.Param("work"), reg.RAX)
	m.MOVQ(operand.U32(4*side), reg.RCX)
	for t := 0; t < 4; t++ {
		m.tiles.store(t, reg.RAX, reg.RCX, t/2*16*4*side+t%2*64)
	}
}

// writeBack adds the products of the tail, and what c holds, to the block in the
// work space and stores it.
func (m blockMultiplier) writeBack() {
	masks := m.columnMasks()
	rows := m.Load(m.Param("rows"), m.GP64())
	work := m.Load(m.Param("work"), m.GP64())
	tailA := m.Load(m.Param("tailA"), m.GP64())
	c := m.GP64()
	m.MOVQ(m.c, c)
	m.Label("row")
	var sums [2]reg.VecVirtual
	for half := range sums {
		sums[half] = m.reg()
		m.VMOVUPS(operand.Mem{Base: work, Disp: 64 * half}, sums[half])
	}
	m.addTail(sums, tailA)
	for _, sum := range sums {
		m.VMULPS(m.alpha, sum, sum)
	}
	bits := m.GP32()
	m.MOVL(m.paramAddr("beta"), bits)
	m.SHLL(operand.U8(1), bits) // zero has two signs
	m.JZ(operand.LabelRef("store"))
	for half, sum := range sums {
		m.VFMADD231PS(operand.Mem{Base: c, Disp: 64 * half}, m.beta, masks[half], sum)
	}
	m.Label("store")
	for half, sum := range sums {
		m.VMOVUPS(sum, masks[half], operand.Mem{Base: c, Disp: 64 * half})
	}
	m.ADDQ(operand.U32(4*side), work)
	m.ADDQ(m.ldc, c)
	m.DECQ(rows)
	m.JNZ(operand.LabelRef("row"))
}

// addTail adds the products that fill no block, at the row's place in tailA.
func (m blockMultiplier) addTail(sums [2]reg.VecVirtual, tailA reg.Register) {
	tail := m.Load(m.Param("tail"), m.GP64())
	width := bytesOf(m.emitter, "tailWidth")
	right := m.GP64()
	m.MOVQ(m.tail, right)
	m.JMP(operand.LabelRef("tailEnd"))
	m.Label("tail")
	a := m.reg()
	m.VBROADCASTSS(operand.Mem{Base: tailA}, a)
	for half, sum := range sums {
		m.VFMADD231PS(operand.Mem{Base: right, Disp: 64 * half}, a, sum)
	}
	m.ADDQ(operand.U32(4), tailA)
	m.ADDQ(width, right)
	m.Label("tailEnd")
	m.DECQ(tail)
	m.JNS(operand.LabelRef("tail"))
}

// columnMasks returns masks of the columns of the two halves of the block.
func (m blockMultiplier) columnMasks() [2]reg.Register {
	width, most, bits := m.GP64(), m.GP64(), m.GP64()
	m.MOVQ(m.cols, width)
	m.MOVQ(operand.U32(side), most)
	m.CMPQ(width, most)
	m.CMOVQGT(most, width)
	m.MOVQ(operand.I32(-1), bits)
	m.BZHIQ(width, bits, bits)
	low, high := m.K(), m.K()
	m.KMOVW(bits.As32(), low)
	m.SHRQ(operand.U8(16), bits)
	m.KMOVW(bits.As32(), high)
	return [2]reg.Register{low, high}
}

// configuration is the data that gives all eight tiles 16 rows of 64 bytes.
func configuration(e emitter) operand.Mem {
	at := e.StaticGlobal("tileConfiguration")
	e.DataAttributes(attr.RODATA | attr.NOPTR)
	words := [8]uint64{0: 1, 2: 0x0040004000400040, 3: 0x0040004000400040, 6: 0x1010101010101010}
	for i, w := range words {
		e.AddDatum(8*i, operand.U64(w))
	}
	return at
}
