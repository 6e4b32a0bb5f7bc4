package linalg

import (
	"math"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Op selects whether an operand enters a product plain or transposed.
type Op bool

// The two forms of an operand.
const (
	NoTrans Op = false
	Trans   Op = true
)

// shape returns the shape of op(m).
func (op Op) shape(rows, cols int) matrix.Shape {
	if op == Trans {
		return matrix.Shape{Rows: cols, Cols: rows}
	}
	return matrix.Shape{Rows: rows, Cols: cols}
}

// Gemm writes alpha·op(a)·op(b) + beta·dst to dst. With beta = 0, dst is not
// read. dst must not overlap a or b.
func Gemm[T matrix.Float](team *Team, dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op,
	b matrix.Dense[T], opB Op, beta T) {
	gemmThen(team, dst, alpha, a, opA, b, opB, beta, nil)
}

// Epilogue processes the elements of a product as soon as they are final, while
// they are still in the cache: a bias, an activation function.
type Epilogue interface {
	// Finish is called once for each block of the product, with rows r0 to r1-1
	// and columns c0 to c1-1. The blocks do not overlap and cover the product.
	// Several threads call it concurrently, each with a slot of its own.
	Finish(r0, r1, c0, c1, slot int)
}

// gemmThen is Gemm followed by an epilogue, which may be nil.
func gemmThen[T matrix.Float](team *Team, dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T],
	opB Op, beta T, then Epilogue) {
	mustMultiply(dst, a, opA, b, opB)
	multiply(team, dst, alpha, a, opA, b, opB, beta, full, then)
}

// mustMultiply panics unless dst can hold op(a)·op(b).
func mustMultiply[T matrix.Float](dst, a matrix.Dense[T], opA Op, b matrix.Dense[T], opB Op) {
	dst.MustBeValid("linalg.Gemm, destination")
	a.MustBeValid("linalg.Gemm, left operand")
	b.MustBeValid("linalg.Gemm, right operand")
	left, right := opA.shape(a.Rows, a.Cols), opB.shape(b.Rows, b.Cols)
	if left.Cols != right.Rows {
		panic(matrix.ShapeError{Op: "linalg.Gemm, inner dimension", Got: right, Want: left})
	}
	matrix.MustMatch("linalg.Gemm, destination", dst.Shape(), matrix.Shape{Rows: left.Rows, Cols: right.Cols})
}

// Syrk writes alpha·op(a)·op(a)ᵀ + beta·dst to the symmetric dst, at half the
// cost of Gemm. Only the lower triangle of dst is read; both are written.
func Syrk[T matrix.Float](team *Team, dst matrix.Dense[T], alpha T, a matrix.Dense[T], op Op, beta T) {
	dst.MustBeValid("linalg.Syrk, destination")
	a.MustBeValid("linalg.Syrk, operand")
	n := op.shape(a.Rows, a.Cols).Rows
	matrix.MustMatch("linalg.Syrk, destination", dst.Shape(), matrix.Shape{Rows: n, Cols: n})
	multiply(team, dst, alpha, a, op, a, !op, beta, lowerOnly, nil)
	MirrorLower(dst)
}

// triangle selects which elements of a product matter.
type triangle bool

const (
	full      triangle = false
	lowerOnly triangle = true // those on and below the diagonal
)

// multiply is Gemm on checked operands. With lowerOnly, only the elements on and
// below the diagonal of dst are defined; some above are overwritten, too.
//
// dst is split into a grid of parts. A part copies its columns of the right
// operand into panels, the order in which the micro-kernel reads them, one block
// at a time that stays in the second-level cache. Every thread packs for itself: a
// panel that another core has just written is slow to read, and no thread waits
// for another. The left operand is read in place, element by element, so it may be
// plain or transposed.
func multiply[T matrix.Float](team *Team, dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T],
	opB Op, beta T, shape triangle, then Epilogue) {
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	list := listOf[gemmJob[T]](gemmJobs)
	g := list.get()
	g.set, g.dst, g.a, g.b, g.opA, g.opB = simd.For[T](), dst, a, b, opA, opB
	g.alpha, g.beta, g.shape, g.then = alpha, beta, shape, then
	g.plan(team.Threads())
	team.Run(g.rowParts*g.colParts, g)
	g.release()
	list.put(g)
}

