package selection

// Clusters: each row belongs to the nearest selected row, its centre c(x)
// (paper, "Largest cluster maximum distance"):
//
//	s(c) = Σ_{x in X_rem: c(x) = c} w(x)·size(d(x, c)²)
//
// over the unselected rows of the pool, or over another set of rows whose
// distribution is to be represented.

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// clusters is what methods that measure distances share: selected rows as
// centres, and the nearest of them for each row.
type clusters[T matrix.Float] struct {
	space   *Space[T]
	centres []int // candidates
	pool    *nearestRows[T]
	target  *nearestRows[T] // nil: the pool is the target
	size    Size
}

// Size is what a row adds to the size of its cluster.
type Size int

const (
	SquaredDistance Size = iota // the paper's choice
	Distance
	Count
)

// of returns what a row at a squared distance adds.
func (s Size) of(sq float64) float64 {
	switch s {
	case Distance:
		return math.Sqrt(sq)
	case Count:
		return 1
	}
	return sq
}

// power is that of the unit of features in the size of a cluster.
func (s Size) power() int { return [...]int{2, 1, 0}[s] }

func newClusters[T matrix.Float](s *Space[T], size Size) *clusters[T] {
	c := &clusters[T]{space: s, size: size, pool: newNearestRows(s, &s.pool)}
	if s.target.rows.Rows > 0 {
		c.target = newNearestRows(s, &s.target)
	}
	return c
}

// Add makes the candidates centres.
func (c *clusters[T]) Add(candidates []int) error {
	first := len(c.centres)
	c.centres = append(c.centres, candidates...)
	if err := c.pool.add(candidates, first); err != nil {
		return err
	}
	if c.target != nil {
		return c.target.add(candidates, first)
	}
	return nil
}

func (c *clusters[T]) empty() bool { return len(c.centres) == 0 }

// weight is that of a pool row in the target distribution.
func (c *clusters[T]) weight(row int) float64 {
	if c.space.weights == nil {
		return 1
	}
	return c.space.weights[row]
}

// clusterSum is one cluster, as far as it has been summed up.
type clusterSum struct {
	size float64
	rows int // unselected rows
	top  int // the open row that is farthest from the centre; -1: none is open
}

// noRows is the sum of a cluster over no rows.
var noRows = clusterSum{top: -1}

// sumAll computes all clusters where other rows are the target.
func (c *clusters[T]) sumAll() []clusterSum {
	sums := c.sumClusters(c.space.PoolSize(), func(sums []clusterSum, row int) { c.count(&sums[c.pool.Label[row]], row) })
	for i, s := range c.sumTarget(c.size) {
		sums[i].size = s.size
	}
	return sums
}

// sumTarget computes the sizes of all clusters on the target rows.
func (c *clusters[T]) sumTarget(size Size) []clusterSum {
	return c.sumClusters(len(c.target.Dist), func(sums []clusterSum, row int) {
		sums[c.target.Label[row]].size += size.of(float64(c.target.Dist[row]))
	})
}

// sumClusters sums over rows, each of which count adds to its cluster.
func (c *clusters[T]) sumClusters(rows int, count func(sums []clusterSum, row int)) []clusterSum {
	empty := func() []clusterSum { return slices.Repeat([]clusterSum{noRows}, len(c.centres)) }
	sums := empty()
	sumBlocks(c.space.team, rows, func(from, to int) []clusterSum {
		part := empty()
		for row := from; row < to; row++ {
			count(part, row)
		}
		return part
	}, func(part []clusterSum) {
		for i := range sums {
			c.merge(&sums[i], part[i])
		}
	})
	return sums
}

// count adds a row of the pool to its cluster.
func (c *clusters[T]) count(s *clusterSum, row int) {
	open := c.space.limits.open[row]
	if !open && c.space.limits.selected[row] {
		return
	}
	d := c.pool.Dist[row]
	s.rows++
	if c.target == nil {
		s.size += c.weight(row) * c.size.of(float64(d))
	}
	if open && (s.top < 0 || d > c.pool.Dist[s.top]) {
		s.top = row
	}
}

// merge adds the sum of a later block.
func (c *clusters[T]) merge(a *clusterSum, b clusterSum) {
	a.size += b.size
	a.rows += b.rows
	if b.top >= 0 && (a.top < 0 || c.pool.Dist[b.top] > c.pool.Dist[a.top]) {
		a.top = b.top
	}
}

// describe returns the cluster of a row, for the result.
func (c *clusters[T]) describe(row int, sum clusterSum) Cluster {
	return Cluster{
		Centre:   c.space.centre(c.centres[c.pool.Label[row]]),
		Size:     c.space.inUnits(sum.size, c.size.power()),
		Rows:     sum.rows,
		Distance: c.space.inUnits(math.Sqrt(float64(c.pool.Dist[row])), 1),
	}
}

// clusterOf returns the cluster of a row, for methods that do not need the sums of
// all clusters.
func (c *clusters[T]) clusterOf(row int) Cluster {
	return c.describe(row, c.sumOne(c.pool.Label[row]))
}

// sumOne computes one cluster of the pool.
func (c *clusters[T]) sumOne(label int32) clusterSum {
	selected, sum := c.space.limits.selected, clusterSum{}
	sumBlocks(c.space.team, c.space.PoolSize(), func(from, to int) (part clusterSum) {
		for row := from; row < to; row++ {
			if c.pool.Label[row] == label && !selected[row] {
				part.rows++
				part.size += c.weight(row) * c.size.of(float64(c.pool.Dist[row]))
			}
		}
		return part
	}, func(part clusterSum) {
		sum.rows += part.rows
		sum.size += part.size
	})
	return sum
}

// firstByDiag is the first pick when nothing is selected: the open row of
// largest k(x, x).
func (c *clusters[T]) firstByDiag() (Choice, error) { return c.farthest(c.space.Diag()) }

// farthest is the open row of largest squared distance, which is its score.
func (c *clusters[T]) farthest(squared []T) (Choice, error) {
	best, err := c.space.Best(squared)
	best.Score = c.space.inUnits(best.Score, 2)
	return best, err
}
