package selection

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/budget"
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
	// of any group, and rows of at most MaxGroups groups; 0 means any number. It has at least MinPerGroup
	// rows of every group that has candidates or, with MaxGroups, of each group that it has
	// rows of. Without Group there are no groups.
	Group       []int
	PerGroup    int
	MinPerGroup int
	MaxGroups   int

	// Same holds a value of each pool row, not negative. The batch is Runs runs, and the rows of a run share
	// the value (runs.go); 0 means one run. Each run has batch/Runs rows, the first ones one more if
	// the number does not divide the batch. With Same the batch is never smaller than requested.
	Same []int
	Runs int
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
	c.when(k.Cost != nil && (!(k.Budget >= 0) || math.IsInf(k.Budget, 1)), "Budget",
		"the budget must be finite and not negative, not %v", k.Budget)
	c.when(k.PerCost && k.Cost == nil, "PerCost", "there are no costs to divide scores by")
	if at := slices.Index(k.Cost, 0); k.PerCost && at >= 0 {
		c.when(true, "PerCost", "row %d costs nothing, and scores cannot be divided by that", at)
	}
	c.when(k.Group != nil && len(k.Group) != pool, "Group", "there are %d groups for %d pool rows", len(k.Group), pool)
	for _, of := range []struct {
		field string
		limit int
	}{{"PerGroup", k.PerGroup}, {"MinPerGroup", k.MinPerGroup}, {"MaxGroups", k.MaxGroups}} {
		c.when(k.Group == nil && of.limit != 0, of.field, "there is a limit but there are no groups")
		c.when(k.Group != nil && of.limit < 0, of.field, "the limit must be positive, not %d", of.limit)
	}
	c.when(k.Group != nil && k.PerGroup == 0 && k.MinPerGroup == 0 && k.MaxGroups == 0, "PerGroup",
		"the limit must be positive, not %d", k.PerGroup)
	k.checkRuns(c, pool, batch)
}

func (k *Constraints) checkRuns(c *complaints, pool, batch int) {
	c.when(k.Same != nil && len(k.Same) != pool, "Same", "there are %d values for %d pool rows", len(k.Same), pool)
	if at := slices.IndexFunc(k.Same, func(v int) bool { return v < 0 }); at >= 0 {
		c.when(true, "Same", "the value of row %d is %d, but must not be negative", at, k.Same[at])
	}
	c.when(k.Runs < 0, "Runs", "the number must be positive, not %d", k.Runs)
	c.when(k.Same == nil && k.Runs > 1, "Runs", "there are runs, but no values that their rows share")
	c.when(k.Runs > batch, "Runs", "%d runs have no row each in a batch of %d", k.Runs, batch)
}

// looksAhead reports whether a pick may make it impossible to meet a constraint later.
func (k *Constraints) looksAhead() bool { return k.MinPerGroup > 0 || k.MaxGroups > 0 || k.Same != nil }

// Affordable returns how many of the rows, taken in order, the budget covers.
func (c *Constraints) Affordable(rows []int) int {
	if c.Cost == nil {
		return len(rows)
	}
	var spent budget.Costs
	for i, row := range rows {
		if spent.Add(c.Cost[row]); !budget.Within(spent.Sum(), c.Budget) {
			return i
		}
	}
	return len(rows)
}
