package space

// Variances of rows in memory, for MaxDet. They only fall, in rounded arithmetic too: one
// loses a square, and is cut off at zero. So a value that lacks some steps is an upper
// bound, and a row is updated only when its bound is above the best value known. Its
// missed steps are then one product of the features with the vectors of these steps, and
// the same numbers come out as when each step is done for every row. That is what
// happens for some steps after two that had to update many rows.

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

type memoryVariances[T matrix.Float] struct {
	*memoryRows[T]
	pool *rowsInFloat64
	c    []float64 // posterior variance of each row, or an upper bound
	// the vectors w, one after the other: the covariance's own, not a copy, which would take room in the cache
	steps    []float64
	count    int        // of steps
	done     []int32    // how many of them are in c
	products sync.Pool  // of *[readPiece]float64
	tops     []pieceTop // of each piece, the row of largest bound, or the best updated one
	visits   atomic.Int64
	computed atomic.Int64 // products of these visits
	heavy    bool         // the latest step that skipped rows had to update many
	eager    int          // steps left to be done for every row, after all rows have been updated
}

func (m *memoryRows[T]) Variances(float64) (Variances, error) {
	if m.space.kernel != nil {
		return nil, &place.MethodError{Method: "maxdet", Reason: "it needs features, but the kernel has no explicit ones"}
	}
	pool := inFloat64(m.space, m.of)
	f := &memoryVariances[T]{memoryRows: m, pool: pool, c: slices.Clone(float64Norms(m.space, m.of, pool)),
		done: make([]int32, pool.Rows),
		tops: make([]pieceTop, linalg.Pieces(pool.Rows, readPiece))}
	f.products.New = func() any { return new([readPiece]float64) }
	return f, nil
}

func (f *memoryVariances[T]) Prior() float64 { return largestOf(f.c) }

func (f *memoryVariances[T]) Scales() []float64 {
	return f.pool.largestNumbers(f.space.Cancelled, f.space.team)
}

func (f *memoryVariances[T]) Rebase(s *posterior.Covariance) {
	f.space.baseVariances(f.c, s, f.pool)
	clear(f.done)
	f.steps, f.count, f.eager = nil, 0, 0
}

func (f *memoryVariances[T]) At(row int) float64 {
	f.catchUp(row)
	return f.c[row]
}

// AddRow leaves S to the caller.
func (f *memoryVariances[T]) AddRow(int) (variance float64, done bool) { return 0, false }

func (f *memoryVariances[T]) Step(s *posterior.Covariance, row int) {
	f.steps, f.count = s.Changes()
	f.space.tally.Pairs(int64(f.pool.Rows), 0)
	if f.space.Plain || f.eager > 0 || f.price != nil {
		f.catchUpAll()
		f.eager = max(0, f.eager-1)
	}
	if row >= 0 {
		f.catchUp(row) // otherwise its bound, the largest of its piece, would hide the others
	}
}

const (
	// If more than one in manyVisited rows have to be updated, it is faster to do a
	// step for every row in order.
	manyVisited = 2
	eagerSteps  = 16 // steps done for every row before rows are skipped again
)

// pieceTop is the best of some rows: -1 if there is none.
type pieceTop struct {
	row int
	c   float64
}

func (t *pieceTop) offer(row int, c float64) {
	if t.row < 0 || c > t.c || c == t.c && row < t.row {
		*t = pieceTop{row, c}
	}
}

// mayYieldTo reports whether a row with the upper bound c can be better. Of equal rows
// the first is best, so rows that are all equal are skipped.
func (t *pieceTop) mayYieldTo(row int, c float64) bool {
	return !(c < t.c || c == t.c && row > t.row)
}

// Best updates the rows of the largest bounds, then all those whose bound is above the
// best of these.
func (f *memoryVariances[T]) Best() (Found, error) {
	if f.price != nil { // then every step has been done for every row
		row, err := BestPer(f.space.team, f.c, f.price, f.open)
		if err != nil || row < 0 {
			return Found{Row: -1}, err
		}
		return Found{row, f.c[row]}, nil
	}
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(piece, from, to int) { f.tops[piece] = f.largestBound(from, to) })
	best := f.settle(largestTops(f.tops))
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(piece, from, to int) {
		bound := f.tops[piece]
		f.tops[piece] = best
		if bound.row < 0 || !best.mayYieldTo(from, bound.c) {
			return
		}
		for row := from; row < to; row++ {
			if f.tops[piece].mayYieldTo(row, f.c[row]) && f.open[row] {
				f.catchUp(row)
				f.tops[piece].offer(row, f.c[row])
			}
		}
	})
	f.weigh(f.tallyVisits())
	best = bestOf(f.tops)
	if math.IsNaN(best.c) {
		return Found{best.row, best.c}, &place.RowError{Set: "pool", Row: best.row, What: "score", Value: best.c}
	}
	return Found{best.row, best.c}, nil
}

// settle updates rows and returns the best of them.
func (f *memoryVariances[T]) settle(list []pieceTop) pieceTop {
	f.space.team.OverPieces(len(list), 1, func(i, _, _ int) {
		f.catchUp(list[i].row)
		list[i].c = f.c[list[i].row]
	})
	return bestOf(list)
}

