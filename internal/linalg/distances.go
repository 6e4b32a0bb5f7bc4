package linalg

// Inner products of and squared distances between all pairs of rows,
//
//	G[i][j] = x[i]·y[j]
//	D[i][j] = |x[i] − y[j]|² = |x[i]|² + |y[j]|² − 2·x[i]·y[j], at least 0
//
// through matrix products. If two rows are close, the last form cancels: its error
// is about the rounding error of the norms, however small the distance is.

import (
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// SqDistMatrix writes to dst the squared Euclidean distances between the rows of x
// and the rows of y. If x and y are the same view, dst is exactly symmetric and
// its diagonal is zero.
func SqDistMatrix[T matrix.Float](team *Team, dst, x, y matrix.Dense[T]) {
	const op = "linalg.SqDistMatrix"
	dst.MustBeValid(op + ", destination")
	mustPair(op, x, y)
	matrix.MustMatch(op+", destination", dst.Shape(), matrix.Shape{Rows: x.Rows, Cols: y.Rows})
	p := newPairs(team, SqDistances, x, y)
	p.fill(dst, 0, 0)
	p.release()
}

// Pairwise selects what is computed for each pair of rows.
type Pairwise int

// The choices of Pairwise.
const (
	InnerProducts Pairwise = iota
	SqDistances
)

// The size of the blocks of PairwiseBlocks: large enough for a fast product,
// small enough to still be in the cache when it is visited.
const (
	pairRows = 256
	pairCols = 1024
)

// PairwiseBlocks computes the inner products or squared distances of all rows of x
// and y one block at a time, for when the whole matrix is too large for memory. It
// calls visit from the caller's goroutine with each block and the row and column
// at which it begins, in row-major order. visit may write to the block, which is
// valid until it returns, and may use this package.
func PairwiseBlocks[T matrix.Float](team *Team, what Pairwise, x, y matrix.Dense[T], visit func(row, col int, block matrix.Dense[T])) {
	mustPair("linalg.PairwiseBlocks", x, y)
	p := newPairs(team, what, x, y)
	p.block = grow(p.block, min(pairRows, x.Rows)*min(pairCols, y.Rows))
	for r := 0; r < x.Rows; r += pairRows {
		for c := 0; c < y.Rows; c += pairCols {
			block := matrix.View(min(pairRows, x.Rows-r), min(pairCols, y.Rows-c), p.block)
			p.fill(block, r, c)
			visit(r, c, block)
		}
	}
	p.release()
}

func mustPair[T matrix.Float](op string, x, y matrix.Dense[T]) {
	x.MustBeValid(op)
	y.MustBeValid(op)
	if x.Cols != y.Cols {
		panic(matrix.ShapeError{Op: op + ", columns", Got: y.Shape(), Want: x.Shape()})
	}
}

// pairs computes blocks of a matrix of all pairs.
type pairs[T matrix.Float] struct {
	team *Team
	set  *simd.Set[T]
	what Pairwise
	x, y matrix.Dense[T]
	same bool // x and y are the same view

	dst      matrix.Dense[T] // the block that is being computed
	row, col int             // where it begins

	normX, normY []T // squared norms, for distances
	ones         []T
	sums         [maxThreads][]T
	block        []T
}

// newPairs returns a job for the rows of x and y; return it with release.
func newPairs[T matrix.Float](team *Team, what Pairwise, x, y matrix.Dense[T]) *pairs[T] {
	p := listOf[pairs[T]](pairJobs).get()
	p.team, p.set, p.what, p.x, p.y = team, simd.For[T](), what, x, y
	p.same = unsafe.SliceData(x.Data) == unsafe.SliceData(y.Data) && x.Shape() == y.Shape() && x.Stride == y.Stride
	if what == InnerProducts {
		return p
	}
	p.normX, p.normY, p.ones = grow(p.normX, x.Rows), grow(p.normY, y.Rows), grow(p.ones, y.Rows)
	RowNorms(team, p.normX, x)
	RowNorms(team, p.normY, y)
	for i := range p.ones {
		p.ones[i] = 1
	}
	return p
}

func (p *pairs[T]) release() {
	p.team = nil
	p.x, p.y, p.dst = matrix.Dense[T]{}, matrix.Dense[T]{}, matrix.Dense[T]{}
	listOf[pairs[T]](pairJobs).put(p)
}

// fill computes the block dst that begins at the given row and column.
func (p *pairs[T]) fill(dst matrix.Dense[T], row, col int) {
	x, y := p.x.Slice(row, row+dst.Rows), p.y.Slice(col, col+dst.Cols)
	if p.what == InnerProducts {
		multiply(p.team, dst, 1, x, NoTrans, y, Trans, 0, full, nil)
		return
	}
	p.dst, p.row, p.col = dst, row, col
	multiply(p.team, dst, -2, x, NoTrans, y, Trans, 0, full, p)
}

// Finish turns products −2·x·y into distances. It adds the two norms first, so
// that the distance from y to x has the same bits as that from x to y.
func (p *pairs[T]) Finish(r0, r1, c0, c1, slot int) {
	p.sums[slot] = grow(p.sums[slot], c1-c0)
	sum := p.sums[slot]
	for i := r0; i < r1; i++ {
		dst := p.dst.Row(i)[c0:c1]
		copy(sum, p.normY[p.col+c0:])
		p.set.Axpy(sum, p.ones, p.normX[p.row+i])
		p.set.Axpy(dst, sum, 1)
		p.set.ReLU(dst, dst)
		if k := p.row + i - p.col; p.same && c0 <= k && k < c1 {
			dst[k-c0] = 0
		}
	}
}

var pairJobs = newFreeLists[pairs[float32], pairs[float64]]()
