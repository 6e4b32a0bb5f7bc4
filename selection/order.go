package selection

// Of candidates that are equally good, the first one is picked. Without Problem.Order that is the one with the lowest
// number. With it, a pool whose rows are in another order is solved as any other, and what is said about its rows is
// translated: so the same ties are broken in the same way wherever the rows are.

import (
	"errors"
	"slices"

	"github.com/nextbatch/nextbatch/internal/place"
)

// putInOrder numbers rows by their places in the order.
func (q *question) putInOrder() {
	places := make([]int, len(q.order))
	for place, row := range q.order {
		places[row] = place
	}
	c := &q.constraints
	q.pending, c.Exclude, c.Require = atRows(places, q.pending), atRows(places, c.Exclude), atRows(places, c.Require)
	q.weights, c.Cost = atRows(q.weights, q.order), atRows(c.Cost, q.order)
	c.Group, c.Same = atRows(c.Group, q.order), atRows(c.Same, q.order)
	q.resume = slices.Clone(q.resume)
	for i := range q.resume {
		q.resume[i].rename(places)
	}
	if told := q.picked; told != nil {
		q.picked = func(c Choice) {
			c.rename(q.order)
			told(c)
		}
	}
}

// atRows returns the values of some rows; nil if rows have none.
func atRows[T any](values []T, rows []int) []T {
	if values == nil {
		return nil
	}
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = values[row]
	}
	return list
}

func (c *Choice) rename(numbers []int) {
	if c.Row >= 0 && c.Row < len(numbers) { // a choice of another problem may not be
		c.Row = numbers[c.Row]
	}
	c.Cluster.rename(numbers)
}

func (c *Cluster) rename(numbers []int) {
	if of := &c.Centre; (of.Set == PoolSet || of.Set == PendingSet) && of.Row < len(numbers) {
		of.Row = numbers[of.Row]
	}
}

// rename gives the rows of a result their numbers in the pool.
func (r *Result) rename(order []int) {
	for i := range r.Picks {
		p := &r.Picks[i]
		p.Row = order[p.Row]
		p.Cluster.rename(order)
	}
	for i := range r.Fallbacks {
		f := &r.Fallbacks[i]
		f.Rows, f.Cut = atRows(order, f.Rows), atRows(order, f.Cut)
	}
	for i := range r.Removed {
		r.Removed[i].Row = order[r.Removed[i].Row]
	}
}

// renamed gives the row of the pool in an error its number there.
func renamed(err error, order []int) error {
	if row := (*RowError)(nil); errors.As(err, &row) && place.PoolRow(err) >= 0 {
		row.Row = order[row.Row]
	}
	return err
}
