package linalg

// Products with an upper triangle, a·u. Column j of u ends at the diagonal, in
// row j, so a panel of columns ends with the last of them: half the work of Gemm.

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Upper is a matrix that is zero below its diagonal, the right operand of many
// products. Several goroutines may use it concurrently. Panels that a thread has
// packed for one product serve it in the next.
type Upper[T matrix.Float] struct {
	set    *simd.Set[T]
	m      matrix.Dense[T]
	op     Op
	blocks []int // the first panel of each block, then the number of panels
	jobs   freeList[upperJob[T]]
}

// NewUpper returns op(m), for a square m such that op(m) is zero below the
// diagonal. It does not copy m, which must not change afterwards.
func NewUpper[T matrix.Float](m matrix.Dense[T], op Op) *Upper[T] {
	mustBeSquare("linalg.NewUpper", m)
	u := &Upper[T]{set: simd.For[T](), m: m, op: op}
	var zero T
	longest := blockBytes / int(unsafe.Sizeof(zero))
	panels := ceilDiv(m.Rows, u.set.TileCols())
	for p := range panels {
		if n := len(u.blocks); n == 0 || u.before(p+1)-u.before(u.blocks[n-1]) > longest {
			u.blocks = append(u.blocks, p)
		}
	}
	u.blocks = append(u.blocks, panels)
	return u
}

// depth is the number of rows of panel p.
func (u *Upper[T]) depth(p int) int { return min((p+1)*u.set.TileCols(), u.m.Rows) }

// before is the number of elements in the panels before p, where the last panel
// counts as full, too.
func (u *Upper[T]) before(p int) int {
	width := u.set.TileCols()
	return width * width * p * (p + 1) / 2
}

// Mul writes alpha·a·u to dst, which must not overlap a.
func (u *Upper[T]) Mul(team *Team, dst matrix.Dense[T], alpha T, a matrix.Dense[T]) {
	dst.MustBeValid("linalg.Upper, destination")
	a.MustBeValid("linalg.Upper, left operand")
	matrix.MustMatch("linalg.Upper, left operand", a.Shape(), matrix.Shape{Rows: a.Rows, Cols: u.m.Rows})
	matrix.MustMatch("linalg.Upper, destination", dst.Shape(), a.Shape())
	j := u.jobs.get()
	j.Upper, j.dst, j.a, j.alpha = u, dst, a, alpha
	j.rowParts = ceilDiv(a.Rows, upperRows)
	team.Run(j.rowParts*(len(u.blocks)-1), j)
	j.dst, j.a = matrix.Dense[T]{}, matrix.Dense[T]{}
	u.jobs.put(j)
}

// upperRows is the largest number of rows in a part.
const upperRows = 64

// upperJob is one product. Its parts are pieces of rows, first for one block of
// panels, then for the next: what a thread packs serves it for several parts, and
// for all later ones if there is only one block. Threads do not share what they
// pack, because lines in the cache of another core are slow to read.
type upperJob[T matrix.Float] struct {
	*Upper[T]
	dst, a   matrix.Dense[T]
	alpha    T
	rowParts int
	packed   [maxThreads]struct {
		panels []T
		end    int // of the block, 0 if there is none
	}
}

// Do computes one piece of rows of one block.
func (j *upperJob[T]) Do(part, slot int) {
	p0, p1 := j.blocks[part/j.rowParts], j.blocks[part/j.rowParts+1]
	mine := &j.packed[slot]
	if mine.end != p1 {
		mine.panels = grow(mine.panels, j.before(p1)-j.before(p0))
		mine.end = p1
		for p := p0; p < p1; p++ {
			j.pack(mine.panels[j.before(p)-j.before(p0):], p)
		}
	}
	row := part % j.rowParts
	r0, r1 := row*j.a.Rows/j.rowParts, (row+1)*j.a.Rows/j.rowParts
	tiles := ceilDiv(r1-r0, j.set.TileRows())
	for i := range tiles {
		j.multiplyRows(r0+i*(r1-r0)/tiles, r0+(i+1)*(r1-r0)/tiles, p0, p1, mine.panels)
	}
}

// pack copies panel p.
func (j *upperJob[T]) pack(to []T, p int) {
	j0, j1 := p*j.set.TileCols(), j.depth(p)
	if j.op == Trans {
		from := j.m.Block(j0, j1, 0, j1)
		j.set.PackPanelT(to, from.Data, from.Stride, j1, j1-j0)
	} else {
		from := j.m.Block(0, j1, j0, j1)
		j.set.PackPanel(to, from.Data, from.Stride, j1, j1-j0)
	}
}

// multiplyRows computes rows r0 to r1-1 of dst, at most TileRows, and meanwhile
// prefetches the rows that come next.
func (j *upperJob[T]) multiplyRows(r0, r1, p0, p1 int, panels []T) {
	const lineBytes = 64
	var zero T
	var ahead simd.Ahead
	if r1 < j.a.Rows {
		rounds := (j.before(p1) - j.before(p0)) / j.set.TileCols() / simd.AheadEvery
		bytes := (r1 - r0) * j.a.Stride * int(unsafe.Sizeof(zero))
		ahead = simd.Ahead{Start: addressOf(j.a.Row(r1)), Step: min(lineBytes, ceilDiv(bytes, max(1, rounds)))}
	}
	a := j.a.Data[r0*j.a.Stride:]
	for p := p0; p < p1; p++ {
		first, depth := p*j.set.TileCols(), j.depth(p)
		c, b := j.dst.Data[r0*j.dst.Stride+first:], panels[j.before(p)-j.before(p0):]
		j.set.MulTiles(c, j.dst.Stride, r1-r0, depth-first, j.alpha, a, j.a.Stride, 1, b, depth, 0, ahead)
		ahead.Start += uintptr(depth / simd.AheadEvery * ahead.Step)
	}
}