// tallyVisits adds the visits since the last call to the work that is counted, and
// returns how many they were.
func (f *memoryVariances[T]) tallyVisits() int64 {
	visits, computed := f.visits.Swap(0), f.computed.Swap(0)
	f.space.tally.Pairs(0, computed)
	tally.Rows[float64](f.space.tally, int(visits), f.pool.Cols)
	return visits
}

// weigh has the next steps done for every row if this step and the one before had to
// update many.
func (f *memoryVariances[T]) weigh(visited int64) {
	if visited <= int64(f.pool.Rows/manyVisited) {
		f.heavy = f.eager > 0 && f.heavy
		return
	}
	if f.heavy {
		f.space.team.OverPieces(f.pool.Rows, readPiece, func(_, from, to int) {
			for row := from; row < to; row++ {
				f.catchUp(row)
			}
		})
		f.tallyVisits()
		f.eager = eagerSteps
	}
	f.heavy = true
}

// largestBound returns the open row of largest c. Where the largest of all is not
// open, the piece is scanned row by row.
func (f *memoryVariances[T]) largestBound(from, to int) pieceTop {
	open := f.open
	if i := simd.For[float64]().ArgMax(f.c[from:to]); i >= 0 && open[from+i] {
		return pieceTop{from + i, f.c[from+i]}
	}
	top := pieceTop{row: -1}
	for row := from; row < to; row++ {
		if (f.c[row] > top.c || top.row < 0) && open[row] {
			top = pieceTop{row, f.c[row]}
		}
	}
	return top
}

// bestOf returns the best of a list, or one that is NaN.
func bestOf(list []pieceTop) pieceTop {
	best := pieceTop{row: -1}
	for _, t := range list {
		if t.row >= 0 && math.IsNaN(t.c) {
			return t
		}
		if t.row >= 0 {
			best.offer(t.row, t.c)
		}
	}
	return best
}

// catchUp updates the variance of a row.
func (f *memoryVariances[T]) catchUp(row int) {
	steps := f.count - int(f.done[row])
	if steps == 0 {
		return
	}
	f.visits.Add(1)
	f.computed.Add(int64(steps))
	set, u := simd.For[float64](), f.products.Get().(*[readPiece]float64)
	phi, buffer := f.pool.row(row)
	for from := int(f.done[row]); from < f.count; from += len(u) {
		to := min(from+len(u), f.count)
		set.DotRows(u[:to-from], phi, f.steps[from*f.pool.Cols:], f.pool.Cols)
		for _, v := range u[:to-from] {
			f.c[row] = max(f.c[row]-v*v, 0)
		}
	}
	buffer.end()
	f.products.Put(u)
	f.done[row] = int32(f.count)
}

// catchUpAll does the latest step for every row, which has done all before.
func (f *memoryVariances[T]) catchUpAll() {
	set := simd.For[float64]()
	last := f.count
	w := f.steps[(last-1)*f.pool.Cols:]
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(_, from, to int) {
		u := f.products.Get().(*[readPiece]float64)
		defer f.products.Put(u)
		part, buffer := f.pool.read(from, to)
		defer buffer.end()
		set.DotRows(u[:to-from], w, part.Data, part.Stride)
		for i, v := range u[:to-from] {
			f.c[from+i] = max(f.c[from+i]-v*v, 0)
			f.done[from+i] = int32(last)
		}
	})
	f.space.tally.Pairs(0, int64(f.pool.Rows))
	tally.Rows[float64](f.space.tally, f.pool.Rows, f.pool.Cols)
}

// conditionedBlock is the number of rows that are multiplied with the covariance at a
// time.
const conditionedBlock = 1024

// baseVariances writes φᵀSφ of each row to dst, for the base of S alone.
func (s *space[T]) baseVariances(dst []float64, cov *posterior.Covariance, rows *rowsInFloat64) {
	factor, sign := cov.Explained, -1.0
	if cov.Root.Rows > 0 {
		factor, sign = cov.Root, 1
	}
	if factor.Rows == 0 {
		rows.norms(s.Cancelled, s.team, dst)
		return
	}
	tally.Rows[float64](s.tally, rows.Rows, rows.Cols)
	scratch := matrix.New[float64](min(conditionedBlock, rows.Rows), factor.Rows)
	rows.convertBlocks(s.Cancelled, s.team, func(first int, block matrix.Dense[float64]) {
		for from := 0; from < block.Rows && !s.Cancelled(); from += conditionedBlock {
			part := block.Slice(from, min(from+conditionedBlock, block.Rows))
			products, variances := scratch.Slice(0, part.Rows), dst[first+from:][:part.Rows]
			linalg.RowNorms(s.team, variances, part)
			linalg.Gemm(s.team, products, 1, part, linalg.NoTrans, factor, linalg.Trans, 0)
			for i := range variances {
				norm := simd.For[float64]().SumSquares(products.Row(i))
				if sign > 0 {
					variances[i] = norm
				} else {
					variances[i] = max(variances[i]-norm, 0)
				}
			}
		}
	})
}
