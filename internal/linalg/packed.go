package linalg

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Packed is the right operand of many products with few rows each. It is packed
// once, in the order in which the micro-kernel reads it, and any number of threads
// may use it.
type Packed[T matrix.Float] struct {
	set         *simd.Set[T]
	inner, cols int
	steps       int // blocks into which a sum is split
	panels      []T // block by block, and within a block panel by panel
}

// Pack returns a packed copy of op(b).
func Pack[T matrix.Float](b matrix.Dense[T], op Op) *Packed[T] {
	b.MustBeValid("linalg.Pack")
	shape := op.shape(b.Rows, b.Cols)
	p := &Packed[T]{set: simd.For[T](), inner: shape.Rows, cols: shape.Cols}
	var zero T
	p.steps = max(1, ceilDiv(p.inner*int(unsafe.Sizeof(zero)), maxInnerBytes))
	width := p.set.TileCols()
	p.panels = make([]T, ceilDiv(p.cols, width)*width*p.inner)
	at := p.panels
	for step := range p.steps {
		k0, k1 := p.block(step)
		for j0 := 0; j0 < p.cols; j0 += width {
			j1 := min(j0+width, p.cols)
			if op == Trans {
				from := b.Block(j0, j1, k0, k1)
				p.set.PackPanelT(at, from.Data, from.Stride, k1-k0, j1-j0)
			} else {
				from := b.Block(k0, k1, j0, j1)
				p.set.PackPanel(at, from.Data, from.Stride, k1-k0, j1-j0)
			}
			at = at[width*(k1-k0):]
		}
	}
	return p
}

// block returns the range of products in a block of the sums.
func (p *Packed[T]) block(step int) (k0, k1 int) {
	return step * p.inner / p.steps, (step + 1) * p.inner / p.steps
}

// Mul writes alpha·a·op(b) to dst, in the calling goroutine.
func (p *Packed[T]) Mul(dst matrix.Dense[T], alpha T, a matrix.Dense[T]) {
	dst.MustBeValid("linalg.Packed, destination")
	a.MustBeValid("linalg.Packed, left operand")
	matrix.MustMatch("linalg.Packed, left operand", a.Shape(), matrix.Shape{Rows: a.Rows, Cols: p.inner})
	matrix.MustMatch("linalg.Packed, destination", dst.Shape(), matrix.Shape{Rows: a.Rows, Cols: p.cols})
	blocks := ceilDiv(a.Rows, p.set.TileRows())
	for i := range blocks {
		r0, r1 := i*a.Rows/blocks, (i+1)*a.Rows/blocks
		p.mulRows(dst.Slice(r0, r1), alpha, a.Slice(r0, r1))
	}
}

// mulRows is Mul for at most one tile of rows.
func (p *Packed[T]) mulRows(dst matrix.Dense[T], alpha T, a matrix.Dense[T]) {
	at, beta := p.panels, T(0)
	for step := range p.steps {
		k0, k1 := p.block(step)
		left := a.Block(0, a.Rows, k0, k1)
		p.set.MulTiles(dst.Data, dst.Stride, dst.Rows, dst.Cols, alpha, left.Data, left.Stride, 1, at,
			k1-k0, beta, simd.Ahead{})
		at, beta = at[len(p.panels)/max(1, p.inner)*(k1-k0):], 1
	}
}
