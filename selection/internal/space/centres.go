package space

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// centres are Centres of the pool and, if that is another set of rows, of the target.
type centres[T matrix.Float] struct {
	space  *space[T]
	count  int
	pool   centreSearch[T]
	target centreSearch[T] // nil: the pool is the target
}

func (s *space[T]) Nearest(size place.Size, lists bool) Centres {
	c := &centres[T]{space: s}
	if s.target.rows.Rows > 0 { // then all clusters are summed up at once
		c.target, lists = newMemoryRows(s, &s.target, nil).Nearest(size, false), false
	}
	c.pool = s.rows.Nearest(size, lists)
	if device, ok := c.pool.(*deviceNearest[T]); ok && c.target == nil {
		return &deviceCentres[T]{c, device}
	}
	return c
}

func (c *centres[T]) Add(candidates []int) error {
	if len(candidates) == 0 {
		return nil
	}
	first := c.count
	c.count += len(candidates)
	rows, diag := c.space.gather(candidates)
	if err := c.pool.Add(rows, diag, first); err != nil {
		return err
	}
	if c.target != nil {
		return c.target.Add(rows, diag, first)
	}
	return nil
}

func (c *centres[T]) OtherTarget() bool { return c.target != nil }

func (c *centres[T]) Farthest() (Found, error) { return c.pool.Farthest() }

func (c *centres[T]) At(row int) (dist float64, label int) {
	d, label := c.pool.At(row)
	return float64(d), label
}

func (c *centres[T]) Sum(sums []Sum, first int) { c.pool.Sum(sums, first) }

func (c *centres[T]) Sums(first, clusters int) []Sum { return sumsOf(c.pool, first, clusters) }

func (c *centres[T]) TargetSums(first, clusters int) []Sum {
	return sumsOf(c.target, first, clusters)
}

func sumsOf[T matrix.Float](search centreSearch[T], first, clusters int) []Sum {
	sums := noSums(clusters)
	search.Sum(sums, first)
	return sums
}

func noSums(clusters int) []Sum { return slices.Repeat([]Sum{NoRows}, clusters) }

func (c *centres[T]) Weigh(centres bool, scale []float64) []float64 {
	return c.pool.Weigh(centres, scale)
}

func (c *centres[T]) Draw(block int, stream *rng.Stream) (int, error) {
	return c.pool.Draw(block, stream)
}

func (c *centres[T]) Gains(sums []float64, candidates []int) error {
	rows, diag := c.space.gather(candidates)
	if c.target != nil {
		return c.target.Gains(sums, rows, diag)
	}
	return c.pool.Gains(sums, rows, diag)
}

// deviceCentres leaves more of the work to a device, which has the rows of the pool.
type deviceCentres[T matrix.Float] struct {
	*centres[T]
	device *deviceNearest[T]
}

func (c *deviceCentres[T]) Add(candidates []int) error {
	if len(candidates) != 1 || candidates[0] >= c.space.PoolSize() {
		return c.centres.Add(candidates)
	}
	c.count++
	return c.device.addRow(candidates[0], c.count-1)
}

func (c *deviceCentres[T]) FarthestInLargest() (Sum, error) { return c.device.FarthestInLargest() }

func (c *deviceCentres[T]) DrawRow(stream *rng.Stream) (int, error) { return c.device.DrawRow(stream) }
