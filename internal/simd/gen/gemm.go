package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gemm generates the micro-kernels of matrix multiplication for every number
// of rows, the packing of panels, and the loop that measures the FMA ceiling.
func gemm(c *build.Context, s isa) {
	var masks operand.Mem
	if s.wide == 32 {
		masks = maskTable(c)
	}
	for _, f := range floats {
		e := emitter{c, s, f}
		for rows := 1; rows <= s.mr; rows++ {
			newTile(e, rows, masks).generate()
		}
		packPanel(e)
		packPanelT(e)
		fmaLoop(e)
	}
}

// maskTable is 64 bytes of ones and 64 of zeros. Read at 64 - n·size it is the
// mask of the first n elements.
func maskTable(c *build.Context) operand.Mem {
	table := c.StaticGlobal("tileMasks")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < 16; i++ {
		word := uint64(0)
		if i < 8 {
			word = ^word
		}
		c.AddDatum(8*i, operand.U64(word))
	}
	return table
}

// tile generates one micro-kernel. The running sums of row i are the vector
// registers 2i and 2i+1; then come two registers for a row of B and two for
// broadcast elements of A, of which one is filled while the other is used.
type tile struct {
	emitter
	rows  int
	masks operand.Mem

	a, a7, rs, rs3, rs5, ks, b, k, ahead, aheadStep reg.GPVirtual
	c, ldc, cols, rowsAhead                         reg.GPVirtual
	cAhead                                          reg.GPPhysical
}

const unroll = 4 // simd.AheadEvery

func newTile(e emitter, rows int, masks operand.Mem) *tile {
	return &tile{emitter: e, rows: rows, masks: masks}
}

func (t *tile) acc(i, half int) reg.VecPhysical { return t.vec(2*i + half) }
func (t *tile) spare(i int) reg.VecPhysical     { return t.vec(2*t.mr + i) }
func (t *tile) width() int                      { return 2 * t.lanes(t.size) }

func (t *tile) generate() {
	signature := fmt.Sprintf("func(k int, a *%[1]s, rs, ks int, b, c *%[1]s, ldc, cols int, "+
		"alpha, beta %[1]s, ahead uintptr, aheadStep, aheadTurn int)", t.float.name)
	name := fmt.Sprintf("tile%d%s%s", t.rows, t.tag, t.isa.name)
	text(t.Context, name, signature)
	t.Doc(fmt.Sprintf("%s is the micro-kernel for %d rows; see Set.MulTiles.", name, t.rows))
	t.Pragma("noescape")
	t.loadParams()
	t.Label("panel")
	t.firstColumn()
	for i := 0; i < t.rows; i++ {
		t.zero(t.acc(i, 0))
		t.zero(t.acc(i, 1))
	}
	t.sums()
	t.writeBack()
	t.nextPanel()
	t.VZEROUPPER()
	t.RET()
}

func (t *tile) loadParams() {
	t.b, t.c, t.cols = t.gp("b"), t.gp("c"), t.gp("cols")
	t.rs, t.ks, t.ldc = bytesOf(t.emitter, "rs"), bytesOf(t.emitter, "ks"), bytesOf(t.emitter, "ldc")
	t.ahead, t.aheadStep = t.gp("ahead"), t.gp("aheadStep")
	t.rs3, t.rs5 = t.GP64(), t.GP64()
	t.LEAQ(operand.Mem{Base: t.rs, Index: t.rs, Scale: 2}, t.rs3)
	t.LEAQ(operand.Mem{Base: t.rs, Index: t.rs, Scale: 4}, t.rs5)
	t.a, t.a7, t.k = t.GP64(), t.GP64(), t.GP64()
	t.cAhead, t.rowsAhead = reg.RAX, t.GP64()
}

// firstColumn returns to the first product of the sum.
func (t *tile) firstColumn() {
	t.Load(t.Param("k"), t.k)
	t.Load(t.Param("a"), t.a)
	if t.rows > 7 {
		t.LEAQ(operand.Mem{Base: t.a, Index: t.rs3, Scale: 2}, t.a7)
		t.ADDQ(t.rs, t.a7)
	}
}

// nextPanel moves to the next panel, if there is one.
func (t *tile) nextPanel() {
	t.ADDQ(t.paramAddr("aheadTurn"), t.ahead)
	t.ADDQ(operand.U32(uint32(2*t.wide)), t.c)
	t.SUBQ(operand.U32(uint32(t.width())), t.cols)
	t.JG(operand.LabelRef("panel"))
}

func (t *tile) gp(param string) reg.GPVirtual {
	return t.Load(t.Param(param), t.GP64()).(reg.GPVirtual)
}

