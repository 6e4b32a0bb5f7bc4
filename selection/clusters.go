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

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/selection/internal/space"
)

// clusters is shared by the methods that measure distances: selected rows as centres,
// and the nearest of them for each row.
type clusters struct {
	space   *Space
	centres []int // candidates
	rows    space.Centres
	size    Size
}

// Size is what a row adds to the size of its cluster.
type Size = place.Size

// The sizes of clusters: sums of squared distances, of distances, or the number of rows.
const (
	SquaredDistance = place.SquaredDistance // the paper's choice
	Distance        = place.Distance
	Count           = place.Count
)

// newClusters starts without centres. Lists are for methods that often sum up few
// clusters.
func newClusters(s *Space, size Size, lists bool) *clusters {
	return &clusters{space: s, size: size, rows: s.rows.Nearest(size, lists)}
}

// Add makes the candidates centres.
func (c *clusters) Add(candidates []int) error {
	c.centres = append(c.centres, candidates...)
	return c.rows.Add(candidates)
}

// left is the sum of the squared distances of the target from the nearest selected rows; 0 if nothing is selected.
func (c *clusters) left() (float64, error) {
	if c.empty() {
		return 0, nil
	}
	if c.size == SquaredDistance { // the sums of the clusters need no boxes around the rows
		in := c.rows.Sums
		if c.rows.OtherTarget() {
			in = c.rows.TargetSums
		}
		total := 0.0
		for _, one := range in(0, len(c.centres)) {
			total += one.Size
		}
		return c.space.rows.InUnits(total, 2), nil
	}
	sums := make([]float64, 2)
	err := c.rows.Gains(sums, c.centres[:1])
	return c.space.rows.InUnits(sums[0], 2), err
}

func (c *clusters) empty() bool { return len(c.centres) == 0 }

// sumAll computes all clusters where other rows are the target.
func (c *clusters) sumAll() []space.Sum {
	sums := c.rows.Sums(0, len(c.centres))
	for i, s := range c.rows.TargetSums(0, len(c.centres)) {
		sums[i].Size = s.Size
	}
	return sums
}

// describe returns the cluster of a row, for the result.
func (c *clusters) describe(row int, sum space.Sum) Cluster {
	dist, label := c.rows.At(row)
	return Cluster{
		Centre:   c.space.centre(c.centres[label]),
		Size:     c.space.rows.InUnits(sum.Size, c.size.Power()),
		Rows:     sum.Rows,
		Distance: c.space.rows.InUnits(math.Sqrt(dist), 1),
	}
}

// clusterOf returns the cluster of a row, for methods that do not need the sums of
// all clusters.
func (c *clusters) clusterOf(row int) Cluster {
	_, label := c.rows.At(row)
	return c.describe(row, c.rows.Sums(label, 1)[0])
}

// firstByDiag is the first pick when nothing is selected: the open row of
// largest k(x, x).
func (c *clusters) firstByDiag() (Choice, error) { return c.space.largest() }