// gemmJob is one product.
type gemmJob[T matrix.Float] struct {
	set         *simd.Set[T]
	dst, a, b   matrix.Dense[T]
	opA, opB    Op
	alpha, beta T
	shape       triangle
	then        Epilogue

	inner, steps       int // products per element, and the blocks in which they are summed
	panels, maxPanels  int // panels of dst, and the largest number of them in a block
	rowParts, colParts int // the grid of parts
	copyLeft           bool

	scratch [maxThreads]gemmScratch[T]
}

// gemmScratch is the scratch memory of one thread.
type gemmScratch[T matrix.Float] struct {
	panels []T
	holds  int // the column part whose panels are all packed, -1 for none
	left   []T // rows of the left operand, copied if its stride is bad
}

const (
	// maxInnerBytes bounds the block of a sum so that the rows of a tile stay in
	// the first-level cache. A transposed operand occupies a cache line per step,
	// often more than it needs, so its blocks are shorter.
	maxInnerBytes      = 2304
	maxInnerBytesTrans = 1536
	// blockBytes bounds a block of panels to about half of the second-level
	// cache of today's CPUs; the other half is for everything else.
	blockBytes = 9 << 17
	// smallWork is the number of multiplications below which threads do not pay
	// off.
	smallWork = 1 << 19
)

func (g *gemmJob[T]) plan(threads int) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	g.inner = g.opA.shape(g.a.Rows, g.a.Cols).Cols
	longest := maxInnerBytes
	if g.opA == Trans {
		longest = maxInnerBytesTrans
	}
	g.steps = max(1, ceilDiv(g.inner*size, longest))
	g.panels = ceilDiv(g.dst.Cols, g.set.TileCols())
	depth := max(1, ceilDiv(g.inner, g.steps))
	g.maxPanels = max(1, blockBytes/(depth*g.set.TileCols()*size))
	// Rows whose addresses differ by a multiple of 4 KiB compete for the same few
	// lines of the first-level cache.
	g.copyLeft = g.a.Stride*size%4096 == 0
	g.cut(threads)
	for i := range g.scratch {
		g.scratch[i].holds = -1
	}
}

// cut chooses the grid of parts. It splits the columns first, because parts with
// the same columns pack the same panels; a part of few rows packs much for little
// work.
func (g *gemmJob[T]) cut(threads int) {
	const partsPerThread, panelsPerPart, rowsPerPart = 4, 4, 256
	g.rowParts, g.colParts = 1, 1
	if threads == 1 || g.dst.Rows*g.dst.Cols*g.inner < smallWork {
		return
	}
	// The columns of a triangle take unequal work, and rows that must be copied
	// are copied once per column part.
	if g.shape == full && !g.copyLeft {
		g.colParts = min(threads, ceilDiv(g.panels, panelsPerPart))
	}
	wanted := partsPerThread * threads / g.colParts
	g.rowParts = max(1, min(wanted, g.dst.Rows/rowsPerPart))
	if g.rowParts*g.colParts < threads {
		g.rowParts = min(ceilDiv(threads, g.colParts), ceilDiv(g.dst.Rows, g.set.TileRows()))
	}
}

// rowsBefore is the number of rows before a row part. The first rows of a lower
// triangle are short, so a part at the top has more of them.
func (g *gemmJob[T]) rowsBefore(part int) int {
	if g.shape == lowerOnly {
		return int(float64(g.dst.Rows) * math.Sqrt(float64(part)/float64(g.rowParts)))
	}
	return part * g.dst.Rows / g.rowParts
}

