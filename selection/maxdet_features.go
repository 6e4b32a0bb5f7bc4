package selection

// MaxDet in feature space (paper, algorithm "MaxDet pseudocode implementation in
// feature space"), without rewriting the features (covariance.go):
//
//	INIT    c[x] = ⟨φ(x), φ(x)⟩
//	ADD(x)  w = S·φ(x)/γ,  γ² = σ² + ⟨φ(x), S·φ(x)⟩
//	        c[y] = c[y] − ⟨φ(y), w⟩² for all y,  S = S − w·wᵀ
//	NEXT    argmax c
//
// c only falls, in rounded arithmetic too: it loses a square, and is cut off at
// zero. So a value that lacks some steps is an upper bound, and a row is brought
// up to date only when its bound is above the best value known. A row's missed
// steps are then one product of the features with the vectors w of these steps,
// and the same numbers come out as when each step is done for every row. That is
// what happens for some steps after two that had to bring many rows up to date.
// When rounding may decide, c is computed from all selected rows (accuracy.go), at
// the same step in either case.

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

type maxDetFeatures[T matrix.Float] struct {
	space       *Space[T]
	pool, train matrix.Dense[float64]
	selected    []int
	cov         *covariance
	c           []float64 // posterior variance of each pool row, or above it
	done        []int32   // how many of the changes of cov are in c
	w           []float64
	products    sync.Pool  // of *[readPiece]float64
	tops        []pieceTop // of each piece, the row of largest bound, or the best that is up to date
	visits      atomic.Int64
	computed    atomic.Int64 // products of these visits
	heavy       bool         // the latest step that passed over rows had to bring many up to date
	eager       int          // steps that are to be done for every row, all of which are up to date
	name        string
	largest     float64   // the largest k(x, x)
	scales      []float64 // the largest number of each feature
	best        float64   // the largest variance, as far as known
	accuracy    accuracy
}

const (
	// manyVisited is the share of rows, one in so many, from which on it is
	// faster to do a step for every row, one after the other.
	manyVisited = 2
	eagerSteps  = 16 // that are done so before rows are passed over again
)

// manyRows is from how many rows on a matrix product pays.
const manyRows = 16

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

// mayYieldTo says whether a row that c may be too large for can be better. Of
// equal ones the first is best, so rows that are all alike are left alone.
func (t *pieceTop) mayYieldTo(row int, c float64) bool {
	return !(c < t.c || c == t.c && row > t.row)
}

func newMaxDetFeatures[T matrix.Float](s *Space[T], name string, sigma2 float64) (Forward, error) {
	pool, train, _, err := wideFeatures(s, name)
	if err != nil {
		return nil, err
	}
	f := &maxDetFeatures[T]{space: s, pool: pool, train: train, cov: newCovariance(s, pool.Cols, sigma2),
		c: wideNorms(s, pool), done: make([]int32, pool.Rows), w: make([]float64, pool.Cols),
		tops: make([]pieceTop, linalg.Pieces(pool.Rows, readPiece)), name: name}
	f.largest = largestOf(f.c)
	f.best = f.largest
	f.accuracy = accuracy{start: roundingsEach * unitRoundoff * f.largest, each: roundingsEach * unitRoundoff * f.largest}
	f.products.New = func() any { return new([readPiece]float64) }
	return f, nil
}

// Next returns the row of largest variance, which is its score.
func (f *maxDetFeatures[T]) Next() (Choice, error) {
	best, err := f.top()
	if err == nil && f.accuracy.lost(best.c) {
		if err := f.renew(); err != nil {
			return Choice{}, err
		}
		best, err = f.top()
	}
	f.best = best.c
	return Choice{Row: best.row, Score: best.c, Tied: best.c == 0}, err
}

// top returns the row of largest variance. The rows of the largest bounds are
// brought up to date; then all those whose bound is above the best of these.
func (f *maxDetFeatures[T]) top() (pieceTop, error) {
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(piece, from, to int) { f.tops[piece] = f.largestBound(from, to) })
	best := f.settle(largestTops(f.tops))
	var scanned atomic.Int64
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(piece, from, to int) {
		bound := f.tops[piece]
		f.tops[piece] = best
		if bound.row < 0 || !best.mayYieldTo(from, bound.c) {
			return
		}
		scanned.Add(int64(to - from))
		for row := from; row < to; row++ {
			if f.tops[piece].mayYieldTo(row, f.c[row]) && f.space.limits.open[row] {
				f.catchUp(row)
				f.tops[piece].offer(row, f.c[row])
			}
		}
	})
	f.weigh(f.count())
	best = bestOf(f.tops)
	if math.IsNaN(best.c) {
		return best, &RowError{Set: "pool", Row: best.row, What: "score", Value: best.c}
	}
	return best, nil
}

// renew computes all variances from all selected rows, with more digits where
// float64 has too few.
func (f *maxDetFeatures[T]) renew() error {
	rows := rowsOf(f.pool, f.train, f.selected)
	if f.cov.observe(rows) && f.recompute(rows) {
		return nil
	}
	if f.cov.observePrecisely(rows) && f.recompute(rows) || f.space.Cancelled() {
		return nil
	}
	return &PrecisionError{Method: f.name, Largest: f.largest}
}

