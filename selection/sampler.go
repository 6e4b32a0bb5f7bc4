package selection

import (
	"errors"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// sampler draws open rows in proportion to their squared distance from the
// selected ones.
type sampler[T matrix.Float] struct {
	*clusters[T]
	stream *rng.Stream
	blocks []float64 // sums of weights over blocks of rows, for the present draws
}

func newSampler[T matrix.Float](s *Space[T]) *sampler[T] {
	return &sampler[T]{clusters: newClusters(s, SquaredDistance, false), stream: s.stream("k-means++")}
}

// first draws when nothing is selected: uniformly, or by the target weights.
func (f *sampler[T]) first() (Choice, error) {
	f.blocks = f.pool.Weigh(false, nil)
	row, err := f.pick()
	return Choice{Row: row}, err
}

// draw draws one row.
func (f *sampler[T]) draw() (int, error) {
	if device, ok := f.pool.(*deviceNearest[T]); ok && f.target == nil {
		if row, err := device.draw(f.stream); err != nil || row >= 0 {
			return row, err
		}
	}
	f.weigh()
	return f.pick()
}

// weigh computes weights that are proportional to the probabilities of the rows.
func (f *sampler[T]) weigh() { f.blocks = f.pool.Weigh(true, f.clusterScale()) }

// clusterScale returns what to multiply the distances in each cluster by, so
// that a cluster's share is its size on the target rows; nil without those.
// Clusters with no open row at a positive distance have no share.
func (f *sampler[T]) clusterScale() []float64 {
	if f.target == nil {
		return nil
	}
	scale := make([]float64, len(f.centres))
	inPool := sumOf(f.pool, 0, len(scale))
	for i, s := range sumOf(f.target, 0, len(scale)) {
		scale[i] = s.size
		if inPool[i].open > 0 {
			scale[i] /= inPool[i].open
		}
	}
	return scale
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
	return f.pool.Draw(block, f.stream)
}
