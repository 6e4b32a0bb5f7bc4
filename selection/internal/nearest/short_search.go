package nearest

// Distances to centres where short rows (short.go) rule out most.

import (
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

const (
	shortPiece = 1024 // rows of a piece where short rows are read
	// If more than one in fullShare rows of a piece survive, all of the piece is read:
	// consecutive rows are faster.
	fullShare = 4
	// pauseSteps is the number of steps without short rows after a step in which that
	// share of all rows survived.
	pauseSteps = 4
)

// shortSearch is a search with short rows.
type shortSearch[T matrix.Float] struct {
	*Search[T]
	maker  *Shortener[T]
	coarse matrix.Dense[float32] // the front of the fine ones
	fine   matrix.Dense[float32]
	limit  []float32 // of each row
	pause  int       // steps for which short rows are not used

	scratch sync.Pool // of *shortScratch
}

// shortScratch belongs to a piece of rows.
type shortScratch struct {
	low, more [shortPiece]float32
	left      [shortPiece]int32
}

func newShortSearch[T matrix.Float](f *Search[T], h *Shortener[T]) *shortSearch[T] {
	n := &shortSearch[T]{Search: f, maker: h, limit: matrix.Alloc[float32](len(f.Dist))}
	n.coarse, n.fine = h.rows(f.rows)
	n.scratch.New = func() any { return new(shortScratch) }
	n.refresh()
	return n
}

// refresh computes all limits.
func (f *shortSearch[T]) refresh() {
	f.Team.OverPieces(len(f.Dist), scanPiece, func(_, from, to int) {
		for i := from; i < to; i++ {
			f.limit[i] = f.maker.limit(f.Dist[i], f.norms[i])
		}
	})
}

// add adds centres; first is the label of the first of them.
func (f *shortSearch[T]) add(centres matrix.Dense[T], first int) {
	if centres.Rows >= manyCentres {
		f.addMany(centres, first)
		return
	}
	for i := range centres.Rows {
		f.addOne(centres.Row(i), int32(first+i))
	}
}

// addOne adds one centre.
func (f *shortSearch[T]) addOne(centre []T, label int32) {
	if f.pause > 0 {
		f.addPlain(centre, label)
		return
	}
	if f.InFile {
		file := rowfile.MappedRows(f.rows)
		file.AtRandom()
		defer file.AsUsual()
	}
	set, fine := simd.For[T](), f.maker.row(centre)
	var listed, full atomic.Int64 // numbers of fine rows, and whole rows, that were read
	f.Team.OverPieces(len(f.Dist), shortPiece, func(_, from, to int) {
		scratch := f.scratch.Get().(*shortScratch)
		defer f.scratch.Put(scratch)
		left, looked := f.near(fine, from, to, scratch)
		listed.Add(int64(looked))
		all, fresh := f.rows.Slice(from, to), f.fresh[from:to]
		if len(left) > (to-from)/fullShare {
			if f.InFile {
				rowfile.MappedRows(all).ReadAhead()
			}
			set.SqDistRows(fresh, centre, all.Data, all.Stride)
			for i, d := range fresh {
				f.lowerRow(from+i, d, label)
			}
			full.Add(int64(to - from))
			return
		}
		set.SqDistListed(fresh[:len(left)], centre, all.Data, all.Stride, left)
		for i, row := range left {
			f.lowerRow(from+int(row), fresh[i], label)
		}
		full.Add(int64(len(left)))
	})
	f.Tally.Pairs(int64(len(f.Dist)), full.Load())
	tally.Rows[float32](f.Tally, len(f.Dist), coarseCols)
	tally.Rows[float32](f.Tally, int(listed.Load()), 1)
	tally.Rows[T](f.Tally, int(full.Load()), f.rows.Cols)
	if full.Load() > int64(len(f.Dist)/fullShare) {
		f.pause = pauseSteps
	}
}

// addPlain is addOne without short rows. After the last of such steps the limits
// are refreshed.
func (f *shortSearch[T]) addPlain(centre []T, label int32) {
	f.Search.addOne(centre, label)
	if f.pause--; f.pause == 0 {
		f.refresh()
	}
}

// near lists those of the rows from from to to-1, numbered from 0, that a
// centre may be nearer to than the one they have, by its short row: first the
// coarse ones, then more and more directions of the survivors. listed is how
// many numbers of the fine rows that took.
//
// low is the squared distance minus the limit. Each sum rounds it by at most 2⁻²³ of the
// limit, which has more than 2⁻¹⁸ to spare.
func (f *shortSearch[T]) near(fine []float32, from, to int, scratch *shortScratch) (left []int32, listed int) {
	short, limit := simd.For[float32](), f.limit[from:to]
	low, part := scratch.low[:to-from], f.coarse.Slice(from, to)
	short.SqDistRows(low, fine[:coarseCols], part.Data, part.Stride)
	short.Axpy(low, limit, -1)
	left = scratch.left[:short.AtMost(scratch.left[:], low, 0)]
	part = f.fine.Slice(from, to)
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
// moves the rows for which it is then not positive to the front; and returns their
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
func (f *shortSearch[T]) lowerRow(row int, dist T, label int32) {
	if dist < f.Dist[row] {
		f.Dist[row], f.Label[row], f.limit[row] = dist, label, f.maker.limit(dist, f.norms[row])
	}
}
