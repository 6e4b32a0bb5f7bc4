package bound

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/budget"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// setCosts reads the costs. Without a number of rows, the batch has at most as many as
// fit into the budget if the cheapest are picked.
func (b *Bound) setCosts() error {
	if b.CostColumn == "" {
		return nil
	}
	if err := b.readCosts(); err != nil {
		return err
	}
	c, spent := &b.Constraints, b.repeated.Sum()
	c.PerCost = b.Ask.PerCost
	switch most := b.Ask.Budget; {
	case most == nil:
		for _, v := range c.Cost {
			c.Budget += v // it never ends the batch
		}
	case !budget.Within(spent, *most):
		return tables.Refuse("%s is %.12g, and the labelled rows that %s measures again cost %.12g",
			b.named("Budget"), *most,
			b.text("ReplicateShare"), spent)
	default:
		c.Budget = budget.Left(*most, spent)
	}
	if !b.OpenEnded() {
		return nil
	}
	var rows []int
	closed := setOf(slices.Concat(c.Exclude, b.Pending))
	for row := range c.Cost {
		if !closed[row] {
			rows = append(rows, row)
		}
	}
	cheapest(rows, c.Cost)
	n := c.Affordable(rows)
	if n == 0 && len(rows) > 0 {
		return tables.Refuse("%s is %.12g, and the cheapest candidate costs %.12g", b.named("Budget"),
			c.Budget, c.Cost[rows[0]])
	}
	b.Batch = max(n, 1)
	return nil
}

// readCosts reads what the measurements of each row of the pool cost.
func (b *Bound) readCosts() error {
	costs, err := b.rows.Candidates().Numeric(b.CostColumn)
	if err != nil {
		return b.ofCandidates(err)
	}
	for _, row := range b.rows.PoolRows {
		v := costs.Float(row)
		problem := ""
		switch {
		case !usable(v):
			problem = "a cost must be there, finite and not negative; correct it"
		case v == 0 && b.Ask.PerCost:
			problem = fmt.Sprintf("with %s a cost must be positive", b.named("PerCost"))
		}
		if problem != "" {
			return b.ofCandidates(&dataset.ColumnError{Column: b.CostColumn, Row: row, Problem: problem})
		}
		b.Cost = append(b.Cost, v*float64(b.Times()))
	}
	return nil
}

// ofCandidates is an error of the table of candidates.
func (b *Bound) ofCandidates(err error) error {
	return &tables.DataError{Cause: b.rows.Names.At(b.rows.Candidates(), err)}
}

// usable reports whether a cost is there, finite and not negative.
func usable(cost float64) bool { return cost >= 0 && !math.IsInf(cost, 1) }

// cheapest sorts rows by their costs.
func cheapest(rows []int, costs []float64) {
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(costs[a], costs[b]) })
}

// mostRows estimates how many rows fit into the budget, before it is known which
// rows of the table are candidates.
func mostRows(a *limits.Ask, t tables.Tables) int {
	c, rows := selection.Constraints{Budget: *a.Budget}, []int(nil)
	costs, err := t.Candidates().Numeric(a.CostColumn)
	if err != nil {
		return 1 // Bind reports it
	}
	for row := range costs.Len() {
		if v := costs.Float(row); v >= 0 {
			rows = append(rows, len(c.Cost))
			c.Cost = append(c.Cost, v*float64(a.Times()))
		}
	}
	cheapest(rows, c.Cost)
	return max(1, c.Affordable(rows))
}

// Spent is what picks cost with the labelled rows that are measured once more, and whether there are costs.
func (b *Bound) Spent(picks []int) (sum float64, known bool) {
	if b.Cost == nil {
		return 0, false
	}
	costs := b.repeated
	for _, row := range picks {
		costs.Add(b.Cost[row])
	}
	return costs.Sum(), true
}

// repeatedText is what measurements of labelled rows cost beside others, if there are any.
func (b *Bound) repeatedText() string {
	if b.repeated.Sum() == 0 {
		return ""
	}
	return fmt.Sprintf(", and the labelled rows that %s measures again %.12g", b.text("ReplicateShare"), b.repeated.Sum())
}

// checkMust rejects rows of Must that together exceed the budget or the limit of a
// group.
func (b *Bound) checkMust() error {
	c := &b.Constraints
	if n := c.Affordable(c.Require); n < len(c.Require) {
		var cost budget.Costs
		for _, row := range c.Require[:n+1] {
			cost.Add(c.Cost[row])
		}
		return tables.Refuse("%s: with row %q the rows cost %.12g%s, but %s is %.12g", b.named("Must"), b.Must[n], cost.Sum(),
			b.repeatedText(), b.named("Budget"), *b.Ask.Budget)
	}
	inGroup := map[int]int{}
	for i, row := range c.Require {
		if c.PerGroup > 0 {
			group := c.Group[row]
			if inGroup[group]++; inGroup[group] > c.PerGroup {
				return tables.Refuse("%s: row %q is number %d of its group in column %q, but %s is %d", b.named("Must"), b.Must[i],
					inGroup[group], b.GroupColumn, b.named("PerGroup"), c.PerGroup)
			}
		}
	}
	return nil
}
