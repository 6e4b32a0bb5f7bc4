package selection

// MaxDist (paper, "Greedy distance maximization" and the algorithm in the
// appendix):
//
//	NEXT = argmax_{x in X_rem} min_{x' in X_sel} d_k(x, x'),
//	       argmax_{x in X_rem} k(x, x) as long as nothing is selected.

import "github.com/nextbatch/nextbatch/matrix"

// MaxDist selects the row that is farthest from all selected ones.
type MaxDist[T matrix.Float] struct{}

// Name returns "maxdist".
func (MaxDist[T]) Name() string { return "maxdist" }

// Init starts with no distances.
func (m MaxDist[T]) Init(s *Space[T]) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	return &maxDist[T]{newClusters(s, SquaredDistance, false)}, nil
}

func (MaxDist[T]) scaleFree() {}

type maxDist[T matrix.Float] struct{ *clusters[T] }

// Next returns the farthest row; its score is the squared distance.
func (f *maxDist[T]) Next() (Choice, error) {
	if f.empty() {
		return f.firstByDiag()
	}
	c, err := f.space.choose(f.pool.Farthest())
	if err != nil {
		return c, err
	}
	c.Cluster = f.clusterOf(c.Row)
	return c, nil
}
