package selection

import (
	"math"
	"slices"
)

// Constraints are conditions that a batch must meet. The zero value has none.
type Constraints struct {
	// Exclude lists pool rows that may not be picked. They remain part of the
	// pool that a batch represents.
	Exclude []int
	// Require lists pool rows that must be in the batch. They come first and
	// count as selected, for the size of the batch and for what is picked next.
	Require []int

	// Cost holds the cost of each pool row; the batch costs at most Budget in
	// total. Without Cost there is no budget.
	Cost   []float64
	Budget float64

	// PerCost has each step pick the row of largest score divided by its cost, which
	// must be positive (percost.go).
	PerCost bool

	// Group holds the group of each pool row; the batch has at most PerGroup rows
	// of any group. Without Group there are no groups.
	Group    []int
	PerGroup int
}

// check reports what is wrong with constraints on a pool of the given number of rows.
func (k *Constraints) check(c *complaints, pool, batch int) {
	excluded := checkRows(c, "Exclude", k.Exclude, pool)
	required := checkRows(c, "Require", k.Require, pool)
	for _, row := range k.Require {
		c.when(excluded[row], "Require", "row %d is excluded", row)
	}
	c.when(len(required) < len(k.Require), "Require", "a row is named twice")
	c.when(len(k.Require) > batch, "Require", "%d rows do not fit into a batch of %d", len(k.Require), batch)
	checkNumbers(c, "Cost", k.Cost, pool)
	c.when(k.Cost == nil && k.Budget != 0, "Budget", "there is a budget but no cost")
	c.when(k.Cost != nil && (!(k.Budget >= 0) || math.IsInf(k.Budget, 1)), "Budget", "the budget must be finite and not negative, not %v", k.Budget)
	c.when(k.PerCost && k.Cost == nil, "PerCost", "there are no costs to divide scores by")
	if at := slices.Index(k.Cost, 0); k.PerCost && at >= 0 {
		c.when(true, "PerCost", "row %d costs nothing, and scores cannot be divided by that", at)
	}
	c.when(k.Group != nil && len(k.Group) != pool, "Group", "there are %d groups for %d pool rows", len(k.Group), pool)
	c.when(k.Group == nil && k.PerGroup != 0, "PerGroup", "there is a limit but there are no groups")
	c.when(k.Group != nil && k.PerGroup <= 0, "PerGroup", "the limit must be positive, not %d", k.PerGroup)
}

// within reports whether a sum of costs is within a multiple of the budget (limits.go).
func (c *Constraints) within(sum float64, slack int) bool {
	return sum <= c.Budget*float64(slack)*(1+0x1p-50)
}

// Affordable returns how many of the rows, taken in order, the budget covers.
func (c *Constraints) Affordable(rows []int) int {
	if c.Cost == nil {
		return len(rows)
	}
	var spent costs
	for i, row := range rows {
		if spent.add(c.Cost[row]); !c.within(spent.sum(), 1) {
			return i
		}
	}
	return len(rows)
}

// costs is a compensated sum (Neumaier's variant of Kahan's): it also sums up what
// rounding loses.
type costs struct{ rounded, lost float64 }

func (c costs) sum() float64 { return c.rounded + c.lost }

func (c costs) with(cost float64) float64 {
	c.add(cost)
	return c.sum()
}

func (c *costs) add(cost float64) {
	sum := c.rounded + cost
	if math.Abs(c.rounded) >= math.Abs(cost) {
		c.lost += (c.rounded - sum) + cost
	} else {
		c.lost += (cost - sum) + c.rounded
	}
	c.rounded = sum
}
