package nextbatch

// The constraints on a batch: rows that must, or may not, be in it, rows that are out being labelled, costs and
// groups. Values that rows share, and conflicts, are in limits_batch.go, measurements in replicates.go.

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
	if err := p.drawRepeats(); err != nil {
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
	if err := p.setSame(c); err != nil {
		return err
	}
	if err := p.checkMust(); err != nil {
		return err
	}
	return p.checkConflict()
}

// limits describes the constraints on the batch.
func (p *Plan) limits() []string {
	r, list := &p.request, []string{}
	if r.Budget != nil {
		list = append(list, fmt.Sprintf("at most %.12g in all, by column %q", *r.Budget, r.CostColumn))
	}
	if r.PerCost {
		list = append(list, fmt.Sprintf("scores are divided by the costs in column %q", r.CostColumn))
	}
	list = append(list, p.batchLimits()...)
	if n := len(r.Must); n > 0 {
		list = append(list, fmt.Sprintf("%s in the batch", words.Count(n, "row must be", "rows must be")))
	}
	if n := len(p.problem.Constraints.Exclude); n > 0 {
		list = append(list, words.Count(n, "row is excluded", "rows are excluded"))
	}
	return list
}

// candidates maps the names of the candidates to rows of the pool, and lists the rows
// of the pool that already have a label in the table of labelled rows. Every candidate
// must have an id, and no two the same.
func (p *Plan) candidates() (byName map[string]int, labelled []int, err error) {
	r := &p.request
	p.warnOfLabels()
	if r.IDColumn == "" && len(r.Exclude)+len(r.Must)+len(r.Pending) == 0 {
		return nil, nil, nil
	}
	if r.IDColumn != "" {
		replicated := func(row int) bool { return r.Table != nil && !p.missingLabel(row) }
		if err := p.ids(r.pool()).Check(replicated, r.named("IDColumn")); err != nil {
			return nil, nil, &DataError{r.TableNames.At(r.pool(), err)}
		}
	}
	byName = make(map[string]int, len(p.poolRows))
	for at := range p.poolRows {
		byName[p.Name(selection.PoolSet, at)] = at
	}
	return byName, p.labelledAlready(byName), nil
}

// warnOfLabels warns of candidates in a table of their own that have a label.
func (p *Plan) warnOfLabels() {
	r := &p.request
	if r.Pool == nil {
		return
	}
	labelled := tables.AnyLabel(r.Pool, r.TargetColumns)
	if labelled == nil {
		return // as it should be
	}
	count := 0
	for _, row := range p.poolRows {
		if labelled(row) {
			count++
		}
	}
	if count > 0 {
		p.warn("%s: %s a label in %s, which is ignored; move such rows to %s if they are to count as labelled",
			r.tableName(r.Pool, "pool"), words.Count(count, "candidate has", "candidates have"), tables.TargetText(r.TargetColumns), r.tableName(r.Train, "a table for "+r.named("Train")))
	}
}

// labelledAlready returns the rows of the pool whose id has a label in the table of
// labelled rows. They remain in the pool that a batch represents but are not picked, so
// that nobody pays for a label twice.
func (p *Plan) labelledAlready(byName map[string]int) []int {
	r := &p.request
	if r.IDColumn == "" || r.Train == nil {
		return nil
	}
	name := r.tableName(r.Train, "the table of labelled rows")
	ids, err := r.Train.Column(r.IDColumn)
	if err != nil {
		p.warn("%s has no column %q, so candidates that already have a label there cannot be recognised", name, r.IDColumn)
		return nil
	}
	labelled := tables.AnyLabel(r.Train, r.TargetColumns)
	if labelled == nil {
		return nil
	}
	var found []string
	var rows []int
	seen := make(map[string]bool, ids.Len())
	for row := range ids.Len() {
		if ids.Missing(row) || !labelled(row) {
			continue
		}
		id := ids.Format(row)
		at, inPool := byName[id]
		if inPool && !seen[id] {
			rows = append(rows, at)
			found = append(found, fmt.Sprintf("%q (%s, there %s)", id, r.Pool.Place(p.poolRows[at], ""), r.Train.Place(row, "")))
		}
		seen[id] = true
	}
	if len(found) > 0 {
		p.warn("%s: %s a label in %s and cannot be picked: %s", r.tableName(r.Pool, "pool"), words.Count(len(found), "candidate already has", "candidates already have"), name, words.Some(found))
	}
	return rows
}

// pend adds the rows of Pending to the problem. A row that has got a label in the meantime
// is no longer pending; one that is named twice, as by two batch files, counts once.
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
		case p.ids(r.pool()).Row(name) >= 0:
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
	row := p.ids(r.train()).Row(name)
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

