package linalg

// Solves with a lower triangular matrix L and many right-hand sides:
//
//	side   op        overwrites b with X, where
//	Left   NoTrans   L·X = b
//	Left   Trans     Lᵀ·X = b
//	Right  NoTrans   X·L = b
//	Right  Trans     X·Lᵀ = b
//
// With L split in two, L = [L11 0; L21 L22], a solve becomes a solve with L11, a
// product with L21 and a solve with L22, or the reverse: nearly all of the work is
// in products. Small triangles are solved by substitution.

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Side is the side of the unknown on which the triangular matrix stands.
type Side bool

// The two sides.
const (
	Left  Side = false
	Right Side = true
)

// SolveLower overwrites b with the solution X of op(L)·X = b or X·op(L) = b.
// Only the lower triangle of l is read. A pivot that is zero, not finite or so
// small that its reciprocal overflows is a *PivotError and leaves b unchanged.
func SolveLower[T matrix.Float](team *Team, b matrix.Dense[T], side Side, l matrix.Dense[T], op Op) error {
	const name = "linalg.SolveLower"
	b.MustBeValid(name + ", right-hand sides")
	mustBeSquare(name, l)
	if side == Left {
		matrix.MustMatch(name+", right-hand sides", b.Shape(), matrix.Shape{Rows: l.Rows, Cols: b.Cols})
	} else {
		matrix.MustMatch(name+", right-hand sides", b.Shape(), matrix.Shape{Rows: b.Rows, Cols: l.Rows})
	}
	if err := checkPivots(name, l); err != nil {
		return err
	}
	solve(team, b, side, l, op)
	return nil
}

func mustBeSquare[T matrix.Float](op string, m matrix.Dense[T]) {
	m.MustBeValid(op)
	matrix.MustMatch(op, m.Shape(), matrix.Shape{Rows: m.Rows, Cols: m.Rows})
}

// checkPivots returns a *PivotError for the first pivot that cannot be divided by.
func checkPivots[T matrix.Float](op string, l matrix.Dense[T]) error {
	for i := range l.Rows {
		v := l.Data[i*l.Stride+i]
		if r := 1 / v; r == 0 || r-r != 0 {
			return &PivotError{Op: op, Index: i, Value: float64(v)}
		}
	}
	return nil
}

// solveBase is the size up to which triangles are solved by substitution: a panel
// of right-hand sides then fits into the first-level cache, and the triangle into
// the second-level cache.
const solveBase = 128

// solve is SolveLower on checked operands.
func solve[T matrix.Float](team *Team, b matrix.Dense[T], side Side, l matrix.Dense[T], op Op) {
	n := l.Rows
	if n == 0 || b.Rows == 0 || b.Cols == 0 {
		return
	}
	if n <= solveBase {
		substitute(team, b, side, l, op)
		return
	}
	h := half(n)
	l11, l21, l22 := l.Block(0, h, 0, h), l.Block(h, n, 0, h), l.Block(h, n, h, n)
	var b1, b2 matrix.Dense[T]
	if side == Left {
		b1, b2 = b.Slice(0, h), b.Slice(h, n)
	} else {
		b1, b2 = b.Block(0, b.Rows, 0, h), b.Block(0, b.Rows, h, n)
	}
	if forward(side, op) {
		solve(team, b1, side, l11, op)
		eliminate(team, b2, b1, side, l21, op)
		solve(team, b2, side, l22, op)
		return
	}
	solve(team, b2, side, l22, op)
	eliminate(team, b1, b2, side, l21, op)
	solve(team, b1, side, l11, op)
}

// forward reports whether the unknowns are found from the first to the last.
func forward(side Side, op Op) bool { return (side == Left) == (op == NoTrans) }

// half is where a triangle is split in two: at whole panels, for fast products.
func half(n int) int { return (n/2 + 15) &^ 15 }

// eliminate subtracts from b what the solved x contributes to it.
func eliminate[T matrix.Float](team *Team, b, x matrix.Dense[T], side Side, l21 matrix.Dense[T], op Op) {
	if side == Left {
		multiply(team, b, -1, l21, op, x, NoTrans, 1, full, nil)
	} else {
		multiply(team, b, -1, x, NoTrans, l21, op, 1, full, nil)
	}
}

// substitute solves with a small triangle. It copies the right-hand sides into
// panels of the micro-kernel's width, one vector per column whatever the side, and
// solves them there.
func substitute[T matrix.Float](team *Team, b matrix.Dense[T], side Side, l matrix.Dense[T], op Op) {
	list := listOf[solveJob[T]](solveJobs)
	j := list.get()
	j.load(l)
	j.run(team, b, side, forward(side, op))
	list.put(j)
}

// solveJob solves with one small triangle. Each of its parts is a panel.
type solveJob[T matrix.Float] struct {
	set     *simd.Set[T]
	b       matrix.Dense[T]
	side    Side
	forward bool

	n int
	l []T // the triangle, n x n, with reciprocals on the diagonal

	panels  [maxThreads][]T
	corners [maxThreads][]T // a square of a panel, transposed
}

// load copies the triangle so that its rows are contiguous.
func (j *solveJob[T]) load(l matrix.Dense[T]) {
	j.n = l.Rows
	j.l = grow(j.l, j.n*j.n)
	for i := range j.n {
		row := j.l[i*j.n:][:i+1]
		copy(row, l.Row(i))
		row[i] = 1 / row[i]
	}
}

