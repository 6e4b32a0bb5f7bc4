package selection

// MaxDist (paper, "Greedy distance maximization" and the algorithm in the
// appendix):
//
//	NEXT = argmax_{x in X_rem} min_{x' in X_sel} d_k(x, x'),
//	       argmax_{x in X_rem} k(x, x) as long as nothing is selected.

// MaxDist selects the row that is farthest from all selected ones.
type MaxDist struct{}

// Name returns "maxdist".
func (MaxDist) Name() string { return "maxdist" }

func (MaxDist) traits() traits {
	return traits{anyUnit: true, scored: true, replayable: true}
}

// Init starts with no distances.
func (m MaxDist) Init(s *Space) (Forward, error) {
	if err := s.refuseTarget(m.Name()); err != nil {
		return nil, err
	}
	return &maxDist{newClusters(s, SquaredDistance, false)}, nil
}

type maxDist struct{ *clusters }

// Next returns the farthest row; its score is the squared distance.
func (f *maxDist) Next() (Choice, error) {
	if f.empty() {
		return f.firstByDiag()
	}
	c, err := f.space.choose(f.rows.Farthest())
	if err != nil {
		return c, err
	}
	c.Cluster = f.clusterOf(c.Row)
	return c, nil
}
