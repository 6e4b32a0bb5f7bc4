package nextbatch

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// constrain fills in the constraints of the problem, and its pending rows.
func (p *Plan) constrain() error {
	r, c := &p.request, &p.problem.Constraints
	byName, labelled, err := p.candidates()
	if err != nil {
		return err
	}
	c.Exclude = labelled
	for _, name := range r.Exclude {
		if at, ok := byName[name]; ok {
			c.Exclude = append(c.Exclude, at)
		} else {
			p.warn("%s: there is no candidate %q", r.named("Exclude"), name)
		}
	}
	if err := p.pend(byName, labelled); err != nil {
		return err
	}
	if err := p.require(byName, len(labelled)); err != nil {
		return err
	}
	if !p.openEnded && len(r.Must) > r.Batch {
		return refuse("%s names %d rows, but the batch has only %d", r.named("Must"), len(r.Must), r.Batch)
	}
	if r.CostColumn != "" {
		if err := p.setCosts(c); err != nil {
			return err
		}
	}
	if r.GroupColumn != "" {
		if err := p.setGroups(c); err != nil {
			return err
		}
	}
	return p.checkMust()
}

// limits puts into words what the batch has to keep to.
func (p *Plan) limits() []string {
	r, list := &p.request, []string{}
	if r.Budget != nil {
		list = append(list, fmt.Sprintf("at most %.12g in all, by column %q", *r.Budget, r.CostColumn))
	}
	if r.PerCost {
		list = append(list, fmt.Sprintf("scores are divided by the costs in column %q", r.CostColumn))
	}
	if r.GroupColumn != "" {
		list = append(list, fmt.Sprintf("at most %s of each group in column %q", words.Count(r.PerGroup, "row", "rows"), r.GroupColumn))
	}
	if n := len(r.Must); n > 0 {
		list = append(list, fmt.Sprintf("%s in the batch", words.Count(n, "row must be", "rows must be")))
	}
	if n := len(p.problem.Constraints.Exclude); n > 0 {
		list = append(list, words.Count(n, "row is excluded", "rows are excluded"))
	}
	return list
}

// pend adds the rows of Pending to the problem. One that has a label meanwhile is no
// longer pending; one that is named twice, as by two batch files, counts once.
func (p *Plan) pend(byName map[string]int, labelled []int) error {
	r := &p.request
	has, pending := setOf(labelled), map[int]bool{}
	var done, incomplete []string
	for _, name := range r.Pending {
		at, candidate := byName[name]
		switch {
		case candidate && has[at], !candidate && p.isLabelled(name):
			done = append(done, name)
		case candidate && !pending[at]:
			pending[at] = true
			p.problem.Pending = append(p.problem.Pending, at)
		case candidate:
		case p.rowOf(r.pool(), name) >= 0:
			incomplete = append(incomplete, name)
		default:
			return p.unknownRow("Pending", name)
		}
	}
	if len(done) > 0 {
		p.warn("%s: %s: %s", r.named("Pending"), words.Count(len(done), "row already has a label and is no longer pending", "rows already have a label and are no longer pending"), words.Some(done))
	}
	if len(incomplete) > 0 {
		p.warn("%s: %s: %s", r.named("Pending"), words.Count(len(incomplete), "row lacks an input, and so does not count", "rows lack an input, and so do not count"), words.Some(incomplete))
	}
	p.Pending = len(p.problem.Pending)
	return nil
}

// isLabelled reports whether a row, by its name, has a label.
func (p *Plan) isLabelled(name string) bool {
	r := &p.request
	if r.Table == nil && r.IDColumn == "" {
		return false // numbers are those of the pool
	}
	row := p.rowOf(r.train(), name)
	if row < 0 {
		return false
	}
	labelled := tables.AnyLabel(r.train(), r.TargetColumns)
	return labelled != nil && labelled(row)
}

func setOf(rows []int) map[int]bool {
	set := make(map[int]bool, len(rows))
	for _, row := range rows {
		set[row] = true
	}
	return set
}