// sums adds up the products. The tile of C, whose rows lie far apart, is needed
// only after that: one row is prefetched with each of the first rounds, since a core
// can wait for few lines at once, or all together if the sums are short.
func (t *tile) sums() {
	t.MOVQ(t.c, t.cAhead)
	t.MOVQ(operand.U32(uint32(t.rows)), t.rowsAhead)
	t.CMPQ(t.k, operand.U32(uint32(unroll*t.rows)))
	t.JGE(operand.LabelRef("first"))
	for i := 0; i < t.rows; i++ {
		t.prefetchRow()
	}
	t.JMP(operand.LabelRef("unrolled"))
	t.Label("first")
	t.round(unroll, func() { t.prefetchAhead(); t.prefetchRow() })
	t.DECQ(t.rowsAhead)
	t.JNE(operand.LabelRef("first"))
	t.loop("unrolled", unroll, t.prefetchAhead)
	t.loop("single", 1, func() {})
}

func (t *tile) prefetchRow() {
	t.prefetchToWrite(0)
	t.prefetchToWrite(t.wide)
	t.ADDQ(t.ldc, t.cAhead)
}

// prefetchToWrite is PREFETCHW disp(AX), which the assembler of Go does not know:
// unlike the other prefetches it takes the line away from other cores, for which a
// write would have to wait.
func (t *tile) prefetchToWrite(disp int) {
	for _, code := range []uint8{0x0F, 0x0D, 0x48, uint8(disp)} {
		t.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(code)},
			Inputs: []operand.Op{t.cAhead}})
	}
}

// prefetchAhead prefetches one line that the next tiles need.
func (t *tile) prefetchAhead() {
	t.PREFETCHT1(operand.Mem{Base: t.ahead})
	t.ADDQ(t.aheadStep, t.ahead)
}

// loop adds count products per round while at least count are left.
func (t *tile) loop(label string, count int, prefetch func()) {
	t.Label(label)
	t.CMPQ(t.k, operand.U32(uint32(count)))
	t.JL(operand.LabelRef(label + "Done"))
	t.round(count, prefetch)
	t.JMP(operand.LabelRef(label))
	t.Label(label + "Done")
}

// round adds count products.
func (t *tile) round(count int, prefetch func()) {
	prefetch()
	for u := 0; u < count; u++ {
		t.step(u)
	}
	t.ADDQ(operand.U32(uint32(count*2*t.wide)), t.b)
	t.SUBQ(operand.U32(uint32(count)), t.k)
}

// step adds the product of one column of A and row u of the panel.
func (t *tile) step(u int) {
	b0, b1 := t.spare(0), t.spare(1)
	t.load(operand.Mem{Base: t.b, Disp: u * 2 * t.wide}, b0)
	t.load(operand.Mem{Base: t.b, Disp: u*2*t.wide + t.wide}, b1)
	for i := 0; i < t.rows; i++ {
		x := t.spare(2 + i%2)
		t.broadcast(t.row(i), x)
		t.fma231(x, b0, t.acc(i, 0))
		t.fma231(x, b1, t.acc(i, 1))
	}
	t.ADDQ(t.ks, t.a)
	if t.rows > 7 {
		t.ADDQ(t.ks, t.a7)
	}
}

// row is the address of the element of A in row i: a or a7 plus a multiple of
// the row stride that the addressing can express.
func (t *tile) row(i int) operand.Mem {
	base := t.a
	if i >= 7 {
		base, i = t.a7, i-7
	}
	m := operand.Mem{Base: base}
	switch i {
	case 1, 2, 4:
		m.Index, m.Scale = t.rs, uint8(i)
	case 3, 6:
		m.Index, m.Scale = t.rs3, uint8(i/3)
	case 5:
		m.Index, m.Scale = t.rs5, 1
	}
	return m
}

// writeBack scales the sums by alpha and merges them into C.
func (t *tile) writeBack() {
	t.jumpIfOne("alpha", "scaled")
	alpha := t.spare(3)
	t.broadcast(t.paramAddr("alpha"), alpha)
	for i := 0; i < t.rows; i++ {
		t.mulv(alpha, t.acc(i, 0), t.acc(i, 0))
		t.mulv(alpha, t.acc(i, 1), t.acc(i, 1))
	}
	t.Label("scaled")
	c := t.cAhead
	t.MOVQ(t.c, c)
	t.jumpUnlessZero("beta", "merge")
	t.writeRows(c, "store", nil)
	t.JMP(operand.LabelRef("written"))
	t.Label("merge")
	beta := t.spare(2)
	t.broadcast(t.paramAddr("beta"), beta)
	t.writeRows(c, "add", beta)
	t.Label("written")
}

// jumpIfOne jumps if the parameter is 1.
func (t *tile) jumpIfOne(param, label string) {
	if t.single() {
		t.CMPL(t.paramAddr(param), operand.U32(math.Float32bits(1)))
	} else {
		bits := t.GP64()
		t.MOVQ(operand.U64(math.Float64bits(1)), bits)
		t.CMPQ(bits, t.paramAddr(param))
	}
	t.JEQ(operand.LabelRef(label))
}

// jumpUnlessZero jumps if the parameter is neither +0 nor -0.
func (t *tile) jumpUnlessZero(param, label string) {
	bits := t.GP64()
	if t.single() {
		t.MOVL(t.paramAddr(param), bits.As32())
		t.SHLL(operand.U8(1), bits.As32())
	} else {
		t.MOVQ(t.paramAddr(param), bits)
		t.SHLQ(operand.U8(1), bits)
	}
	t.JNE(operand.LabelRef(label))
}

