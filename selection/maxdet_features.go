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

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/simd"
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
	fresh       []pieceTop // of each piece, the best row that is up to date
	heavy       bool       // the latest step that passed over rows had to bring many up to date
	eager       int        // steps that are to be done for every row, all of which are up to date
}

const (
	// manyVisited is the share of rows, one in so many, from which on it is
	// faster to do a step for every row, one after the other.
	manyVisited = 2
	eagerSteps  = 16 // that are done so before rows are passed over again
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
	s.bytes += int64(4 * pool.Rows)
	f := &maxDetFeatures[T]{space: s, pool: pool, train: train, cov: newCovariance(pool.Cols, sigma2, s.Note),
		c: wideNorms(s, pool), done: make([]int32, pool.Rows), w: make([]float64, pool.Cols),
		fresh: make([]pieceTop, pieces(pool.Rows, readPiece))}
	f.products.New = func() any { return new([readPiece]float64) }
	return f, nil
}

// Next returns the row of largest variance, which is its score. In each piece the
// row of largest bound is brought up to date; then all those whose bound is
// above the best of these.
func (f *maxDetFeatures[T]) Next() (Choice, error) {
	var visited, computed atomic.Int64
	catchUp := func(row int) {
		if steps := f.catchUp(row); steps > 0 {
			visited.Add(1)
			computed.Add(steps)
		}
	}
	overPieces(f.pool.Rows, readPiece, func(piece, from, to int) {
		f.fresh[piece] = pieceTop{row: -1}
		if row := f.largestBound(from, to); row >= 0 {
			catchUp(row)
			f.fresh[piece].offer(row, f.c[row])
		}
	})
	best := f.best()
	overPieces(f.pool.Rows, readPiece, func(piece, from, to int) {
		top := best
		for row := from; row < to; row++ {
			if top.mayYieldTo(row, f.c[row]) && f.space.limits.open[row] {
				catchUp(row)
				top.offer(row, f.c[row])
			}
		}
		f.fresh[piece] = top
	})
	f.space.countPairs(0, computed.Load())
	countRead[float64](&f.space.work, int(visited.Load()), f.pool.Cols, 0)
	f.space.work.Flops += 2 * float64(computed.Load()) * float64(f.pool.Cols)
	f.weigh(visited.Load())
	best = f.best()
	if math.IsNaN(best.c) {
		return Choice{}, &RowError{Set: "pool", Row: best.row, What: "score", Value: best.c}
	}
	return Choice{Row: best.row, Score: best.c}, nil
}

// weigh has the next steps done for every row if this one and the one before had
// to bring many up to date.
func (f *maxDetFeatures[T]) weigh(visited int64) {
	if visited <= int64(f.pool.Rows/manyVisited) {
		f.heavy = f.eager > 0 && f.heavy
		return
	}
	if f.heavy {
		overPieces(f.pool.Rows, readPiece, func(_, from, to int) {
			for row := from; row < to; row++ {
				f.catchUp(row)
			}
		})
		f.eager = eagerSteps
	}
	f.heavy = true
}

// largestBound returns the open row of largest c, -1 if none is open.
func (f *maxDetFeatures[T]) largestBound(from, to int) int {
	top := pieceTop{row: -1}
	for row := from; row < to; row++ {
		if f.c[row] > top.c || top.row < 0 {
			if f.space.limits.open[row] {
				top = pieceTop{row, f.c[row]}
			}
		}
	}
	return top.row
}

// best returns the best of all pieces; one that is NaN comes first.
func (f *maxDetFeatures[T]) best() pieceTop {
	best := pieceTop{row: -1}
	for _, t := range f.fresh {
		if t.row >= 0 && math.IsNaN(t.c) {
			return t
		}
		if t.row >= 0 {
			best.offer(t.row, t.c)
		}
	}
	return best
}

// catchUp brings the variance of a row up to date and returns how many steps
// it lacked.
func (f *maxDetFeatures[T]) catchUp(row int) int64 {
	steps := len(f.cov.sign) - int(f.done[row])
	if steps == 0 {
		return 0
	}
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
	return int64(steps)
}

// Add conditions on many rows as matrix products, on few one by one.
func (f *maxDetFeatures[T]) Add(candidates []int) error {
	f.selected = append(f.selected, candidates...)
	if len(candidates) >= manyRows {
		if err := f.cov.observe(rowsOf(f.pool, f.train, f.selected)); err != nil {
			return err
		}
		f.cov.diag(f.c, f.pool)
		clear(f.done)
		f.eager = 0
		return nil
	}
	for _, x := range candidates {
		f.add(rowOf(f.pool, f.train, x))
	}
	return nil
}

func (f *maxDetFeatures[T]) add(phi []float64) {
	f.cov.apply(f.w, phi)
	gamma2 := f.cov.sigma2 + max(simd.For[float64]().Dot(phi, f.w), 0)
	f.cov.update(f.w, -1, gamma2)
	f.space.countPairs(int64(f.pool.Rows), 0)
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
	overPieces(f.pool.Rows, readPiece, func(_, from, to int) {
		u := f.products.Get().(*[readPiece]float64)
		defer f.products.Put(u)
		part := f.pool.Slice(from, to)
		set.DotRows(u[:to-from], w, part.Data, part.Stride)
		for i, v := range u[:to-from] {
			f.c[from+i] = max(f.c[from+i]-v*v, 0)
			f.done[from+i] = int32(last)
		}
	})
	f.space.countPairs(0, int64(f.pool.Rows))
	countRead[float64](&f.space.work, f.pool.Rows, f.pool.Cols, 2)
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