// setCosts reads the costs. Without a number of rows, the batch has at most as many as
// the budget could pay for, those that cost least.
func (p *Plan) setCosts(c *selection.Constraints) error {
	r := &p.request
	costs, err := r.pool().Numeric(r.CostColumn)
	if err != nil {
		return &DataError{r.TableNames.At(r.pool(), err)}
	}
	for _, row := range p.poolRows {
		v := costs.Float(row)
		problem := ""
		switch {
		case !(v >= 0) || math.IsInf(v, 1):
			problem = "a cost must be there, finite and not negative; correct it"
		case v == 0 && r.PerCost:
			problem = fmt.Sprintf("with %s a cost must be positive", r.named("PerCost"))
		}
		if problem != "" {
			err := &dataset.ColumnError{Column: r.CostColumn, Row: row, Problem: problem}
			return &DataError{r.TableNames.At(r.pool(), err)}
		}
		c.Cost = append(c.Cost, v)
	}
	c.PerCost = r.PerCost
	if r.Budget != nil {
		c.Budget = *r.Budget
	} else {
		for _, v := range c.Cost {
			c.Budget += v // it never ends the batch
		}
	}
	if !p.openEnded {
		return nil
	}
	var rows []int
	closed := setOf(slices.Concat(c.Exclude, p.problem.Pending))
	for row := range c.Cost {
		if !closed[row] {
			rows = append(rows, row)
		}
	}
	cheapest(rows, c.Cost)
	n := c.Affordable(rows)
	if n == 0 && len(rows) > 0 {
		return refuse("%s is %.12g, and the cheapest candidate costs %.12g", r.named("Budget"), c.Budget, c.Cost[rows[0]])
	}
	p.Batch = max(n, 1)
	p.problem.Batch, r.Batch = p.Batch, p.Batch
	return nil
}

// cheapest sorts rows by their costs.
func cheapest(rows []int, costs []float64) {
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(costs[a], costs[b]) })
}

// mostRows is about how many rows the budget could pay for, before it is known which
// rows of the table are candidates.
func (r *Request) mostRows() int {
	c := selection.Constraints{Budget: *r.Budget}
	costs, err := r.pool().Numeric(r.CostColumn)
	if err != nil {
		return 1 // setCosts reports it
	}
	for row := range costs.Len() {
		if v := costs.Float(row); v >= 0 {
			c.Cost = append(c.Cost, v)
		}
	}
	rows := tables.UpTo(len(c.Cost))
	cheapest(rows, c.Cost)
	return max(1, c.Affordable(rows))
}

// setGroups reads the groups, and warns of those without a name or without candidates.
func (p *Plan) setGroups(c *selection.Constraints) error {
	r := &p.request
	groups, err := r.pool().Column(r.GroupColumn)
	if err != nil {
		return &DataError{err}
	}
	number, unnamed := map[string]int{}, 0
	for _, row := range p.poolRows {
		name := groups.Format(row)
		if groups.Missing(row) {
			unnamed++
		}
		if _, known := number[name]; !known {
			number[name] = len(number)
		}
		c.Group = append(c.Group, number[name])
	}
	c.PerGroup = r.PerGroup
	if unnamed > 0 {
		p.warn("%s: %s no group in column %q; all such rows together count as one group", r.tableName(r.pool(), "pool"), words.Count(unnamed, "candidate has", "candidates have"), r.GroupColumn)
	}
	p.warnOfEmptyGroups(number)
	return nil
}

// warnOfEmptyGroups warns of groups in the tables that no candidate belongs to.
func (p *Plan) warnOfEmptyGroups(known map[string]int) {
	r := &p.request
	var empty []string
	told := map[string]bool{}
	for _, t := range []*dataset.Table{r.Table, r.Train, r.Pool} {
		if t == nil {
			continue
		}
		groups, err := t.Column(r.GroupColumn)
		if err != nil {
			continue // labelled rows need no groups
		}
		for row := range groups.Len() {
			name := groups.Format(row)
			if _, has := known[name]; !has && !groups.Missing(row) && !told[name] {
				told[name] = true
				empty = append(empty, name)
			}
		}
	}
	if len(empty) > 0 {
		p.warn("column %q: %s: %s", r.GroupColumn, words.Count(len(empty), "group has no candidates, so the batch has no row of it", "groups have no candidates, so the batch has no row of them"), words.Some(empty))
	}
}
