package selection

import (
	"errors"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// sampler draws open rows in proportion to their squared distance from the
// selected ones.
type sampler struct {
	*clusters
	stream *rng.Stream
	blocks []float64 // sums of weights over blocks of rows, for the present draws
}

func newSampler(s *Space) *sampler {
	return &sampler{clusters: newClusters(s, SquaredDistance, false), stream: s.stream("k-means++")}
}

// first draws when nothing is selected: uniformly, or by the target weights.
func (f *sampler) first() (Choice, error) {
	f.blocks = f.rows.Weigh(false, nil)
	row, err := f.pick()
	return Choice{Row: row}, err
}

// draw draws one row.
func (f *sampler) draw() (int, error) {
	if drawer, ok := f.rows.(space.RowDrawer); ok {
		if row, err := drawer.DrawRow(f.stream); err != nil || row >= 0 {
			return row, err
		}
	}
	f.weigh()
	return f.pick()
}

// weigh computes weights that are proportional to the probabilities of the rows.
func (f *sampler) weigh() { f.blocks = f.rows.Weigh(true, f.clusterScale()) }

// clusterScale returns what to multiply the distances in each cluster by, so
// that a cluster's share is its size on the target rows; nil without those.
// Clusters with no open row at a positive distance have no share.
func (f *sampler) clusterScale() []float64 {
	if !f.rows.OtherTarget() {
		return nil
	}
	scale := make([]float64, len(f.centres))
	inPool := f.rows.Sums(0, len(scale))
	for i, s := range f.rows.TargetSums(0, len(scale)) {
		scale[i] = s.Size
		if inPool[i].Open > 0 {
			scale[i] /= inPool[i].Open
		}
	}
	return scale
}

// pick draws a block by its sum, then a row of the block.
func (f *sampler) pick() (int, error) {
	block, err := f.stream.Weighted(f.blocks)
	if errors.Is(err, rng.ErrNoWeight) {
		return 0, &Stuck{Reason: "every row that may be picked lies on a selected one, or has no weight"}
	}
	if err != nil {
		return 0, err
	}
	return f.rows.Draw(block, f.stream)
}
