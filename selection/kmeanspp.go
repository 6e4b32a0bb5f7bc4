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

import "github.com/nextbatch/nextbatch/matrix"

// KMeansPP draws rows with probability proportional to their squared distance
// from the selected ones.
type KMeansPP[T matrix.Float] struct{}

// Name returns "kmeanspp".
func (KMeansPP[T]) Name() string { return "kmeanspp" }

// Init starts with no distances.
func (KMeansPP[T]) Init(s *Space[T]) (Forward, error) {
	return &kmeansPP[T]{newSampler(s)}, nil
}

func (KMeansPP[T]) scaleFree() {}

type kmeansPP[T matrix.Float] struct{ *sampler[T] }

// Next draws a row; its score is the squared distance.
func (f *kmeansPP[T]) Next() (Choice, error) {
	if f.empty() {
		return f.first()
	}
	row, err := f.draw()
	if err != nil {
		return Choice{}, err
	}
	dist, _ := f.pool.At(row)
	return Choice{Row: row, Score: f.space.inUnits(float64(dist), 2), Cluster: f.clusterOf(row)}, nil
}
