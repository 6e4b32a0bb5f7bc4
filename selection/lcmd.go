package selection

// LCMD, largest cluster maximum distance (paper, section of that name and the
// algorithm in the appendix):
//
//	c(x)  = argmin_{c in X_sel} d_k(x, c)              the earliest of several
//	s(c)  = Σ_{x in X_rem: c(x) = c} d_k(x, c)²
//	NEXT  = argmax_{x in X_rem: s(c(x)) = max s} d_k(x, c(x)),
//	        argmax_{x in X_rem} k(x, x) as long as nothing is selected.
//
// Clusters without a row that may be picked are skipped.

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
func (m LCMD[T]) Init(s *Space[T]) (Forward, error) {
	return &lcmd[T]{clusters: newClusters(s, m.Size, true)}, nil
}

func (LCMD[T]) scaleFree() {}

// lcmd keeps the size of each cluster. Rows join a cluster only when it is created, and
// then leave it one by one. So a size that was computed earlier is an upper bound of the
// present one, in rounded sums too, which do not grow when a row is left out; and few
// clusters need be summed up per step. If other rows are the target, all are.
type lcmd[T matrix.Float] struct {
	*clusters[T]
	sums  []clusterSum // as they were last computed
	sizes []float64    // those of sums
}

// Add makes the candidates centres, and sums up their clusters.
func (f *lcmd[T]) Add(candidates []int) error {
	first := len(f.centres)
	if err := f.clusters.Add(candidates); err != nil || f.target != nil || f.onDevice() != nil {
		return err
	}
	f.sums = append(f.sums, sumOf(f.pool, first, len(candidates))...)
	for _, s := range f.sums[first:] {
		f.sizes = append(f.sizes, s.size)
	}
	return nil
}

// Next returns the farthest row of the largest cluster; its score is the squared
// distance.
func (f *lcmd[T]) Next() (Choice, error) {
	if f.empty() {
		return f.firstByDiag()
	}
	if device := f.onDevice(); device != nil && f.target == nil {
		best, err := device.farthestInLargest()
		if err != nil {
			return Choice{}, err
		}
		return f.choice(best), nil
	}
	var sums []clusterSum
	if f.target == nil {
		sums = f.sumLargest()
	} else {
		sums = f.sumAll()
	}
	largest, best := largestOpen(sums), noRows
	for _, s := range sums {
		if s.top >= 0 && s.size == largest && (best.top < 0 || s.far > best.far || s.far == best.far && s.top < best.top) {
			best = s
		}
	}
	return f.choice(best), nil
}

func (f *lcmd[T]) choice(best clusterSum) Choice {
	return Choice{Row: best.top, Score: f.space.inUnits(best.far, 2), Tied: best.far == 0, Cluster: f.describe(best.top, best)}
}

// onDevice returns the search if a device does it, which keeps the sizes of all clusters
// itself.
func (f *lcmd[T]) onDevice() *deviceNearest[T] {
	search, _ := f.pool.(*deviceNearest[T])
	return search
}

// sumLargest sums up all clusters that can be the largest, and returns all clusters; the
// others are smaller. It starts with those that were the largest.
func (f *lcmd[T]) sumLargest() []clusterSum {
	const ordered = 16
	known, least := make([]bool, len(f.sums)), math.Inf(-1)
	refresh := func(i int) {
		known[i], f.sums[i] = true, noRows
		if f.pool.Sum(f.sums[i:i+1], i); f.sums[i].top >= 0 {
			least = max(least, f.sums[i].size)
		}
		f.sizes[i] = f.sums[i].size
	}
	for range ordered {
		i := f.largestBut(known)
		if i < 0 || f.sizes[i] < least {
			return f.sums
		}
		refresh(i)
	}
	for i, size := range f.sizes {
		if !known[i] && size >= least {
			refresh(i)
		}
	}
	return f.sums
}

// largestBut returns the cluster that was the largest, except for those in known.
func (f *lcmd[T]) largestBut(known []bool) int {
	best := -1
	for i, size := range f.sizes {
		if !known[i] && (best < 0 || size > f.sizes[best]) {
			best = i
		}
	}
	return best
}

// largestOpen returns the size of the largest cluster with an open row.
func largestOpen(sums []clusterSum) float64 {
	largest := math.Inf(-1)
	for _, s := range sums {
		if s.top >= 0 {
			largest = max(largest, s.size)
		}
	}
	return largest
}
