package selection

// Distances to selected rows (paper, algorithms of MaxDist, KMeansPP and LCMD):
//
//	ADD(x):  d̃[y] = k(x, x) + k(y, y) − 2k(x, y)
//	         v[y] = x where d̃[y] < d[y]
//	         d    = min(d, d̃)
//
// For features the distance is Σ (x_i − y_i)², which loses nothing to
// cancellation.

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/internal/tally"
	"github.com/nextbatch/nextbatch/matrix"
)

// nearest keeps, for each row of a set, the nearest selected row.
type nearest[T matrix.Float] struct {
	space *Space[T]
	of    *set[T]
	dist  []T     // squared distance; infinite as long as nothing is selected
	label []int32 // which selected row, in the order of selection
	fresh []T     // squared distances from the row being added

	short *shortNearest[T] // nil: short rows do not pay
}

func newNearest[T matrix.Float](s *Space[T], of *set[T]) *nearest[T] {
	n := of.rows.Rows
	f := &nearest[T]{space: s, of: of, dist: matrix.Alloc[T](n), label: make([]int32, n), fresh: matrix.Alloc[T](n)}
	for i := range f.dist {
		f.dist[i] = T(math.Inf(1))
	}
	f.short = newShortNearest(f)
	return f
}

// manyRows is from how many rows on a matrix product pays.
const manyRows = 16

// add counts candidates as selected; first is the label of the first of them.
func (f *nearest[T]) add(candidates []int, first int) error {
	if len(f.dist) == 0 {
		return nil
	}
	if f.short != nil {
		f.short.add(candidates, first)
		return nil
	}
	if len(candidates) >= manyRows {
		if f.space.kernel == nil {
			f.addFeatures(f.space.gather(candidates), first)
			return nil
		}
		return f.addKernel(candidates, first)
	}
	for i, x := range candidates {
		if err := f.addOne(x, int32(first+i)); err != nil {
			return err
		}
	}
	return nil
}

// addOne counts one candidate as selected.
func (f *nearest[T]) addOne(candidate int, label int32) error {
	if err := f.space.sqDist(f.fresh, f.of, candidate); err != nil {
		return err
	}
	f.lower(f.fresh, label)
	f.space.tally.Pairs(int64(len(f.dist)), int64(len(f.dist)))
	tally.Rows[T](f.space.tally, len(f.dist), f.of.rows.Cols)
	return nil
}

// lower takes distances from one row into account.
func (f *nearest[T]) lower(fresh []T, label int32) {
	set := simd.For[T]()
	overPieces(f.space.team, len(fresh), scanPiece, func(_, from, to int) {
		set.MinLabel(f.dist[from:to], f.label[from:to], fresh[from:to], label)
	})
}

// crossRows is how many rows of a kernel matrix are computed at a time.
const crossRows = 64

// addKernel computes the kernel with many rows at a time.
func (f *nearest[T]) addKernel(candidates []int, first int) error {
	rows, diag := f.space.gather(candidates), f.space.diagOf(candidates)
	values := matrix.New[T](min(crossRows, rows.Rows), f.of.rows.Rows)
	for from := 0; from < rows.Rows && !f.space.Cancelled(); from += crossRows {
		to := min(from+crossRows, rows.Rows)
		part := values.Slice(0, to-from)
		if err := f.space.kernel.Cross(f.space.ctx, part, rows.Slice(from, to), f.of.rows); err != nil {
			return inSet(err, f.of.name)
		}
		for i := range part.Rows {
			if err := f.of.checkValues(part.Row(i)); err != nil {
				return err
			}
			toSqDist(part.Row(i), f.of.diag, diag[from+i])
			f.lower(part.Row(i), int32(first+from+i))
		}
	}
	return nil
}

// diagOf returns k(x, x) of candidates.
func (s *Space[T]) diagOf(candidates []int) []T {
	diag := make([]T, len(candidates))
	for i, x := range candidates {
		_, diag[i] = s.row(x)
	}
	return diag
}
