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

// clusters is shared by the methods that measure distances: selected rows as centres,
// and the nearest of them for each row.
type clusters[T matrix.Float] struct {
	space   *Space[T]
	centres []int // candidates
	pool    centreSearch[T]
	target  centreSearch[T] // nil: the pool is the target
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

// power is the power of the unit of features in the size of a cluster.
func (s Size) power() int { return [...]int{2, 1, 0}[s] }

// newClusters starts without centres. Lists are for methods that often sum up few
// clusters; if other rows are the target, all clusters are summed up at once.
func newClusters[T matrix.Float](s *Space[T], size Size, lists bool) *clusters[T] {
	c := &clusters[T]{space: s, size: size}
	if s.target.rows.Rows > 0 {
		c.target, lists = newMemoryRows(s, &s.target, nil).Nearest(size, false), false
	}
	c.pool = s.rows.Nearest(size, lists)
	return c
}

// Add makes the candidates centres.
func (c *clusters[T]) Add(candidates []int) error {
	if len(candidates) == 0 {
		return nil
	}
	first := len(c.centres)
	c.centres = append(c.centres, candidates...)
	if device, ok := c.pool.(*deviceNearest[T]); ok && len(candidates) == 1 && candidates[0] < c.space.PoolSize() && c.target == nil {
		return device.addRow(candidates[0], first)
	}
	rows, diag := c.space.gather(candidates)
	if err := c.pool.Add(rows, diag, first); err != nil {
		return err
	}
	if c.target != nil {
		return c.target.Add(rows, diag, first)
	}
	return nil
}

func (c *clusters[T]) empty() bool { return len(c.centres) == 0 }

// clusterSum is a cluster, summed up over some rows.
type clusterSum struct {
	size float64
	rows int     // unselected rows
	open float64 // squared distances of those that are open
	top  int     // the open row that is farthest from the centre; -1: none is open
	far  float64 // its squared distance, per price if there are prices
}

// noRows is the sum of a cluster over no rows.
var noRows = clusterSum{top: -1}

func noSums(clusters int) []clusterSum { return slices.Repeat([]clusterSum{noRows}, clusters) }

// merge adds the sum over later rows.
func (s *clusterSum) merge(later clusterSum) {
	s.size += later.size
	s.rows += later.rows
	s.open += later.open
	if later.top >= 0 && (s.top < 0 || later.far > s.far) {
		s.top, s.far = later.top, later.far
	}
}

// sumOf computes the clusters from label first on.
func sumOf[T matrix.Float](search centreSearch[T], first, clusters int) []clusterSum {
	sums := noSums(clusters)
	search.Sum(sums, first)
	return sums
}

// sumAll computes all clusters where other rows are the target.
func (c *clusters[T]) sumAll() []clusterSum {
	sums := sumOf(c.pool, 0, len(c.centres))
	for i, s := range sumOf(c.target, 0, len(c.centres)) {
		sums[i].size = s.size
	}
	return sums
}

// describe returns the cluster of a row, for the result.
func (c *clusters[T]) describe(row int, sum clusterSum) Cluster {
	dist, label := c.pool.At(row)
	return Cluster{
		Centre:   c.space.centre(c.centres[label]),
		Size:     c.space.inUnits(sum.size, c.size.power()),
		Rows:     sum.rows,
		Distance: c.space.inUnits(math.Sqrt(float64(dist)), 1),
	}
}

// clusterOf returns the cluster of a row, for methods that do not need the sums of
// all clusters.
func (c *clusters[T]) clusterOf(row int) Cluster {
	_, label := c.pool.At(row)
	return c.describe(row, sumOf(c.pool, label, 1)[0])
}

// firstByDiag is the first pick when nothing is selected: the open row of
// largest k(x, x).
func (c *clusters[T]) firstByDiag() (Choice, error) { return c.space.largest() }

// choose turns the row of largest squared distance, or of largest k(x, x), into a
// choice.
func (s *Space[T]) choose(best found, err error) (Choice, error) {
	if err == nil && best.row < 0 {
		err = &Stuck{Reason: "no row may be picked"}
	}
	if err != nil {
		return Choice{}, err
	}
	return Choice{Row: best.row, Score: s.perCost(best.row, s.inUnits(best.score, 2)), Tied: best.score == 0}, nil
}

// largest chooses the open row of largest k(x, x).
func (s *Space[T]) largest() (Choice, error) { return s.choose(s.rows.Largest()) }
