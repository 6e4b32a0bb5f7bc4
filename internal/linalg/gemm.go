package linalg

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Op says whether an operand enters a product as it is or transposed.
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
func Gemm[T matrix.Float](dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T], opB Op, beta T) {
	GemmThen(dst, alpha, a, opA, b, opB, beta, nil)
}

// Epilogue is work on the elements of a product as soon as they are final and
// while they are still in the cache: a bias, an activation function.
type Epilogue interface {
	// Finish is called once for each block that rows r0 to r1-1 and columns c0
	// to c1-1 of the product make; the blocks do not overlap and cover all of
	// it. Calls come from several threads at once, told apart by slot.
	Finish(r0, r1, c0, c1, slot int)
}

// GemmThen is Gemm followed by an epilogue, which may be nil.
func GemmThen[T matrix.Float](dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T], opB Op, beta T, then Epilogue) {
	dst.MustBeValid("linalg.Gemm, destination")
	a.MustBeValid("linalg.Gemm, left operand")
	b.MustBeValid("linalg.Gemm, right operand")
	left, right := opA.shape(a.Rows, a.Cols), opB.shape(b.Rows, b.Cols)
	if left.Cols != right.Rows {
		panic(matrix.ShapeError{Op: "linalg.Gemm, inner dimension", Got: right, Want: left})
	}
	matrix.MustMatch("linalg.Gemm, destination", dst.Shape(), matrix.Shape{Rows: left.Rows, Cols: right.Cols})
	multiply(dst, alpha, a, opA, b, opB, beta, false, then)
}

// Syrk writes alpha·op(a)·op(a)ᵀ + beta·dst to the symmetric dst, at half the
// cost of Gemm. Only the lower triangle of dst is read; both are written.
func Syrk[T matrix.Float](dst matrix.Dense[T], alpha T, a matrix.Dense[T], op Op, beta T) {
	dst.MustBeValid("linalg.Syrk, destination")
	a.MustBeValid("linalg.Syrk, operand")
	n := op.shape(a.Rows, a.Cols).Rows
	matrix.MustMatch("linalg.Syrk, destination", dst.Shape(), matrix.Shape{Rows: n, Cols: n})
	multiply(dst, alpha, a, op, a, !op, beta, true, nil)
	MirrorLower(dst)
}

// multiply is Gemm on checked operands. With lower set, only the elements on
// and below the diagonal of dst are promised; some above are written too.
//
// The right operand is cut into blocks that stay in the second-level cache and
// is copied there into panels, the order in which the micro-kernel reads it.
// The left operand is read where it is, element by element, so either form of
// it will do.
func multiply[T matrix.Float](dst matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T], opB Op, beta T, lower bool, then Epilogue) {
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	list := listOf[gemmJob[T]](&gemmJobs)
	g := list.get()
	defer list.put(g)
	g.set, g.dst, g.a, g.b, g.opA, g.opB = simd.For[T](), dst, a, b, opA, opB
	g.alpha, g.lower, g.then = alpha, lower, then
	inner := opA.shape(a.Rows, a.Cols).Cols
	g.plan(inner)
	steps := max(1, ceilDiv(inner, g.maxInner))
	for i := range steps {
		g.k0, g.k1, g.last = i*inner/steps, (i+1)*inner/steps, i == steps-1
		g.beta = beta
		if i > 0 {
			g.beta = 1
		}
		g.eachColumnBlock()
	}
	g.release()
}

// gemmJob is one product and the block of it that is being worked on. It runs
// twice for each block: to pack panels of the right operand, then to multiply.
type gemmJob[T matrix.Float] struct {
	set         *simd.Set[T]
	dst, a, b   matrix.Dense[T]
	opA, opB    Op
	alpha, beta T
	lower       bool
	then        Epilogue

	maxInner, maxPanels int // size of a block of the right operand
	rowBlocks           int // dst is cut into this many blocks of at most TileRows rows
	rowParts            int // of which so many groups are handed to threads
	packRows            bool

	k0, k1         int  // the block: products summed
	last           bool // no products are left after them
	panel0, panel1 int  // and panels of columns
	packing        bool

	panels []T
	rows   [maxThreads][]T // rows of the left operand, copied where its stride is bad
}

// blockBytes is the size of a block of the right operand: half of a
// second-level cache of the CPUs of today, the other half is for the rest.
const blockBytes = 1 << 20

// smallWork is the number of multiplications below which threads do not pay.
const smallWork = 1 << 19

func (g *gemmJob[T]) plan(inner int) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	g.maxInner = 2304 / size
	width := g.set.TileCols()
	depth := ceilDiv(max(inner, 1), max(1, ceilDiv(inner, g.maxInner)))
	g.maxPanels = max(1, blockBytes/(depth*width*size))
	g.rowBlocks = ceilDiv(g.dst.Rows, g.set.TileRows())
	g.rowParts = 1
	if threads := Threads(); threads > 1 && g.dst.Rows*g.dst.Cols*inner >= smallWork {
		g.rowParts = min(g.rowBlocks, 4*threads)
	}
	// Rows whose addresses differ by a multiple of 4 KiB fall into the same
	// few lines of the first-level cache.
	g.packRows = g.a.Stride*size%4096 == 0
}

