package selection

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// rankNearest is centreSearch over ranks.
type rankNearest[T matrix.Float] struct {
	*rankRows[T]
	search centreSearch[T] // nil without rows
}

func (f *rankRows[T]) Nearest(size Size, lists bool) centreSearch[T] {
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

func (f *rankNearest[T]) Farthest() (found, error) {
	return f.bestRow(func() (found, error) { return f.search.Farthest() })
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
	lend(f.network, one, f.holder(row))
	return one[0].dist, int(one[0].label)
}

func (f *rankNearest[T]) Sum(sums []clusterSum, first int) {
	chain(f.network, sums, func() {
		if f.search == nil {
			return
		}
		before := make([]clusterSum, len(sums))
		for i := range sums {
			before[i] = sums[i]
			sums[i].top, sums[i].far = -1, 0
		}
		f.search.Sum(sums, first)
		for i := range sums {
			sums[i].farther(before[i], f.own())
		}
	})
}

// farther keeps the farthest row: that of the ranks before, unless a row of this rank,
// which starts at first, is farther.
func (s *clusterSum) farther(before clusterSum, first int) {
	if s.top >= 0 && (before.top < 0 || s.far > before.far) {
		s.top += first
	} else {
		s.top, s.far = before.top, before.far
	}
}

func (f *rankNearest[T]) Weigh(centres bool, scale []float64) []float64 {
	most := (slices.Max(f.rows()) + Block - 1) / Block
	own := make([]float64, most)
	if f.search != nil {
		copy(own, f.search.Weigh(centres, scale))
	}
	all := gathered(f.network, own)
	var blocks []float64
	for i, rows := range f.rows() {
		blocks = append(blocks, all[i*most:][:(rows+Block-1)/Block]...)
	}
	return blocks
}

// Draw takes a number of the stream on every rank, so that all streams stay the same.
func (f *rankNearest[T]) Draw(block int, stream *rng.Stream) (int, error) {
	row, err := []int64{0}, error(nil)
	if at := f.local(block * Block); at >= 0 {
		var drawn int
		drawn, err = f.search.Draw(at/Block, stream)
		row[0] = int64(f.own() + drawn)
	} else {
		stream.Float64()
	}
	if err := f.agree(err); err != nil {
		return 0, err
	}
	lend(f.network, row, f.holder(block*Block))
	return int(row[0]), f.failed
}

func (f *rankNearest[T]) Gains(sums []float64, rows matrix.Dense[T], diag []T) error {
	var err error
	chain(f.network, sums, func() {
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