// Do computes one part of dst, block by block.
func (g *gemmJob[T]) Do(part, slot int) {
	row, col := part%g.rowParts, part/g.rowParts
	r0, r1 := g.rowsBefore(row), g.rowsBefore(row+1)
	p0, p1 := col*g.panels/g.colParts, (col+1)*g.panels/g.colParts
	if g.shape == lowerOnly {
		p1 = min(p1, ceilDiv(r1, g.set.TileCols()))
	}
	blocks := ceilDiv(p1-p0, g.maxPanels)
	scratch := &g.scratch[slot]
	// A thread works down the rows of the same columns: it reuses the panels that
	// it packed for the rows above, if all of them fit.
	whole := blocks == 1 && g.steps == 1 && g.shape == full
	reuse := whole && scratch.holds == col
	scratch.holds = -1
	for i := range blocks {
		b := gemmBlock[T]{gemmJob: g, scratch: scratch, packed: reuse, r0: r0, r1: r1}
		b.panel0, b.panel1 = p0+i*(p1-p0)/blocks, p0+(i+1)*(p1-p0)/blocks
		b.run(slot)
	}
	if whole {
		scratch.holds = col
	}
}

// gemmBlock is a block of dst that one thread works on.
type gemmBlock[T matrix.Float] struct {
	*gemmJob[T]
	scratch        *gemmScratch[T]
	packed         bool // the panels are in the scratch memory
	r0, r1         int  // rows
	panel0, panel1 int  // panels of columns
	k0, k1         int  // the products that are being summed
}

func (b *gemmBlock[T]) run(slot int) {
	rowBlocks := ceilDiv(b.r1-b.r0, b.set.TileRows())
	for step := range b.steps {
		b.k0, b.k1 = step*b.inner/b.steps, (step+1)*b.inner/b.steps
		if !b.packed {
			b.packAll()
		}
		for i := range rowBlocks {
			first := b.r0 + i*(b.r1-b.r0)/rowBlocks
			last := b.r0 + (i+1)*(b.r1-b.r0)/rowBlocks
			b.multiplyRows(first, last)
			if step == b.steps-1 && b.then != nil {
				width := b.set.TileCols()
				b.then.Finish(first, last, b.panel0*width, min(b.panel1*width, b.dst.Cols), slot)
			}
		}
	}
}

func (b *gemmBlock[T]) panelLen() int { return (b.k1 - b.k0) * b.set.TileCols() }

// packAll copies the panels of the block from the right operand: a few rows for
// all panels, then the next few, so that each page is visited once.
func (b *gemmBlock[T]) packAll() {
	b.scratch.panels = grow(b.scratch.panels, (b.panel1-b.panel0)*b.panelLen())
	rows := 64
	if b.opB == Trans {
		rows = b.inner // its rows lie across the panels
	}
	for k := b.k0; k < b.k1; k += rows {
		for p := b.panel0; p < b.panel1; p++ {
			b.pack(p, k, min(k+rows, b.k1))
		}
	}
}

func (b *gemmBlock[T]) panel(p int) []T {
	return b.scratch.panels[(p-b.panel0)*b.panelLen():][:b.panelLen()]
}

// pack copies rows k0 to k1-1 of panel p.
func (b *gemmBlock[T]) pack(p, k0, k1 int) {
	width := b.set.TileCols()
	j0 := p * width
	j1 := min(j0+width, b.dst.Cols)
	to := b.panel(p)[(k0-b.k0)*width:]
	if b.opB == Trans {
		from := b.b.Block(j0, j1, k0, k1)
		b.set.PackPanelT(to, from.Data, from.Stride, k1-k0, j1-j0)
		return
	}
	from := b.b.Block(k0, k1, j0, j1)
	b.set.PackPanel(to, from.Data, from.Stride, k1-k0, j1-j0)
}

