package nextbatch

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// Name returns the user's name of a row of the pool or of the labelled rows: its id, or
// its number in the input, from 0.
func (p *Plan) Name(set selection.Set, at int) string {
	table, row := p.request.pool(), at
	if set == selection.TrainSet {
		table = p.request.train()
		if p.Rows != nil {
			row = p.Rows.TrainRows[at]
		}
	} else {
		row = p.poolRows[at]
	}
	if p.request.IDColumn != "" && table != nil {
		if ids, err := table.Column(p.request.IDColumn); err == nil && !ids.Missing(row) {
			return ids.Format(row)
		}
	}
	return strconv.Itoa(row)
}

// inputRows converts rows of the pool to rows of the input.
func (p *Plan) inputRows(rows []int) []int {
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = p.poolRows[row]
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
		if err := p.checkIDs(); err != nil {
			return nil, nil, &DataError{r.TableNames.At(r.pool(), err)}
		}
	}
	byName = make(map[string]int, len(p.poolRows))
	for at := range p.poolRows {
		byName[p.Name(selection.PoolSet, at)] = at
	}
	return byName, p.labelledAlready(byName), nil
}

// checkIDs rejects candidates without an id, and two with the same.
func (p *Plan) checkIDs() error {
	ids, err := p.request.pool().Column(p.request.IDColumn)
	if err != nil {
		return err
	}
	seen := make(map[string]int, ids.Len())
	for row := range ids.Len() {
		problem := ""
		first, twice := seen[ids.Format(row)]
		switch {
		case ids.Missing(row):
			problem = fmt.Sprintf("the id is missing; fill it in, or leave out %s to number the rows", p.request.named("IDColumn"))
		case twice && p.request.Table != nil && !p.missingLabel(first) && !p.missingLabel(row): // replicates
		case twice:
			problem = fmt.Sprintf("row %d has the same id, %q; give each row an id of its own, or leave out %s to number the rows", first, ids.Format(row), p.request.named("IDColumn"))
		}
		if problem != "" {
			return &dataset.ColumnError{Column: p.request.IDColumn, Row: row, Problem: problem}
		}
		seen[ids.Format(row)] = row
	}
	return nil
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
// labelled rows. Nobody wants to pay for a label twice: they remain in the pool that a
// batch represents but are not picked.
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
			found = append(found, fmt.Sprintf("%q (row %d, there row %d, from 0)", id, p.poolRows[at], row))
		}
		seen[id] = true
	}
	if len(found) > 0 {
		p.warn("%s: %s a label in %s and cannot be picked: %s", r.tableName(r.Pool, "pool"), words.Count(len(found), "candidate already has", "candidates already have"), name, words.Some(found))
	}
	return rows
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
	row := p.rowOf(r.pool(), name)
	switch {
	case row >= 0 && r.Table != nil && !p.missingLabel(row):
		return unusableData("%s: row %q is not a candidate, because it has a label in %s", must, name, tables.TargetText(r.TargetColumns))
	case row >= 0:
		return unusableData("%s: row %q is not a candidate, because it lacks an input and was dropped; fill in the input", must, name)
	case r.Table == nil && r.IDColumn != "" && p.rowOf(r.Train, name) >= 0:
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

// rowOf finds a row of a table by its name, or returns -1.
func (p *Plan) rowOf(t *dataset.Table, name string) int {
	if t == nil {
		return -1
	}
	if p.request.IDColumn == "" {
		if row, err := strconv.Atoi(name); err == nil && row >= 0 && row < t.Rows() {
			return row
		}
		return -1
	}
	ids, err := t.Column(p.request.IDColumn)
	if err != nil {
		return -1
	}
	for row := range t.Rows() {
		if ids.Format(row) == name {
			return row
		}
	}
	return -1
}

func (p *Plan) missingLabel(row int) bool {
	labelled := tables.AnyLabel(p.request.pool(), p.request.TargetColumns)
	return labelled == nil || !labelled(row)
}

// checkMust rejects rows of Must that together exceed the budget or the limit of a
// group.
func (p *Plan) checkMust() error {
	r, c := &p.request, &p.problem.Constraints
	if n := c.Affordable(c.Require); n < len(c.Require) {
		cost := 0.0
		for _, row := range c.Require[:n+1] {
			cost += c.Cost[row]
		}
		return refuse("%s: with row %q the rows cost %.12g, but %s is %.12g", r.named("Must"), r.Must[n], cost, r.named("Budget"), c.Budget)
	}
	inGroup := map[int]int{}
	for i, row := range c.Require {
		if c.Group != nil {
			group := c.Group[row]
			if inGroup[group]++; inGroup[group] > c.PerGroup {
				return refuse("%s: row %q is number %d of its group in column %q, but %s is %d", r.named("Must"), r.Must[i], inGroup[group], r.GroupColumn, r.named("PerGroup"), c.PerGroup)
			}
		}
	}
	return nil
}
