package selection

// Distances to selected rows (paper, algorithms of MaxDist, KMeansPP and LCMD), by
// package nearest where rows are features, otherwise by the kernel:
//
//	d̃[y] = k(x, x) + k(y, y) − 2k(x, y)

import (
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
)

// nearestRows keeps, for each row of a set, the nearest selected row.
type nearestRows[T matrix.Float] struct {
	*nearest.Search[T]
	space *Space[T]
	of    *set[T]
}

func newNearestRows[T matrix.Float](s *Space[T], of *set[T]) *nearestRows[T] {
	return &nearestRows[T]{Search: nearest.New(s.env(), of.rows, of.diag, s.shortener()), space: s, of: of}
}

func (s *Space[T]) env() nearest.Env {
	return nearest.Env{Team: s.team, Tally: s.tally, Cancelled: s.Cancelled}
}

// newShortener returns what makes short rows for all sets, nil if they do not pay, or if
// the caller wants none.
func (s *Space[T]) newShortener() *nearest.Shortener[T] {
	if s.plain || s.kernel != nil {
		return nil
	}
	centres := s.batch
	if s.mode == TP {
		centres += s.TrainSize()
	}
	return nearest.NewShortener(s.env(), s.pool.rows, T(s.largestNorm()), s.batch, centres)
}

// add counts candidates as selected; first is the label of the first of them.
func (f *nearestRows[T]) add(candidates []int, first int) error {
	if f.space.kernel != nil && len(f.Dist) > 0 {
		return f.addKernel(candidates, first)
	}
	f.Add(f.space.gather(candidates), first)
	return nil
}

// crossRows is how many rows of a kernel matrix are computed at a time.
const crossRows = 64

// addKernel computes the kernel with many rows at a time.
func (f *nearestRows[T]) addKernel(candidates []int, first int) error {
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
			f.Lower(part.Row(i), int32(first+from+i))
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