func (g *gemmJob[T]) eachColumnBlock() {
	panels := ceilDiv(g.dst.Cols, g.set.TileCols())
	blocks := ceilDiv(panels, g.maxPanels)
	for i := range blocks {
		g.panel0, g.panel1 = i*panels/blocks, (i+1)*panels/blocks
		g.panels = grow(g.panels, (g.panel1-g.panel0)*g.panelLen())
		g.packing = true
		if g.rowParts == 1 {
			for p := range g.panel1 - g.panel0 {
				g.pack(p)
			}
			g.packing = false
			g.Do(0, 0)
			continue
		}
		Run(g.panel1-g.panel0, g)
		g.packing = false
		Run(g.rowParts, g)
	}
}

func (g *gemmJob[T]) panelLen() int { return (g.k1 - g.k0) * g.set.TileCols() }

// Do packs a panel or multiplies a group of row blocks.
func (g *gemmJob[T]) Do(part, slot int) {
	if g.packing {
		g.pack(part)
		return
	}
	first, last := part*g.rowBlocks/g.rowParts, (part+1)*g.rowBlocks/g.rowParts
	for i := first; i < last; i++ {
		g.multiplyRows(i*g.dst.Rows/g.rowBlocks, (i+1)*g.dst.Rows/g.rowBlocks, slot)
	}
}

// pack copies panel p of the block from the right operand.
func (g *gemmJob[T]) pack(p int) {
	width, k := g.set.TileCols(), g.k1-g.k0
	j0 := (g.panel0 + p) * width
	j1 := min(j0+width, g.dst.Cols)
	to := g.panels[p*g.panelLen():][:g.panelLen()]
	if g.opB == Trans {
		from := g.b.Block(j0, j1, g.k0, g.k1)
		g.set.PackPanelT(to, from.Data, from.Stride, k, j1-j0)
		return
	}
	from := g.b.Block(g.k0, g.k1, j0, j1)
	g.set.PackPanel(to, from.Data, from.Stride, k, j1-j0)
}

// multiplyRows works on rows r0 to r1-1 of dst, at most TileRows, against all
// panels of the block.
func (g *gemmJob[T]) multiplyRows(r0, r1, slot int) {
	width, k := g.set.TileCols(), g.k1-g.k0
	a, rowStride, stepStride := g.left(r0, r1, slot)
	for p := g.panel0; p < g.panel1; p++ {
		j0 := p * width
		if g.lower && j0 >= r1 {
			return
		}
		j1 := min(j0+width, g.dst.Cols)
		c := g.dst.Data[r0*g.dst.Stride+j0:]
		panel := g.panels[(p-g.panel0)*g.panelLen():]
		g.set.MulTile(c, g.dst.Stride, r1-r0, j1-j0, g.alpha, a, rowStride, stepStride, panel, k, g.beta)
	}
	if g.last && g.then != nil {
		g.then.Finish(r0, r1, g.panel0*width, min(g.panel1*width, g.dst.Cols), slot)
	}
}

// left returns rows r0 to r1-1 of op(a), columns k0 to k1-1, with the distance
// from row to row and from column to column.
func (g *gemmJob[T]) left(r0, r1, slot int) (data []T, rowStride, stepStride int) {
	if g.k0 == g.k1 {
		return nil, 0, 0
	}
	if g.opA == Trans {
		if g.packRows {
			return g.copySteps(r0, r1, slot)
		}
		return g.a.Data[g.k0*g.a.Stride+r0:], 1, g.a.Stride
	}
	if g.packRows {
		return g.copyRows(r0, r1, slot)
	}
	return g.a.Data[r0*g.a.Stride+g.k0:], g.a.Stride, 1
}

// copyRows copies rows of a to where their distance is no multiple of 4 KiB.
func (g *gemmJob[T]) copyRows(r0, r1, slot int) (data []T, rowStride, stepStride int) {
	stride := g.k1 - g.k0 + 16
	g.rows[slot] = grow(g.rows[slot], g.set.TileRows()*stride)
	for i := r0; i < r1; i++ {
		copy(g.rows[slot][(i-r0)*stride:], g.a.Row(i)[g.k0:g.k1])
	}
	return g.rows[slot], stride, 1
}

// copySteps does the same for a transposed operand.
func (g *gemmJob[T]) copySteps(r0, r1, slot int) (data []T, rowStride, stepStride int) {
	stride := r1 - r0
	g.rows[slot] = grow(g.rows[slot], g.set.TileRows()*(g.k1-g.k0))
	for k := g.k0; k < g.k1; k++ {
		copy(g.rows[slot][(k-g.k0)*stride:], g.a.Row(k)[r0:r1])
	}
	return g.rows[slot], 1, stride
}

// release lets go of the operands, but keeps the scratch.
func (g *gemmJob[T]) release() {
	g.dst, g.a, g.b = matrix.Dense[T]{}, matrix.Dense[T]{}, matrix.Dense[T]{}
	g.then = nil
}

var gemmJobs freeLists[gemmJob[float32], gemmJob[float64]]

func ceilDiv(a, b int) int { return (a + b - 1) / b }