// writeRows stores the sums, plus beta·C where beta is given, in the columns
// that exist. c walks down the rows.
func (t *tile) writeRows(c reg.Register, label string, beta reg.Register) {
	if t.wide == 64 {
		t.columnMasks()
		t.eachRow(c, beta, t.loadMasked512, t.storeMasked512)
		return
	}
	t.CMPQ(t.cols, operand.U32(uint32(t.width())))
	t.JL(operand.LabelRef(label + "Part"))
	t.eachRow(c, beta,
		func(_ int, from operand.Mem, to reg.Register) { t.load(from, to) },
		func(_ int, from reg.Register, to operand.Mem) { t.store(from, to) })
	t.JMP(operand.LabelRef(label + "Done"))
	t.Label(label + "Part")
	t.columnMaskVectors()
	t.eachRow(c, beta, t.loadMasked256, t.storeMasked256)
	t.Label(label + "Done")
}

func (t *tile) eachRow(c reg.Register, beta reg.Register,
	load func(int, operand.Mem, reg.Register), store func(int, reg.Register, operand.Mem)) {
	old := t.spare(3)
	for i := 0; i < t.rows; i++ {
		for half := 0; half < 2; half++ {
			at := operand.Mem{Base: c, Disp: half * t.wide}
			if beta != nil {
				load(half, at, old)
				t.fma231(beta, old, t.acc(i, half))
			}
			store(half, t.acc(i, half), at)
		}
		if i+1 < t.rows {
			t.ADDQ(t.ldc, c)
		}
	}
}

var halfMask = []reg.OpmaskPhysical{reg.K1, reg.K2}

// columnMasks sets K1 and K2 to the columns that exist in either half.
func (t *tile) columnMasks() {
	cols, bits := t.GP64(), t.GP64()
	t.MOVQ(operand.U32(uint32(t.width())), cols)
	t.CMPQ(t.cols, cols)
	t.CMOVQLT(t.cols, cols)
	t.MOVQ(operand.I32(-1), bits)
	t.BZHIQ(cols, bits, bits)
	t.KMOVW(bits.As32(), reg.K1)
	t.SHRQ(operand.U8(uint8(t.lanes(t.size))), bits)
	t.KMOVW(bits.As32(), reg.K2)
}

func (t *tile) loadMasked512(half int, from operand.Mem, to reg.Register) {
	if t.single() {
		t.VMOVUPS_Z(from, halfMask[half], to)
	} else {
		t.VMOVUPD_Z(from, halfMask[half], to)
	}
}

func (t *tile) storeMasked512(half int, from reg.Register, to operand.Mem) {
	if t.single() {
		t.VMOVUPS(from, halfMask[half], to)
	} else {
		t.VMOVUPD(from, halfMask[half], to)
	}
}

// columnMaskVectors is columnMasks for AVX2: the registers of B become masks.
func (t *tile) columnMaskVectors() {
	table, cols := t.GP64(), t.GP64()
	t.MOVQ(t.cols, cols)
	t.SHLQ(operand.U8(map[int]uint8{4: 2, 8: 3}[t.size]), cols)
	t.LEAQ(t.masks.Offset(2*t.wide), table)
	t.SUBQ(cols, table)
	t.VMOVUPS(operand.Mem{Base: table}, t.spare(0))
	t.VMOVUPS(operand.Mem{Base: table, Disp: t.wide}, t.spare(1))
}

func (t *tile) loadMasked256(half int, from operand.Mem, to reg.Register) {
	if t.single() {
		t.VMASKMOVPS(from, t.spare(half), to)
	} else {
		t.VMASKMOVPD(from, t.spare(half), to)
	}
}

func (t *tile) storeMasked256(half int, from reg.Register, to operand.Mem) {
	if t.single() {
		t.VMASKMOVPS(from, t.spare(half), to)
	} else {
		t.VMASKMOVPD(from, t.spare(half), to)
	}
}

// fmaLoop generates the loop that measures the arithmetic ceiling: independent
// multiply-adds in as many registers as hide their latency.
func fmaLoop(e emitter) {
	const chains = 12
	text(e.Context, "fmaLoop"+e.tag+e.isa.name, "func(n int) int")
	e.Doc("fmaLoop" + e.tag + e.isa.name + " is the loop of Set.FMALoop.")
	n := e.Load(e.Param("n"), e.GP64())
	done := e.GP64()
	e.MOVQ(n, done)
	e.IMUL3Q(operand.U32(uint32(chains*2*e.lanes(e.size))), done, done)
	for i := 0; i <= chains; i++ {
		e.zero(e.vec(i))
	}
	e.Label("loop")
	e.TESTQ(n, n)
	e.JLE(operand.LabelRef("done"))
	for i := 0; i < chains; i++ {
		e.fma231(e.vec(chains), e.vec(chains), e.vec(i))
	}
	e.DECQ(n)
	e.JMP(operand.LabelRef("loop"))
	e.Label("done")
	e.VZEROUPPER()
	e.Store(done, e.ReturnIndex(0))
	e.RET()
}
