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
	pool    *nearest[T]
	target  *nearest[T] // nil: the pool is the target
	size    Size

	sums     []clusterSum // as they were last computed
	parts    []clusterSum // scratch
	seen     []int32      // the labels that sums are for; nil: there are no sums
	seenOpen []bool       // the open rows that they are for
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

// sum computes all clusters. Those that no row has joined or left, and in which
// the same rows are open, are as they were; the others are computed anew.
func (c *clusters[T]) sum() []clusterSum {
	if c.target != nil {
		c.seen = nil // sums over other rows: all anew
	}
	n := len(c.centres)
	changed := c.changed()
	parts := c.partSums(n)
	for i, anew := range changed {
		if anew {
			c.sums[i] = clusterSum{top: -1}
			for part := range sumParts {
				parts[part*n+i] = clusterSum{top: -1}
			}
		}
	}
	c.space.countPass(c.space.PoolSize(), 4+1)
	c.overParts(c.space.PoolSize(), func(part, from, to int) { c.sumPool(parts[part*n:(part+1)*n], changed, from, to) })
	if c.target != nil {
		c.overParts(len(c.target.dist), func(part, from, to int) { c.sumTarget(parts[part*n:(part+1)*n], from, to) })
	}
	for i, anew := range changed {
		if anew {
			for part := range sumParts {
				c.merge(&c.sums[i], parts[part*n+i])
			}
		}
	}
	return c.sums
}

// partSums returns scratch for the sums of n clusters over each part.
func (c *clusters[T]) partSums(n int) []clusterSum {
	if len(c.parts) < sumParts*n {
		c.parts = make([]clusterSum, sumParts*2*n)
		c.space.bytes += int64(len(c.parts)) * 24
	}
	return c.parts[:sumParts*n]
}

// sameRows is the number of rows that are looked at together: mostly all of them
// are as they were.
const sameRows = 64

// changed says which clusters are not what they were when it was called last.
func (c *clusters[T]) changed() []bool {
	n, open, label := len(c.centres), c.space.limits.open, c.pool.label
	for len(c.sums) < n {
		c.sums = append(c.sums, clusterSum{top: -1}) // no row has joined it yet
	}
	if c.seen == nil {
		c.seen, c.seenOpen = slices.Clone(label), slices.Clone(open)
		all := make([]bool, n)
		for i := range all {
			all[i] = true
		}
		return all
	}
	var lists [sumParts][]int32
	c.space.countPass(len(label), 2*4+2)
	c.overParts(len(label), func(part, from, to int) {
		for first := from; first < to; first += sameRows {
			last := min(first+sameRows, to)
			if slices.Equal(c.seen[first:last], label[first:last]) && slices.Equal(c.seenOpen[first:last], open[first:last]) {
				continue
			}
			for row := first; row < last; row++ {
				if was, now := c.seen[row], label[row]; was != now || c.seenOpen[row] != open[row] {
					lists[part] = append(lists[part], was, now)
					c.seen[row], c.seenOpen[row] = now, open[row]
				}
			}
		}
	})
	changed := make([]bool, n)
	for _, list := range lists {
		for _, i := range list {
			changed[i] = true
		}
	}
	return changed
}

func (c *clusters[T]) overParts(rows int, work func(part, from, to int)) {
	if rows > 0 {
		overPieces(rows, pieces(rows, sumParts), work)
	}
}

// sumPool adds the rows from from to to-1 to those clusters that have changed.
func (c *clusters[T]) sumPool(sums []clusterSum, changed []bool, from, to int) {
	open, selected, label := c.space.limits.open, c.space.limits.selected, c.pool.label
	for row := from; row < to; row++ {
		if !changed[label[row]] || selected[row] {
			continue
		}
		d := c.pool.dist[row]
		s := &sums[label[row]]
		s.rows++
		if c.target == nil {
			s.size += c.weight(row) * c.size.of(float64(d))
		}
		if open[row] && (s.top < 0 || d > c.pool.dist[s.top]) {
			s.top = row
		}
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
		Size:     sum.size,
		Rows:     sum.rows,
		Distance: math.Sqrt(float64(c.pool.dist[row])),
	}
}

// choose returns a row with its cluster, for methods that do not need the sums
// of all clusters.
func (c *clusters[T]) choose(row int, score float64) Choice {
	return Choice{Row: row, Score: score, Cluster: c.describe(row, c.sumOne(c.pool.label[row]))}
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
func (c *clusters[T]) firstByDiag() (Choice, error) { return c.space.Best(c.space.Diag()) }
