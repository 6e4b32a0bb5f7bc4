package worker

import (
	"fmt"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/matrix"
)

// given is a learner that was fitted elsewhere: its predictions are arrays of the frame, each a list, or with a
// column for each target.
type given struct {
	Name   string `json:"name"`
	Arrays []int  `json:"arrays"`
}

// predicted returns array i of the predictions of a learner, of which there are n.
func (c *call) predicted(g given, i, n int) (m matrix.Dense[float64], err error) {
	if len(g.Arrays) != n {
		return m, refuse("learner %q has %d arrays instead of %d", g.Name, len(g.Arrays), n)
	}
	a, err := c.array(g.Arrays[i])
	if err != nil {
		return m, err
	}
	if len(a.Dims) > 0 && a.Dims[0] == 0 {
		return m, fmt.Errorf("learner %q: its array has no numbers", g.Name)
	}
	values, targets, err := a.labels()
	if err != nil {
		return m, fmt.Errorf("learner %q: its array %w", g.Name, err)
	}
	return matrix.View(len(values)/targets, targets, values), nil
}

// predictedFor returns the predictions of a learner for some rows of a table; nil means all.
func (c *call) predictedFor(g given, rows []int) (matrix.Dense[float64], error) {
	all, err := c.predicted(g, 0, 1)
	if err != nil || rows == nil {
		return all, err
	}
	if len(rows) > 0 && rows[len(rows)-1] >= all.Rows {
		return all,
			fmt.Errorf("learner %q: there are %d predictions for the rows of the table, which has more", g.Name, all.Rows)
	}
	return all.SelectRows(rows), nil
}

// givenTo returns learners that were fitted elsewhere as candidates of a selection.
func (c *call) givenTo(list []given) (all []fitted.Given, err error) {
	for _, g := range list {
		one := fitted.Given{Name: g.Name}
		for i, into := range []*matrix.Dense[float64]{&one.Held, &one.Pool} {
			if *into, err = c.predicted(g, i, 2); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}
