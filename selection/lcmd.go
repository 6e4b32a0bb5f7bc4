package selection

// LCMD, largest cluster maximum distance (paper, section of that name and the
// algorithm in the appendix):
//
//	c(x)  = argmin_{c in X_sel} d_k(x, c)              the earliest of several
//	s(c)  = Σ_{x in X_rem: c(x) = c} d_k(x, c)²
//	NEXT  = argmax_{x in X_rem: s(c(x)) = max s} d_k(x, c(x)),
//	        argmax_{x in X_rem} k(x, x) as long as nothing is selected.
//
// Clusters without a row that may be picked are passed over.

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// LCMD selects the row that is farthest from its centre in the largest cluster.
type LCMD[T matrix.Float] struct {
	Size Size // how the size of a cluster is measured
}

// Name returns "lcmd", "lcmd-dist" or "lcmd-count".
func (m LCMD[T]) Name() string {
	return [...]string{"lcmd", "lcmd-dist", "lcmd-count"}[m.Size]
}

// Init starts with no clusters.
func (m LCMD[T]) Init(s *Space[T]) (Forward, error) { return &lcmd[T]{newClusters(s, m.Size)}, nil }

type lcmd[T matrix.Float] struct{ *clusters[T] }

// Next returns the farthest row of the largest cluster; its score is the squared
// distance.
func (f *lcmd[T]) Next() (Choice, error) {
	if f.empty() {
		return f.firstByDiag()
	}
	sums := f.sum()
	largest := math.Inf(-1)
	for _, s := range sums {
		if s.top >= 0 {
			largest = max(largest, s.size)
		}
	}
	best := -1
	for _, s := range sums {
		if s.top >= 0 && s.size == largest && (best < 0 || f.farther(s.top, best)) {
			best = s.top
		}
	}
	d := float64(f.pool.dist[best])
	return Choice{Row: best, Score: d, Cluster: f.describe(best, sums[f.pool.label[best]])}, nil
}

// farther orders rows by distance, then by number.
func (f *lcmd[T]) farther(a, b int) bool {
	da, db := f.pool.dist[a], f.pool.dist[b]
	return da > db || da == db && a < b
}
