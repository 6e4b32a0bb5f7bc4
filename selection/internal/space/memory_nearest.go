package space

// The nearest centre of each row in memory (paper, algorithms of MaxDist, KMeansPP and
// LCMD), by package nearest where rows are features, otherwise by the kernel:
//
//	d̃[y] = k(x, x) + k(y, y) − 2k(x, y)

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
)

type memoryNearest[T matrix.Float] struct {
	*memoryRows[T]
	search  *nearest.Search[T]
	size    place.Size
	lists   bool
	members [][]int32       // of each cluster, in ascending order, if there are lists; some rows have left
	values  matrix.Dense[T] // of the kernel
	draws   *drawWeights
	boxes   []*nearest.Boxes[T] // of each block, for Gains
}

func (m *memoryRows[T]) Nearest(size place.Size, lists bool) centreSearch[T] {
	return &memoryNearest[T]{memoryRows: m, size: size, lists: lists,
		search: nearest.New(m.space.env(m.of), m.of.rows, m.of.diag, m.space.shortener())}
}

// env returns what a search of a set runs in.
func (s *space[T]) env(of *set[T]) nearest.Env {
	return nearest.Env{Team: s.team, Tally: s.tally, Cancelled: s.Cancelled, InFile: of.inFile}
}

// newShortener returns the shortener for all sets, or nil if short rows do not pay, or
// in the plain version.
func (s *space[T]) newShortener() *nearest.Shortener[T] {
	if s.Plain || s.kernel != nil {
		return nil
	}
	centres := s.Batch + s.Pending
	if s.TrainSelected {
		centres += s.TrainSize()
	}
	return nearest.NewShortener(s.env(&s.pool), s.pool.rows, T(s.largestNorm()), s.Batch, centres)
}

func (f *memoryNearest[T]) Add(centres matrix.Dense[T], diag []T, first int) error {
	if f.space.kernel == nil {
		f.search.Add(centres, first)
	} else if err := f.eachKernelRow(centres, diag, func(i int,
		dist []T) {
		f.search.Lower(dist, int32(first+i))
	}); err != nil {
		return err
	}
	if f.lists {
		f.join(first, centres.Rows)
	}
	return nil
}

// crossRows is the number of rows of a kernel matrix computed at a time.
const crossRows = 64

// eachKernelRow visits the squared distances of all rows from each of others, by the
// kernel.
func (f *memoryNearest[T]) eachKernelRow(others matrix.Dense[T], diag []T, visit func(i int, dist []T)) error {
	for from := 0; from < others.Rows && len(f.of.diag) > 0 && !f.space.Cancelled(); from += crossRows {
		to := min(from+crossRows, others.Rows)
		if f.values.Rows < to-from {
			f.values = matrix.New[T](to-from, f.of.rows.Rows)
		}
		part := f.values.Slice(0, to-from)
		if err := f.space.kernel.Cross(f.space.ctx, part, others.Slice(from, to), f.of.rows); err != nil {
			return inSet(err, f.of.name)
		}
		for i := range part.Rows {
			if err := f.of.checkValues(part.Row(i)); err != nil {
				return err
			}
			toSqDist(part.Row(i), f.of.diag, diag[from+i])
			visit(from+i, part.Row(i))
		}
	}
	return nil
}

func (f *memoryNearest[T]) Farthest() (Found, error) { return f.best(f.search.Dist) }

func (f *memoryNearest[T]) At(row int) (dist T, label int) {
	return f.search.Dist[row], int(f.search.Label[row])
}

// join lists the rows of new clusters.
func (f *memoryNearest[T]) join(first, clusters int) {
	label := f.search.Label
	f.members = append(f.members, make([][]int32, clusters)...)
	lists := make([][]int32, linalg.Pieces(len(label), scanPiece))
	f.space.team.OverPieces(len(label), scanPiece, func(piece, from, to int) {
		for row := from; row < to; row++ {
			if int(label[row]) >= first {
				lists[piece] = append(lists[piece], int32(row))
			}
		}
	})
	for _, rows := range lists {
		for _, row := range rows {
			f.members[label[row]] = append(f.members[label[row]], row)
		}
	}
}

