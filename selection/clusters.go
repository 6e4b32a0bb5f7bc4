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

	"github.com/nextbatch/nextbatch/matrix"
)

// clusters is what methods that measure distances share: selected rows as
// centres, and the nearest of them for each row.
type clusters[T matrix.Float] struct {
	space   *Space[T]
	centres []int // candidates
	pool    *nearest[T]
	target  *nearest[T] // nil: the pool is the target
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
	c := &clusters[T]{space: s, size: size, pool: newNearest(s, &s.pool)}
	if s.target.rows.Rows > 0 {
		c.target = newNearest(s, &s.target)
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

// sumParts is into how many parts the rows are cut for sums: a fixed number, so
// that sums do not depend on the threads, and a small one, since each has a
// place for every cluster.
const sumParts = 8

// sumAll computes all clusters where other rows are the target.
func (c *clusters[T]) sumAll() []clusterSum {
	n := len(c.centres)
	parts := make([]clusterSum, (sumParts+1)*n)
	for i := range parts {
		parts[i].top = -1
	}
	sums, parts := parts[:n], parts[n:]
	c.overParts(c.space.PoolSize(), func(part, from, to int) {
		for row := from; row < to; row++ {
			c.count(&parts[part*n+int(c.pool.label[row])], row)
		}
	})
	c.overParts(len(c.target.dist), func(part, from, to int) { c.sumTarget(parts[part*n:(part+1)*n], from, to) })
	for i := range sums {
		for part := range sumParts {
			c.merge(&sums[i], parts[part*n+i])
		}
	}
	return sums
}

func (c *clusters[T]) overParts(rows int, work func(part, from, to int)) {
	if rows > 0 {
		overPieces(c.space.team, rows, pieces(rows, sumParts), work)
	}
}

// count adds a row of the pool to its cluster.
func (c *clusters[T]) count(s *clusterSum, row int) {
	open := c.space.limits.open[row]
	if !open && c.space.limits.selected[row] {
		return
	}
	d := c.pool.dist[row]
	s.rows++
	if c.target == nil {
		s.size += c.weight(row) * c.size.of(float64(d))
	}
	if open && (s.top < 0 || d > c.pool.dist[s.top]) {
		s.top = row
	}
}

func (c *clusters[T]) sumTarget(sums []clusterSum, from, to int) {
	for row := from; row < to; row++ {
		sums[c.target.label[row]].size += c.size.of(float64(c.target.dist[row]))
	}
}

func (c *clusters[T]) merge(a *clusterSum, b clusterSum) {
	a.size += b.size
	a.rows += b.rows
	if b.top >= 0 && (a.top < 0 || c.pool.dist[b.top] > c.pool.dist[a.top]) {
		a.top = b.top
	}
}

// describe returns the cluster of a row, for the result.
func (c *clusters[T]) describe(row int, sum clusterSum) Cluster {
	return Cluster{
		Centre:   c.space.centre(c.centres[c.pool.label[row]]),
		Size:     c.space.inUnits(sum.size, c.size.power()),
		Rows:     sum.rows,
		Distance: c.space.inUnits(math.Sqrt(float64(c.pool.dist[row])), 1),
	}
}

// clusterOf returns the cluster of a row, for methods that do not need the sums of
// all clusters.
func (c *clusters[T]) clusterOf(row int) Cluster {
	return c.describe(row, c.sumOne(c.pool.label[row]))
}

// sumOne computes one cluster of the pool.
func (c *clusters[T]) sumOne(label int32) clusterSum {
	var parts [sumParts]clusterSum
	selected := c.space.limits.selected
	c.space.countPass(c.space.PoolSize(), 4)
	c.overParts(c.space.PoolSize(), func(part, from, to int) {
		for row := from; row < to; row++ {
			if c.pool.label[row] == label && !selected[row] {
				parts[part].rows++
				parts[part].size += c.weight(row) * c.size.of(float64(c.pool.dist[row]))
			}
		}
	})
	for _, p := range parts[1:] {
		parts[0].rows += p.rows
		parts[0].size += p.size
	}
	return parts[0]
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
