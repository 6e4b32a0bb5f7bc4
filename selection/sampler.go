package selection

import (
	"errors"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// sampler draws open rows in proportion to their squared distance from the
// selected ones.
type sampler[T matrix.Float] struct {
	*clusters[T]
	stream  *rng.Stream
	weights []float64 // of all rows, for the draw at hand
	blocks  []float64 // their sums over blocks of rows
	sums    []float64 // their running sums in each block
	summed  []bool    // blocks whose running sums are there
}

func newSampler[T matrix.Float](s *Space[T]) *sampler[T] {
	n := s.PoolSize()
	return &sampler[T]{clusters: newClusters(s, SquaredDistance), stream: s.Stream("k-means++"),
		weights: matrix.Alloc[float64](n), blocks: make([]float64, linalg.Pieces(n, sumBlock)),
		sums: matrix.Alloc[float64](n), summed: make([]bool, linalg.Pieces(n, sumBlock))}
}

// first draws when nothing is selected: uniformly, or by the target weights.
func (f *sampler[T]) first() (Choice, error) {
	f.weigh(func(row int) float64 { return f.weight(row) })
	row, err := f.pick()
	return Choice{Row: row}, err
}

// draw draws one row.
func (f *sampler[T]) draw() (int, error) {
	f.weighByDistance()
	return f.pick()
}

// weighByDistance computes the probabilities of the rows, up to their sum.
func (f *sampler[T]) weighByDistance() {
	scale := f.clusterScale()
	if scale == nil && f.space.weights == nil {
		f.weighByDistanceAlone()
		return
	}
	f.weigh(func(row int) float64 {
		w := f.weight(row) * float64(f.pool.Dist[row])
		if scale != nil {
			w *= scale[f.pool.Label[row]]
		}
		return w
	})
}

// weighByDistanceAlone is weigh without calls, for what every step does.
func (f *sampler[T]) weighByDistanceAlone() {
	open := f.space.limits.open
	clear(f.summed)
	f.space.team.OverPieces(len(f.weights), sumBlock, func(block, from, to int) {
		dist, weights, open := f.pool.Dist[from:to], f.weights[from:to], open[from:to]
		for i, d := range dist {
			weights[i] = 0
			if open[i] {
				weights[i] = float64(d)
			}
		}
		f.blocks[block] = simd.For[float64]().Sum(weights)
	})
}

// clusterScale returns what to multiply the distances in each cluster by, so
// that a cluster's share is its size on the target rows; nil without those.
// Clusters with no open row at a positive distance have no share.
func (f *sampler[T]) clusterScale() []float64 {
	if f.target == nil {
		return nil
	}
	open, scale := f.space.limits.open, make([]float64, len(f.centres))
	for c, s := range f.sumTarget(SquaredDistance) {
		scale[c] = s.size
	}
	inPool := f.sumClusters(len(open), func(sums []clusterSum, row int) {
		if open[row] {
			sums[f.pool.Label[row]].size += float64(f.pool.Dist[row])
		}
	})
	for c, s := range inPool {
		if s.size > 0 {
			scale[c] /= s.size
		}
	}
	return scale
}

// weigh sets the weight of each open row; the others have none.
func (f *sampler[T]) weigh(weight func(row int) float64) {
	open := f.space.limits.open
	clear(f.summed)
	f.space.team.OverPieces(len(f.weights), sumBlock, func(block, from, to int) {
		sum := 0.0
		for row := from; row < to; row++ {
			f.weights[row] = 0
			if open[row] {
				f.weights[row] = weight(row)
				sum += f.weights[row]
			}
		}
		f.blocks[block] = sum
	})
}

// pick draws a block by its sum, then a row of the block.
func (f *sampler[T]) pick() (int, error) {
	block, err := f.stream.Weighted(f.blocks)
	if errors.Is(err, rng.ErrNoWeight) {
		return 0, &Stuck{Reason: "every row that may be picked lies on a selected one, or has no weight"}
	}
	if err != nil {
		return 0, err
	}
	from := block * sumBlock
	to := min(from+sumBlock, len(f.weights))
	if !f.summed[block] {
		if err := rng.Cumulate(f.sums[from:to], f.weights[from:to]); err != nil {
			return 0, err
		}
		f.summed[block] = true
	}
	return from + f.stream.Cumulated(f.sums[from:to]), nil
}
