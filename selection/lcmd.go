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

	"github.com/nextbatch/nextbatch/internal/linalg"
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
	return &lcmd[T]{clusters: newClusters(s, m.Size)}, nil
}

func (LCMD[T]) scaleFree() {}

// lcmd knows the rows of each cluster. Rows join one only when it comes into being,
// and then leave it one by one. So a size that was computed earlier is not below
// what it is now, in rounded sums too, which do not grow when a row is left out; and
// few clusters need be summed up in a step. If other rows are the target, all are.
type lcmd[T matrix.Float] struct {
	*clusters[T]
	members [][]int32    // of each cluster, in ascending order; some have left
	sums    []clusterSum // as they were last computed
}

// Add makes the candidates centres, and sums up their clusters.
func (f *lcmd[T]) Add(candidates []int) error {
	first := len(f.centres)
	if err := f.clusters.Add(candidates); err != nil || f.target != nil || len(candidates) == 0 {
		return err
	}
	f.members = append(f.members, make([][]int32, len(candidates))...)
	f.sums = append(f.sums, make([]clusterSum, len(candidates))...)
	for _, rows := range f.joined(first) {
		for _, row := range rows {
			label := f.pool.Label[row]
			f.members[label] = append(f.members[label], row)
		}
	}
	for i := first; i < len(f.centres); i++ {
		f.sumMembers(i)
	}
	return nil
}

// joined lists the rows whose centre has at least the label first.
func (f *lcmd[T]) joined(first int) [][]int32 {
	label := f.pool.Label
	lists := make([][]int32, linalg.Pieces(len(label), scanPiece))
	f.space.team.OverPieces(len(label), scanPiece, func(piece, from, to int) {
		for row := from; row < to; row++ {
			if int(label[row]) >= first {
				lists[piece] = append(lists[piece], int32(row))
			}
		}
	})
	return lists
}

// sumMembers computes one cluster, and forgets the rows that have left it.
func (f *lcmd[T]) sumMembers(i int) clusterSum {
	kept, sum, block, end := f.members[i][:0], noRows, noRows, 0
	for _, row := range f.members[i] {
		if int(f.pool.Label[row]) != i {
			continue
		}
		if int(row) >= end {
			f.merge(&sum, block)
			block, end = noRows, (int(row)/sumBlock+1)*sumBlock
		}
		kept = append(kept, row)
		f.count(&block, int(row))
	}
	f.merge(&sum, block)
	f.members[i], f.sums[i] = kept, sum
	return sum
}

// Next returns the farthest row of the largest cluster; its score is the squared
// distance.
func (f *lcmd[T]) Next() (Choice, error) {
	if f.empty() {
		return f.firstByDiag()
	}
	var sums []clusterSum
	if f.target == nil {
		sums = f.sumLargest()
	} else {
		sums = f.sumAll()
	}
	largest := largestOpen(sums)
	best := -1
	for _, s := range sums {
		if s.top >= 0 && s.size == largest && (best < 0 || f.farther(s.top, best)) {
			best = s.top
		}
	}
	d := float64(f.pool.Dist[best])
	return Choice{Row: best, Score: f.space.inUnits(d, 2), Tied: d == 0, Cluster: f.describe(best, sums[f.pool.Label[best]])}, nil
}

// sumLargest computes all clusters that can be the largest, and returns all; the
// others are smaller than what it computed. It begins with those that were the
// largest.
func (f *lcmd[T]) sumLargest() []clusterSum {
	const ordered = 16
	known, least := make([]bool, len(f.sums)), math.Inf(-1)
	look := func(i int) {
		known[i] = true
		if s := f.sumMembers(i); s.top >= 0 {
			least = max(least, s.size)
		}
	}
	for range ordered {
		i := f.largestBut(known)
		if i < 0 || f.sums[i].size < least {
			return f.sums
		}
		look(i)
	}
	for i := range f.sums {
		if !known[i] && f.sums[i].size >= least {
			look(i)
		}
	}
	return f.sums
}

// largestBut returns the cluster that was the largest but for those that are known.
func (f *lcmd[T]) largestBut(known []bool) int {
	best := -1
	for i, s := range f.sums {
		if !known[i] && (best < 0 || s.size > f.sums[best].size) {
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

// farther orders rows by distance, then by number.
func (f *lcmd[T]) farther(a, b int) bool {
	da, db := f.pool.Dist[a], f.pool.Dist[b]
	return da > db || da == db && a < b
}
