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

	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// LCMD selects the row that is farthest from its centre in the largest cluster.
type LCMD struct {
	Size Size // how the size of a cluster is measured
}

// Name returns "lcmd", "lcmd-dist" or "lcmd-count".
func (m LCMD) Name() string {
	return [...]string{"lcmd", "lcmd-dist", "lcmd-count"}[m.Size]
}

func (LCMD) traits() traits {
	return traits{anyUnit: true, scored: true, replayable: true}
}

// Init starts with no clusters.
func (m LCMD) Init(s *Space) (Forward, error) {
	f := &lcmd{clusters: newClusters(s, m.Size, true)}
	f.keeper, _ = f.rows.(space.ClusterKeeper)
	return f, nil
}

// lcmd keeps the size of each cluster. Rows join a cluster only when it is created, and
// then leave it one by one. So a size that was computed earlier is an upper bound of the
// present one, in rounded sums too, which do not grow when a row is left out; and few
// clusters need be summed up per step. If other rows are the target, all are.
type lcmd struct {
	*clusters
	sums   []space.Sum         // as they were last computed
	sizes  []float64           // those of sums
	keeper space.ClusterKeeper // of rows that keep the sizes of all clusters themselves; otherwise nil
}

// Add makes the candidates centres, and sums up their clusters.
func (f *lcmd) Add(candidates []int) error {
	first := len(f.centres)
	if err := f.clusters.Add(candidates); err != nil || f.rows.OtherTarget() || f.keeper != nil {
		return err
	}
	f.sums = append(f.sums, f.rows.Sums(first, len(candidates))...)
	for _, s := range f.sums[first:] {
		f.sizes = append(f.sizes, s.Size)
	}
	return nil
}

// Next returns the farthest row of the largest cluster; its score is the squared
// distance.
func (f *lcmd) Next() (Choice, error) {
	if f.empty() {
		return f.firstByDiag()
	}
	if f.keeper != nil {
		best, err := f.keeper.FarthestInLargest()
		if err != nil {
			return Choice{}, err
		}
		return f.choice(best), nil
	}
	var sums []space.Sum
	if f.rows.OtherTarget() {
		sums = f.sumAll()
	} else {
		sums = f.sumLargest()
	}
	largest, best := largestOpen(sums), space.NoRows
	for _, s := range sums {
		if s.Top >= 0 && s.Size == largest && (best.Top < 0 || s.Far > best.Far || s.Far == best.Far && s.Top < best.Top) {
			best = s
		}
	}
	return f.choice(best), nil
}

func (f *lcmd) choice(best space.Sum) Choice {
	return Choice{Row: best.Top, Score: f.space.rows.InUnits(best.Far, 2), Tied: best.Far == 0,
		Cluster: f.describe(best.Top, best)}
}

// sumLargest sums up all clusters that can be the largest, and returns all clusters; the
// others are smaller. It starts with those that were the largest.
func (f *lcmd) sumLargest() []space.Sum {
	const ordered = 16
	known, least := make([]bool, len(f.sums)), math.Inf(-1)
	refresh := func(i int) {
		known[i], f.sums[i] = true, space.NoRows
		if f.rows.Sum(f.sums[i:i+1], i); f.sums[i].Top >= 0 {
			least = max(least, f.sums[i].Size)
		}
		f.sizes[i] = f.sums[i].Size
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
func (f *lcmd) largestBut(known []bool) int {
	best := -1
	for i, size := range f.sizes {
		if !known[i] && (best < 0 || size > f.sizes[best]) {
			best = i
		}
	}
	return best
}

// largestOpen returns the size of the largest cluster with an open row.
func largestOpen(sums []space.Sum) float64 {
	largest := math.Inf(-1)
	for _, s := range sums {
		if s.Top >= 0 {
			largest = max(largest, s.Size)
		}
	}
	return largest
}