// run solves for all panels of b.
func (j *solveJob[T]) run(team *Team, b matrix.Dense[T], side Side, forward bool) {
	j.set, j.b, j.side, j.forward = simd.For[T](), b, side, forward
	vectors := b.Cols
	if side == Right {
		vectors = b.Rows
	}
	if parts := ceilDiv(vectors, j.set.TileCols()); vectors*j.n*j.n >= smallWork {
		team.Run(parts, j)
	} else {
		for part := range parts {
			j.Do(part, 0)
		}
	}
	j.b = matrix.Dense[T]{}
}

// Do solves for the vectors of one panel.
func (j *solveJob[T]) Do(part, slot int) {
	width := j.set.TileCols()
	j.panels[slot] = grow(j.panels[slot], j.n*width)
	panel, from := j.panels[slot], part*width
	if j.side == Left {
		block := j.b.Block(0, j.n, from, min(from+width, j.b.Cols))
		j.set.PackPanel(panel, block.Data, block.Stride, j.n, block.Cols)
		j.solve(panel)
		for i := range j.n {
			copy(block.Row(i), panel[i*width:])
		}
		return
	}
	block := j.b.Slice(from, min(from+width, j.b.Rows))
	j.set.PackPanelT(panel, block.Data, block.Stride, j.n, block.Rows)
	j.solve(panel)
	j.unpackT(block, panel, slot)
}

// unpackT writes a panel to the rows of block, one square at a time.
func (j *solveJob[T]) unpackT(block matrix.Dense[T], panel []T, slot int) {
	width := j.set.TileCols()
	j.corners[slot] = grow(j.corners[slot], width*width)
	corner := j.corners[slot]
	for p := 0; p < j.n; p += width {
		cols := min(width, j.n-p)
		j.set.PackPanelT(corner, panel[p*width:], width, width, cols)
		for i := range block.Rows {
			copy(block.Row(i)[p:p+cols], corner[i*width:])
		}
	}
}

// stepRows is the number of rows of a panel that are solved between products.
const stepRows = 4

// solve solves for the rows of a panel, group by group. A group is as many rows as
// the micro-kernel takes at once, in whole steps.
func (j *solveJob[T]) solve(panel []T) {
	group := j.set.TileRows() / stepRows * stepRows
	if j.forward {
		for i0 := 0; i0 < j.n; i0 += group {
			j.solveDown(panel, i0, min(i0+group, j.n))
		}
		return
	}
	for i1 := j.n; i1 > 0; i1 -= group {
		j.solveUp(panel, max(i1-group, 0), i1)
	}
}

// solveDown solves for the group of rows i0 to i1-1, from those above.
func (j *solveJob[T]) solveDown(panel []T, i0, i1 int) {
	n, width := j.n, j.set.TileCols()
	j.reduceDown(panel, i0, i1, 0, i0)
	for s0 := i0; s0 < i1; s0 += stepRows {
		s1 := min(s0+stepRows, i1)
		j.reduceDown(panel, s0, s1, i0, s0)
		for i := s0; i < s1; i++ {
			row := panel[i*width:][:width]
			for k := s0; k < i; k++ {
				j.set.Axpy(row, panel[k*width:], -j.l[i*n+k])
			}
			scaleRow(row, j.l[i*n+i])
		}
	}
}

// solveUp solves for the group of rows i0 to i1-1, from those below.
func (j *solveJob[T]) solveUp(panel []T, i0, i1 int) {
	n, width := j.n, j.set.TileCols()
	j.reduceUp(panel, i0, i1, i1, n)
	for s1 := i1; s1 > i0; s1 -= stepRows {
		s0 := max(s1-stepRows, i0)
		j.reduceUp(panel, s0, s1, s1, i1)
		for i := s1 - 1; i >= s0; i-- {
			row := panel[i*width:][:width]
			for k := i + 1; k < s1; k++ {
				j.set.Axpy(row, panel[k*width:], -j.l[k*n+i])
			}
			scaleRow(row, j.l[i*n+i])
		}
	}
}

// reduceDown subtracts from rows i0 to i1-1 what the solved rows k0 to k1-1 above
// contribute to them.
func (j *solveJob[T]) reduceDown(panel []T, i0, i1, k0, k1 int) {
	if n, width := j.n, j.set.TileCols(); k0 < k1 {
		j.set.MulTiles(panel[i0*width:], width, i1-i0, width, -1, j.l[i0*n+k0:], n, 1, panel[k0*width:],
			k1-k0, 1, simd.Ahead{})
	}
}

// reduceUp does the same with solved rows below.
func (j *solveJob[T]) reduceUp(panel []T, i0, i1, k0, k1 int) {
	if n, width := j.n, j.set.TileCols(); k0 < k1 {
		j.set.MulTiles(panel[i0*width:], width, i1-i0, width, -1, j.l[k0*n+i0:], 1, n, panel[k0*width:],
			k1-k0, 1, simd.Ahead{})
	}
}

func scaleRow[T matrix.Float](row []T, a T) {
	for i := range row {
		row[i] *= a
	}
}

var solveJobs = newFreeLists[solveJob[float32], solveJob[float64]]()