// recompute computes the variances from the base, and says whether they are
// accurate.
func (f *maxDetFeatures[T]) recompute(rows matrix.Dense[float64]) bool {
	f.cov.diag(f.c, f.pool)
	clear(f.done)
	f.eager = 0
	best, err := f.top()
	if err != nil || best.row < 0 {
		return err == nil
	}
	f.best = best.c
	off := 0.0
	for _, row := range sampleOf(best.row, f.space.limits.open) {
		off = max(off, math.Abs(f.c[row]-f.cov.variance(f.pool.Row(row), rows)))
	}
	if f.scales == nil {
		f.scales = largestNumbers(f.pool)
	}
	f.accuracy = accuracy{start: sampleMargin * off,
		each: 2 * roundingsEach * unitRoundoff * f.cov.reach(f.scales) * math.Sqrt(best.c)}
	return !f.accuracy.lost(best.c)
}

// largestNumbers returns the largest number of each feature.
func largestNumbers(rows matrix.Dense[float64]) []float64 {
	scales := make([]float64, rows.Cols)
	for i := range rows.Rows {
		for j, v := range rows.Row(i) {
			scales[j] = max(scales[j], math.Abs(v))
		}
	}
	return scales
}

// settle brings rows up to date and returns the best of them.
func (f *maxDetFeatures[T]) settle(list []pieceTop) pieceTop {
	f.space.team.OverPieces(len(list), 1, func(i, _, _ int) {
		f.catchUp(list[i].row)
		list[i].c = f.c[list[i].row]
	})
	return bestOf(list)
}

// count adds the visits since the last call to the work that is counted, and
// returns how many they were.
func (f *maxDetFeatures[T]) count() int64 {
	visits, computed := f.visits.Swap(0), f.computed.Swap(0)
	f.space.tally.Pairs(0, computed)
	tally.Rows[float64](f.space.tally, int(visits), f.pool.Cols)
	return visits
}

// weigh has the next steps done for every row if this one and the one before had
// to bring many up to date.
func (f *maxDetFeatures[T]) weigh(visited int64) {
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
		f.count()
		f.eager = eagerSteps
	}
	f.heavy = true
}

// largestBound returns the open row of largest c. Where the largest of all is not
// open, these are gone through one by one.
func (f *maxDetFeatures[T]) largestBound(from, to int) pieceTop {
	open := f.space.limits.open
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

// bestOf returns the best of a list; one that is NaN comes first.
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

// catchUp brings the variance of a row up to date.
func (f *maxDetFeatures[T]) catchUp(row int) {
	steps := len(f.cov.sign) - int(f.done[row])
	if steps == 0 {
		return
	}
	f.visits.Add(1)
	f.computed.Add(int64(steps))
	set, u := simd.For[float64](), f.products.Get().(*[readPiece]float64)
	for from := int(f.done[row]); from < len(f.cov.sign); from += len(u) {
		to := min(from+len(u), len(f.cov.sign))
		set.DotRows(u[:to-from], f.pool.Row(row), f.cov.changed(from, to), f.cov.dim)
		for _, v := range u[:to-from] {
			f.c[row] = max(f.c[row]-v*v, 0)
		}
	}
	f.products.Put(u)
	f.done[row] = int32(len(f.cov.sign))
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *maxDetFeatures[T]) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		return f.renew()
	}
	for _, x := range candidates {
		f.add(rowOf(f.pool, f.train, x))
		if x < f.pool.Rows {
			f.catchUp(x) // its bound would stand before those of the rows around it
		}
	}
	return nil
}

func (f *maxDetFeatures[T]) add(phi []float64) {
	f.cov.apply(f.w, phi)
	gamma2 := f.cov.sigma2 + max(simd.For[float64]().Dot(phi, f.w), 0)
	f.cov.update(f.w, -1, gamma2)
	f.accuracy.step(f.best, gamma2)
	f.space.tally.Pairs(int64(f.pool.Rows), 0)
	if f.space.plain || f.eager > 0 {
		f.catchUpAll()
		f.eager = max(0, f.eager-1)
	}
}

// catchUpAll does the latest step for every row, which has done all before.
func (f *maxDetFeatures[T]) catchUpAll() {
	set := simd.For[float64]()
	last := len(f.cov.sign)
	w := f.cov.changed(last-1, last)
	f.space.team.OverPieces(f.pool.Rows, readPiece, func(_, from, to int) {
		u := f.products.Get().(*[readPiece]float64)
		defer f.products.Put(u)
		part := f.pool.Slice(from, to)
		set.DotRows(u[:to-from], w, part.Data, part.Stride)
		for i, v := range u[:to-from] {
			f.c[from+i] = max(f.c[from+i]-v*v, 0)
			f.done[from+i] = int32(last)
		}
	})
	f.space.tally.Pairs(0, int64(f.pool.Rows))
	tally.Rows[float64](f.space.tally, f.pool.Rows, f.pool.Cols)
}

// rowOf returns the features of a candidate.
func rowOf(pool, train matrix.Dense[float64], candidate int) []float64 {
	if candidate < pool.Rows {
		return pool.Row(candidate)
	}
	return train.Row(candidate - pool.Rows)
}

// rowsOf copies the features of candidates.
func rowsOf(pool, train matrix.Dense[float64], candidates []int) matrix.Dense[float64] {
	rows := matrix.New[float64](len(candidates), pool.Cols)
	for i, x := range candidates {
		copy(rows.Row(i), rowOf(pool, train, x))
	}
	return rows
}