// Sum goes through the lists, or through all rows.
func (f *memoryNearest[T]) Sum(sums []Sum, first int) {
	if f.lists {
		for i := range sums {
			f.sumMembers(&sums[i], first+i)
		}
		return
	}
	sumBlocks(f.space.team, len(f.search.Dist), func(from, to int) []Sum {
		part := noSums(len(sums))
		for i, label := range f.search.Label[from:to] {
			if at := int(label) - first; uint(at) < uint(len(part)) {
				f.count(&part[at], from+i)
			}
		}
		return part
	}, func(part []Sum) {
		for i := range sums {
			sums[i].merge(part[i])
		}
	})
}

// sumMembers adds one cluster to sum, and drops the rows that have left it from its
// list.
func (f *memoryNearest[T]) sumMembers(sum *Sum, label int) {
	kept, block, end := f.members[label][:0], NoRows, 0
	for _, row := range f.members[label] {
		if int(f.search.Label[row]) != label {
			continue
		}
		if int(row) >= end {
			sum.merge(block)
			block, end = NoRows, (int(row)/sumBlock+1)*sumBlock
		}
		kept = append(kept, row)
		f.count(&block, int(row))
	}
	sum.merge(block)
	f.members[label] = kept
}

// count adds a row to its cluster, unless it is selected.
func (f *memoryNearest[T]) count(s *Sum, row int) {
	open := f.open[row]
	if !open && f.selected[row] {
		return
	}
	d := float64(f.search.Dist[row])
	s.Rows++
	s.Size += f.weight(row) * f.size.Of(d)
	if !open {
		return
	}
	s.Open += d
	if f.price != nil {
		d /= f.price[row]
	}
	if s.Top < 0 || d > s.Far {
		s.Top, s.Far = row, d
	}
}

// drawWeights are the weights of rows for draws.
type drawWeights struct {
	weights []float64
	blocks  []float64 // their sums over blocks of rows
	sums    []float64 // their running sums in each block
	summed  []bool    // blocks whose running sums have been computed
}

func (f *memoryNearest[T]) Weigh(centres bool, scale []float64) []float64 {
	if n := len(f.open); f.draws == nil {
		f.draws = &drawWeights{matrix.Alloc[float64](n), make([]float64, linalg.Pieces(n, sumBlock)),
			matrix.Alloc[float64](n), make([]bool, linalg.Pieces(n, sumBlock))}
	}
	clear(f.draws.summed)
	f.space.team.OverPieces(len(f.open), sumBlock, func(block, from, to int) {
		weights := f.draws.weights[from:to]
		if centres && scale == nil && f.weights == nil {
			f.draws.blocks[block] = f.weighByDistance(weights, from)
		} else {
			f.draws.blocks[block] = f.weigh(weights, from, centres, scale)
		}
	})
	return f.draws.blocks
}

// weighByDistance is weigh for what every step does without a target.
func (f *memoryNearest[T]) weighByDistance(weights []float64, from int) float64 {
	dist, open := f.search.Dist[from:][:len(weights)], f.open[from:][:len(weights)]
	for i, d := range dist {
		weights[i] = 0
		if open[i] {
			weights[i] = float64(d)
		}
	}
	return simd.For[float64]().Sum(weights)
}

// weigh sets the weights of rows of a block and returns their sum.
func (f *memoryNearest[T]) weigh(weights []float64, from int, centres bool, scale []float64) (sum float64) {
	for i := range weights {
		weights[i] = 0
		row := from + i
		if !f.open[row] {
			continue
		}
		weights[i] = f.weight(row)
		if centres {
			weights[i] *= float64(f.search.Dist[row])
		}
		if scale != nil {
			weights[i] *= scale[f.search.Label[row]]
		}
		sum += weights[i]
	}
	return sum
}

func (f *memoryNearest[T]) Draw(block int, stream *rng.Stream) (int, error) {
	d, from := f.draws, block*sumBlock
	to := min(from+sumBlock, len(d.weights))
	if !d.summed[block] {
		if err := rng.Cumulate(d.sums[from:to], d.weights[from:to]); err != nil {
			return 0, err
		}
		d.summed[block] = true
	}
	return from + stream.Cumulated(d.sums[from:to]), nil
}
