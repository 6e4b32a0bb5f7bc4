package selection

// KMeansPP (paper, "k-means++ seeding" and the algorithm in the appendix):
//
//	P(NEXT = x) = d(x)² / Σ_{x' in X_rem} d(x')²,  d(x) = min_{c in X_sel} d_k(x, c),
//	              uniform as long as nothing is selected.
//
// For another target distribution: with weights, in proportion to w(x)·d(x)²;
// with target rows, a cluster is drawn by its size on the target rows, then a
// row of it in proportion to d(x)². If the target is the pool, these are the
// same as above.

// KMeansPP draws rows with probability proportional to their squared distance
// from the selected ones.
type KMeansPP struct{}

// Name returns "kmeanspp".
func (KMeansPP) Name() string { return "kmeanspp" }

func (KMeansPP) traits() traits { return traits{anyUnit: true} }

// Init starts with no distances.
func (KMeansPP) Init(s *Space) (Forward, error) {
	return &kmeansPP{newSampler(s)}, nil
}

type kmeansPP struct{ *sampler }

// Next draws a row; its score is the squared distance.
func (f *kmeansPP) Next() (Choice, error) {
	if f.empty() {
		return f.first()
	}
	row, err := f.draw()
	if err != nil {
		return Choice{}, err
	}
	dist, _ := f.rows.At(row)
	return Choice{Row: row, Score: f.space.rows.InUnits(dist, 2), Cluster: f.clusterOf(row)}, nil
}
