package space

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// rankNearest is centreSearch over ranks.
type rankNearest[T matrix.Float] struct {
	*rankRows[T]
	search centreSearch[T] // nil without rows
}

func (f *rankRows[T]) Nearest(size place.Size, lists bool) centreSearch[T] {
	s := &rankNearest[T]{rankRows: f}
	if f.part != nil {
		s.search = f.part.Nearest(size, lists)
	}
	return s
}

func (f *rankNearest[T]) Add(centres matrix.Dense[T], diag []T, first int) (err error) {
	if f.search != nil {
		err = f.search.Add(centres, diag, first)
	}
	return f.afterKernel(err)
}

func (f *rankNearest[T]) Farthest() (Found, error) {
	return f.bestRow(func() (Found, error) { return f.search.Farthest() })
}

func (f *rankNearest[T]) At(row int) (T, int) {
	type place struct {
		dist  T
		label int64
	}
	one := make([]place, 1)
	if at := f.local(row); at >= 0 {
		dist, label := f.search.At(at)
		one[0] = place{dist, int64(label)}
	}
	lend(f.Network, one, f.holder(row))
	return one[0].dist, int(one[0].label)
}

func (f *rankNearest[T]) Sum(sums []Sum, first int) {
	chain(f.Network, sums, func() {
		if f.search == nil {
			return
		}
		before := make([]Sum, len(sums))
		for i := range sums {
			before[i] = sums[i]
			sums[i].Top, sums[i].Far = -1, 0
		}
		f.search.Sum(sums, first)
		for i := range sums {
			sums[i].farther(before[i], f.own())
		}
	})
}

// farther keeps the farthest row: that of the ranks before, unless a row of this rank,
// which starts at first, is farther.
func (s *Sum) farther(before Sum, first int) {
	if s.Top >= 0 && (before.Top < 0 || s.Far > before.Far) {
		s.Top += first
	} else {
		s.Top, s.Far = before.Top, before.Far
	}
}

func (f *rankNearest[T]) Weigh(centres bool, scale []float64) []float64 {
	most := (slices.Max(f.rows()) + place.Block - 1) / place.Block
	own := make([]float64, most)
	if f.search != nil {
		copy(own, f.search.Weigh(centres, scale))
	}
	all := gathered(f.Network, own)
	var blocks []float64
	for i, rows := range f.rows() {
		blocks = append(blocks, all[i*most:][:(rows+place.Block-1)/place.Block]...)
	}
	return blocks
}

// Draw takes a number of the stream on every rank, so that all streams stay the same.
func (f *rankNearest[T]) Draw(block int, stream *rng.Stream) (int, error) {
	row, err := []int64{0}, error(nil)
	if at := f.local(block * place.Block); at >= 0 {
		var drawn int
		drawn, err = f.search.Draw(at/place.Block, stream)
		row[0] = int64(f.own() + drawn)
	} else {
		stream.Float64()
	}
	if err := f.agree(err); err != nil {
		return 0, err
	}
	lend(f.Network, row, f.holder(block*place.Block))
	return int(row[0]), f.failed
}

func (f *rankNearest[T]) Gains(sums []float64, rows matrix.Dense[T], diag []T) error {
	var err error
	chain(f.Network, sums, func() {
		if f.search != nil {
			err = f.search.Gains(sums, rows, diag)
		}
	})
	return f.afterKernel(err)
}

// afterKernel agrees on an error where kernels are computed; features have none.
func (f *rankRows[T]) afterKernel(err error) error {
	if f.space.kernel == nil {
		return f.failed
	}
	return f.agree(inPool(err, f.own()))
}
