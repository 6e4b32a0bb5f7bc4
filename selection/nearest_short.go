package selection

// Distances to selected rows where short rows (short.go) rule out most.

import (
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	shortPiece = 1024 // rows of a piece where short rows are read
	// fullShare is the share of a piece's rows, one in so many, from which on
	// all of the piece is read: one row after the other is faster.
	fullShare = 4
	// rests is for how many steps short rows are not looked at after a step
	// where that share of all rows was left.
	rests = 4
)

// shortNearest is a nearest with short rows.
type shortNearest[T matrix.Float] struct {
	*nearest[T]
	maker *shortener[T]
	rows  shortened
	limit []float32 // of each row
	rest  int       // steps for which short rows are not looked at

	scratch sync.Pool // of *shortScratch
}

// shortScratch belongs to a piece of rows.
type shortScratch struct {
	low, more [shortPiece]float32
	left      [shortPiece]int32
}

func newShortNearest[T matrix.Float](f *nearest[T]) *shortNearest[T] {
	h := f.space.shortener()
	if h == nil {
		return nil
	}
	n := &shortNearest[T]{nearest: f, maker: h, rows: f.space.shortRows(f.of), limit: matrix.Alloc[float32](len(f.dist))}
	n.scratch.New = func() any { return new(shortScratch) }
	n.refresh()
	return n
}

// refresh computes all limits.
func (f *shortNearest[T]) refresh() {
	overPieces(f.space.team, len(f.dist), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.limit[i] = f.maker.limit(f.dist[i], f.of.diag[i])
		}
	})
}

// add counts candidates as selected; first is the label of the first of them.
func (f *shortNearest[T]) add(candidates []int, first int) {
	if len(candidates) >= manyRows {
		f.addMany(candidates, first)
		return
	}
	for i, x := range candidates {
		f.addOne(x, int32(first+i))
	}
}

// addOne counts one candidate as selected.
func (f *shortNearest[T]) addOne(candidate int, label int32) {
	if f.rest > 0 {
		f.addPlain(candidate, label)
		return
	}
	set := simd.For[T]()
	centre, _ := f.space.row(candidate)
	coarse, fine := f.space.shortRow(candidate)
	var listed, full atomic.Int64 // numbers of fine rows, and whole rows, that were read
	overPieces(f.space.team, len(f.dist), shortPiece, func(_, from, to int) {
		scratch := f.scratch.Get().(*shortScratch)
		defer f.scratch.Put(scratch)
		left, looked := f.near(coarse, fine, from, to, scratch)
		listed.Add(int64(looked))
		all, fresh := f.of.rows.Slice(from, to), f.fresh[from:to]
		if len(left) > (to-from)/fullShare {
			set.SqDistRows(fresh, centre.Row(0), all.Data, all.Stride)
			for i, d := range fresh {
				f.lowerRow(from+i, d, label)
			}
			full.Add(int64(to - from))
			return
		}
		set.SqDistListed(fresh[:len(left)], centre.Row(0), all.Data, all.Stride, left)
		for i, row := range left {
			f.lowerRow(from+int(row), fresh[i], label)
		}
		full.Add(int64(len(left)))
	})
	f.space.tally.Pairs(int64(len(f.dist)), full.Load())
	tally.Rows[float32](f.space.tally, len(f.dist), coarseCols)
	tally.Rows[float32](f.space.tally, int(listed.Load()), 1)
	tally.Rows[T](f.space.tally, int(full.Load()), f.of.rows.Cols)
	if full.Load() > int64(len(f.dist)/fullShare) {
		f.rest = rests
	}
}

// addPlain is addOne without short rows. After the last of such steps the limits
// are brought up to date.
func (f *shortNearest[T]) addPlain(candidate int, label int32) {
	_ = f.nearest.addOne(candidate, label) // features have no errors
	if f.rest--; f.rest == 0 {
		f.refresh()
	}
}

// near lists those of the rows from from to to-1, numbered from 0, that a
// selected row may be nearer to than what they have, by its short rows: first the
// coarse ones, then more and more directions of those that are left. listed is how
// many numbers of the fine rows that took.
//
// low is the squared distance less the limit. Each sum rounds it by 2⁻²³ of the
// limit at most, which has more than 2⁻¹⁸ to spare.
func (f *shortNearest[T]) near(coarse, fine []float32, from, to int, scratch *shortScratch) (left []int32, listed int) {
	short, limit := simd.For[float32](), f.limit[from:to]
	low, part := scratch.low[:to-from], f.rows.coarse.Slice(from, to)
	short.SqDistRows(low, coarse, part.Data, part.Stride)
	short.Axpy(low, limit, -1)
	left = scratch.left[:short.AtMost(scratch.left[:], low, 0)]
	part = f.rows.fine.Slice(from, to)
	if len(left) > (to-from)/2 {
		short.SqDistRows(low, fine, part.Data, part.Stride)
		short.Axpy(low, limit, -1)
		return scratch.left[:short.AtMost(scratch.left[:], low, 0)], (to - from) * part.Cols
	}
	first := coarseCols
	for _, last := range [...]int{middleCols, part.Cols} {
		listed += len(left) * (last - first)
		more := scratch.more[:len(left)]
		short.SqDistListed(more, fine[first:last], part.Data[first:], part.Stride, left)
		left = left[:keepNear(left, low, more)]
		first = last
	}
	return left, listed
}

// keepNear adds more, which belongs to the list, to low, which belongs to all rows;
// moves the rows to the front for which it is not positive then; and returns their
// number.
func keepNear(list []int32, low, more []float32) int {
	n := 0
	for i, row := range list {
		list[n] = row
		low[row] += more[i]
		if low[row] <= 0 {
			n++
		}
	}
	return n
}

// lowerRow is the step of the plain algorithm for one row.
func (f *shortNearest[T]) lowerRow(row int, dist T, label int32) {
	if dist < f.dist[row] {
		f.dist[row], f.label[row], f.limit[row] = dist, label, f.maker.limit(dist, f.of.diag[row])
	}
}
