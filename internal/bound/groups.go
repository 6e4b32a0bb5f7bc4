package bound

import (
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/tables"
)

// setGroups reads the groups, and warns of those without a name or without candidates.
func (b *Bound) setGroups() error {
	if b.GroupColumn == "" {
		return nil
	}
	groups, err := b.rows.Candidates().Column(b.GroupColumn)
	if err != nil {
		return &tables.DataError{Cause: err}
	}
	if !b.Grouped() { // plates alone keep groups apart
		return nil
	}
	c, number, unnamed := &b.Constraints, map[string]int{}, 0
	for _, row := range b.rows.PoolRows {
		name := groups.Format(row)
		if groups.Missing(row) {
			unnamed++
		}
		if _, known := number[name]; !known {
			number[name] = len(number)
		}
		c.Group = append(c.Group, number[name])
	}
	c.PerGroup, c.MinPerGroup, c.MaxGroups = b.Ask.PerGroup, b.Ask.MinPerGroup, b.Ask.MaxGroups
	if unnamed > 0 {
		//warning:no-group
		b.warn("%s: %s no group in column %q; all such rows together count as one group", b.poolName("pool"),
			words.Count(unnamed, "candidate has", "candidates have"), b.GroupColumn)
	}
	b.warnOfEmptyGroups(number)
	return nil
}

// warnOfEmptyGroups warns of groups in the tables that no candidate belongs to.
func (b *Bound) warnOfEmptyGroups(known map[string]int) {
	var empty []string
	told := map[string]bool{}
	for _, t := range []*dataset.Table{b.rows.Table, b.rows.Train, b.rows.Pool} {
		if t == nil {
			continue
		}
		groups, err := t.Column(b.GroupColumn)
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
		//warning:empty-groups
		b.warn("column %q: %s: %s", b.GroupColumn, words.Count(len(empty),
			"group has no candidates, so the batch has no row of it",
			"groups have no candidates, so the batch has no row of them"), words.Some(empty))
	}
}

// groupName is the name of a group, by its number.
func (b *Bound) groupName(g int) string {
	column, err := b.rows.Candidates().Column(b.GroupColumn)
	if at := slices.Index(b.Group, g); err == nil && at >= 0 {
		return column.Format(b.rows.PoolRows[at])
	}
	return ""
}