// multiplyRows works on rows r0 to r1-1 of dst, at most TileRows.
func (b *gemmBlock[T]) multiplyRows(r0, r1 int) {
	left, rowStride, stepStride := b.leftRows(r0, r1)
	beta := b.beta
	if b.k0 > 0 {
		beta = 1
	}
	width := b.set.TileCols()
	first, end := b.panel0*width, min(b.panel1*width, b.dst.Cols)
	if b.shape == lowerOnly {
		end = min(end, r1)
	}
	c := b.dst.Data[r0*b.dst.Stride+first:]
	b.set.MulTiles(c, b.dst.Stride, r1-r0, end-first, b.alpha, left, rowStride, stepStride, b.scratch.panels,
		b.k1-b.k0, beta, b.ahead(r1))
}

// leftRows returns rows r0 to r1-1 and columns k0 to k1-1 of op(a), with the
// distances between rows and between columns.
func (b *gemmBlock[T]) leftRows(r0, r1 int) (data []T, rowStride, stepStride int) {
	switch {
	case b.k0 == b.k1:
		return nil, 0, 0
	case b.opA == Trans && b.copyLeft:
		return b.copySteps(r0, r1)
	case b.opA == Trans:
		return b.a.Data[b.k0*b.a.Stride+r0:], 1, b.a.Stride
	case b.copyLeft:
		return b.copyRows(r0, r1)
	default:
		return b.a.Data[r0*b.a.Stride+b.k0:], b.a.Stride, 1
	}
}

// ahead describes what the next row of tiles, which begins at row r, will read of
// the left operand, to be prefetched: all of it, spread over the panels; or, for a
// transposed operand, one row in AheadEvery with each panel.
func (b *gemmBlock[T]) ahead(r int) simd.Ahead {
	k, next := b.k1-b.k0, min(r+b.set.TileRows(), b.r1)
	rounds := k / simd.AheadEvery
	if r >= b.r1 || rounds == 0 {
		return simd.Ahead{}
	}
	var zero T
	row := b.a.Stride * int(unsafe.Sizeof(zero))
	if b.opA == NoTrans {
		const lineBytes = 64
		step := min(lineBytes, ceilDiv((next-r)*row, rounds*(b.panel1-b.panel0)))
		return simd.Ahead{Start: addressOf(b.a.Row(r)[b.k0:]), Step: step}
	}
	step := simd.AheadEvery * row // the first element of a row may already be in the cache
	return simd.Ahead{Start: addressOf(b.a.Row(b.k0)[next-1:]), Step: step, Turn: row - rounds*step}
}

func addressOf[T matrix.Float](x []T) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }

// copyRows copies rows of a so that they are not a multiple of 4 KiB apart.
func (b *gemmBlock[T]) copyRows(r0, r1 int) (data []T, rowStride, stepStride int) {
	stride := b.k1 - b.k0 + 16
	to := b.growLeft(stride)
	for i := r0; i < r1; i++ {
		copy(to[(i-r0)*stride:], b.a.Row(i)[b.k0:b.k1])
	}
	return to, stride, 1
}

// copySteps is copyRows for a transposed operand.
func (b *gemmBlock[T]) copySteps(r0, r1 int) (data []T, rowStride, stepStride int) {
	to, stride := b.growLeft(b.k1-b.k0), r1-r0
	for k := b.k0; k < b.k1; k++ {
		copy(to[(k-b.k0)*stride:], b.a.Row(k)[r0:r1])
	}
	return to, 1, stride
}

// growLeft returns scratch memory for the rows of a tile, of the given length.
func (b *gemmBlock[T]) growLeft(length int) []T {
	b.scratch.left = grow(b.scratch.left, b.set.TileRows()*length)
	return b.scratch.left
}

// release drops the operands, but keeps the scratch memory.
func (g *gemmJob[T]) release() {
	g.dst, g.a, g.b = matrix.Dense[T]{}, matrix.Dense[T]{}, matrix.Dense[T]{}
	g.then = nil
}

var gemmJobs = newFreeLists[gemmJob[float32], gemmJob[float64]]()

func ceilDiv(a, b int) int { return (a + b - 1) / b }
