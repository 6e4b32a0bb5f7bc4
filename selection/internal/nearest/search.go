// Package nearest finds the nearest centre of each row of a set, exactly, while
// centres are added (paper, algorithms of MaxDist, KMeansPP and LCMD):
//
//	ADD(x):  d̃[y] = ‖x − y‖²
//	         v[y] = x where d̃[y] < d[y]
//	         d    = min(d, d̃)
//
// The distance is Σ (x_i − y_i)², which loses nothing to cancellation. Bounds rule
// out most pairs of rows and centres (short.go, block.go); the survivors are computed as
// the plain algorithm does, so results are equal to the last bit.
package nearest

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// Env is what a search runs in. Cancelled is checked once per block of work; the
// results of a cancelled search are of no use.
type Env struct {
	Team      *linalg.Team
	Tally     *tally.Counter
	Cancelled func() bool
	InFile    bool // the rows are in a mapped file
}

// Search keeps, for each row of a set, the nearest centre. One goroutine calls its
// methods. Dist and Label belong to the search; others only read them.
type Search[T matrix.Float] struct {
	Env
	Dist  []T     // squared distance; infinite as long as there is no centre
	Label []int32 // which centre, in the order in which they were added

	rows  matrix.Dense[T]
	norms []T
	fresh []T             // squared distances from the centre being added
	short *shortSearch[T] // nil: short rows do not pay
}

// New returns a search without centres. norms are the squared norms of the rows. A
// shortener makes it faster; it may be nil.
func New[T matrix.Float](env Env, rows matrix.Dense[T], norms []T, short *Shortener[T]) *Search[T] {
	n := rows.Rows
	f := &Search[T]{Env: env, Dist: matrix.Alloc[T](n), Label: make([]int32, n), rows: rows, norms: norms,
		fresh: matrix.Alloc[T](n)}
	for i := range f.Dist {
		f.Dist[i] = T(math.Inf(1))
	}
	if short != nil {
		f.short = newShortSearch(f, short)
	}
	return f
}

// manyCentres is the number of centres from which a matrix product pays.
const manyCentres = 16

// scanPiece is the number of rows of a piece where each row takes little work.
const scanPiece = 1 << 14

// Add adds centres; first is the label of the first of them.
func (f *Search[T]) Add(centres matrix.Dense[T], first int) {
	switch {
	case len(f.Dist) == 0:
	case f.short != nil:
		f.short.add(centres, first)
	case centres.Rows >= manyCentres:
		f.addMany(centres, first)
	default:
		for i := range centres.Rows {
			f.addOne(centres.Row(i), int32(first+i))
		}
	}
}

// addOne adds one centre.
func (f *Search[T]) addOne(centre []T, label int32) {
	linalg.SqDistTo(f.Team, f.fresh, f.rows, centre)
	f.Lower(f.fresh, label)
	f.Tally.Pairs(int64(len(f.Dist)), int64(len(f.Dist)))
	tally.Rows[T](f.Tally, f.rows.Rows, f.rows.Cols)
}

// Lower adds a centre by the squared distances of all rows from it.
func (f *Search[T]) Lower(dist []T, label int32) {
	set := simd.For[T]()
	f.Team.OverPieces(len(dist), scanPiece, func(_, from, to int) {
		set.MinLabel(f.Dist[from:to], f.Label[from:to], dist[from:to], label)
	})
}