// require adds the rows of Must to the constraints. The first labelled excluded rows
// are those that already have a label.
func (p *Plan) require(byName map[string]int, labelled int) error {
	r, c := &p.request, &p.problem.Constraints
	excluded, required, pending := map[int]int{}, map[int]bool{}, setOf(p.problem.Pending)
	for i, at := range slices.Backward(c.Exclude) {
		excluded[at] = i
	}
	for _, name := range r.Must {
		at, ok := byName[name]
		i, isExcluded := excluded[at]
		switch {
		case !ok:
			return p.noCandidate(name)
		case isExcluded && i < labelled:
			return unusableData("%s: row %q already has a label in %s", r.named("Must"), name, r.tableName(r.Train, "the table of labelled rows"))
		case isExcluded:
			return refuse("row %q is named by both %s and %s", name, r.named("Must"), r.named("Exclude"))
		case pending[at]:
			return refuse("row %q is named by both %s and %s", name, r.named("Must"), r.named("Pending"))
		case required[at]:
			return refuse("row %q is named twice by %s", name, r.named("Must"))
		}
		required[at] = true
		c.Require = append(c.Require, at)
	}
	return nil
}

// noCandidate explains why a row of Must cannot be picked.
func (p *Plan) noCandidate(name string) error {
	r, must := &p.request, p.request.named("Must")
	row := p.ids(r.pool()).Row(name)
	switch {
	case row >= 0 && r.Table != nil && !p.missingLabel(row):
		return unusableData("%s: row %q is not a candidate, because it has a label in %s", must, name, tables.TargetText(r.TargetColumns))
	case row >= 0:
		return unusableData("%s: row %q is not a candidate, because it lacks an input and was dropped; fill in the input", must, name)
	case r.Table == nil && r.IDColumn != "" && p.ids(r.Train).Row(name) >= 0:
		return unusableData("%s: row %q is among the labelled rows, %s, not among the candidates, %s", must, name,
			r.tableName(r.Train, r.named("Train")), r.tableName(r.Pool, r.named("Pool")))
	}
	return p.unknownRow("Must", name)
}

// unknownRow reports a name in a field of the request that no row has.
func (p *Plan) unknownRow(field, name string) error {
	r, flag := &p.request, p.request.named(field)
	switch {
	case r.IDColumn != "":
		return unusableData("%s: there is no candidate %q in column %q", flag, name, r.IDColumn)
	case r.pool() != nil:
		return unusableData("%s: there is no row %q; without %s, rows are numbered from 0", flag, name, r.named("IDColumn"))
	}
	return unusableData("%s: there is no row %q; the %d candidates are numbered from 0", flag, name, len(p.poolRows))
}

func (p *Plan) missingLabel(row int) bool {
	labelled := tables.AnyLabel(p.request.pool(), p.request.TargetColumns)
	return labelled == nil || !labelled(row)
}

// setCosts reads the costs. Without a number of rows, the batch has at most as many as
// fit into the budget if the cheapest are picked.
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
		c.Cost = append(c.Cost, v*float64(r.replicates()))
	}
	c.PerCost = r.PerCost
	if r.Budget != nil {
		if !selection.Within(p.repeated.Sum(), *r.Budget) {
			return refuse("%s is %.12g, and the labelled rows that %s measures again cost %.12g", r.named("Budget"), *r.Budget, r.limitText("ReplicateShare"), p.repeated.Sum())
		}
		c.Budget = selection.Left(*r.Budget, p.repeated.Sum())
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

// mostRows estimates how many rows fit into the budget, before it is known which
// rows of the table are candidates.
func (r *Request) mostRows() int {
	c, rows := selection.Constraints{Budget: *r.Budget}, []int(nil)
	costs, err := r.pool().Numeric(r.CostColumn)
	if err != nil {
		return 1 // setCosts reports it
	}
	for row := range costs.Len() {
		if v := costs.Float(row); v >= 0 {
			rows = append(rows, len(c.Cost))
			c.Cost = append(c.Cost, v*float64(r.replicates()))
		}
	}
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
	c.PerGroup, c.MinPerGroup, c.MaxGroups = r.PerGroup, r.MinPerGroup, r.MaxGroups
	if c.PerGroup == 0 && c.MinPerGroup == 0 && c.MaxGroups == 0 { // plates alone keep groups apart
		c.Group = nil
		return nil
	}
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

// repeatedText is what measurements of labelled rows cost beside others, if there are any.
func (p *Plan) repeatedText() string {
	if p.repeated.Sum() == 0 {
		return ""
	}
	return fmt.Sprintf(", and the labelled rows that %s measures again %.12g", p.request.limitText("ReplicateShare"), p.repeated.Sum())
}

// checkMust rejects rows of Must that together exceed the budget or the limit of a
// group.
func (p *Plan) checkMust() error {
	r, c := &p.request, &p.problem.Constraints
	if n := c.Affordable(c.Require); n < len(c.Require) {
		var cost selection.Costs
		for _, row := range c.Require[:n+1] {
			cost.Add(c.Cost[row])
		}
		return refuse("%s: with row %q the rows cost %.12g%s, but %s is %.12g", r.named("Must"), r.Must[n], cost.Sum(), p.repeatedText(), r.named("Budget"), *r.Budget)
	}
	inGroup := map[int]int{}
	for i, row := range c.Require {
		if c.PerGroup > 0 {
			group := c.Group[row]
			if inGroup[group]++; inGroup[group] > c.PerGroup {
				return refuse("%s: row %q is number %d of its group in column %q, but %s is %d", r.named("Must"), r.Must[i], inGroup[group], r.GroupColumn, r.named("PerGroup"), c.PerGroup)
			}
		}
	}
	return nil
}
