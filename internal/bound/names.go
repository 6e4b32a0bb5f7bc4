package bound

// Rows that are named: that must, or may not, be in the batch, or are out being labelled; and rows that already have a
// label.

import (
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/tables"
)

// names fills in the rows that are excluded, pending and required.
func (b *Bound) names() error {
	b.warnOfLabels()
	if b.rows.IDColumn == "" && len(b.Ask.Exclude)+len(b.Must)+len(b.Ask.Pending) == 0 {
		return nil
	}
	if err := b.checkIDs(); err != nil {
		return err
	}
	b.byName = make(map[string]int, len(b.rows.PoolRows))
	for at := range b.rows.PoolRows {
		b.byName[b.name(at)] = at
	}
	labelled := b.labelledAlready()
	b.Constraints.Exclude = labelled
	for _, name := range b.Ask.Exclude {
		if at, ok := b.byName[name]; ok {
			b.Constraints.Exclude = append(b.Constraints.Exclude, at)
		} else {
			//warning:no-such-candidate
			b.warn("%s: there is no candidate %q", b.named("Exclude"), name)
		}
	}
	if err := b.pend(labelled); err != nil {
		return err
	}
	return b.require(len(labelled))
}

// checkIDs demands that every candidate has an id, and no two the same.
func (b *Bound) checkIDs() error {
	if b.rows.IDColumn == "" {
		return nil
	}
	pool := b.rows.Candidates()
	labelled := tables.AnyLabel(pool, b.rows.TargetColumns)
	replicated := func(row int) bool { return b.rows.Table != nil && labelled != nil && labelled(row) }
	if err := b.rows.IDs(pool).Check(replicated, b.named("IDColumn")); err != nil {
		return &tables.DataError{Cause: b.rows.Names.At(pool, err)}
	}
	return nil
}

// poolName and trainName are the names of the tables in messages.
func (b *Bound) poolName(otherwise string) string {
	return b.rows.Names.Of(b.rows.Candidates(), otherwise)
}

func (b *Bound) trainName(otherwise string) string { return b.rows.Names.Of(b.rows.Train, otherwise) }

// warnOfLabels warns of candidates in a table of their own that have a label.
func (b *Bound) warnOfLabels() {
	if b.rows.Pool == nil {
		return
	}
	labelled := tables.AnyLabel(b.rows.Pool, b.rows.TargetColumns)
	if labelled == nil {
		return // as it should be
	}
	count := 0
	for _, row := range b.rows.PoolRows {
		if labelled(row) {
			count++
		}
	}
	if count > 0 {
		//warning:labelled-candidates
		b.warn("%s: %s a label in %s, which is ignored; move such rows to %s if they are to count as labelled",
			b.poolName("pool"), words.Count(count, "candidate has", "candidates have"), tables.TargetText(b.rows.TargetColumns),
			b.trainName("a table for "+b.named("Train")))
	}
}

// labelledAlready returns the rows of the pool whose id has a label in the table of
// labelled rows. They remain in the pool that a batch represents but are not picked, so
// that nobody pays for a label twice.
func (b *Bound) labelledAlready() []int {
	train := b.rows.Train
	if b.rows.IDColumn == "" || train == nil {
		return nil
	}
	name := b.trainName("the table of labelled rows")
	ids, err := train.Column(b.rows.IDColumn)
	if err != nil {
		//warning:no-ids
		b.warn("%s has no column %q, so candidates that already have a label there cannot be recognised", name,
			b.rows.IDColumn)
		return nil
	}
	labelled := tables.AnyLabel(train, b.rows.TargetColumns)
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
		at, inPool := b.byName[id]
		if inPool && !seen[id] {
			rows = append(rows, at)
			found = append(found, fmt.Sprintf("%q (%s, there %s)", id,
				b.rows.Pool.Place(b.rows.PoolRows[at], ""), train.Place(row, "")))
		}
		seen[id] = true
	}
	if len(found) > 0 {
		//warning:already-labelled
		b.warn("%s: %s a label in %s and cannot be picked: %s", b.poolName("pool"),
			words.Count(len(found), "candidate already has", "candidates already have"), name, words.Some(found))
	}
	return rows
}

// pend fills in the pending rows. A row that has got a label in the meantime
// is no longer pending; one that is named twice, as by two batch files, counts once.
func (b *Bound) pend(labelled []int) error {
	has, pending := setOf(labelled), map[int]bool{}
	var done, incomplete []string
	for _, name := range b.Ask.Pending {
		at, candidate := b.byName[name]
		switch {
		case candidate && has[at], !candidate && b.isLabelled(name):
			done = append(done, name)
		case candidate && !pending[at]:
			pending[at] = true
			b.Pending = append(b.Pending, at)
		case candidate:
		case b.rows.IDs(b.rows.Candidates()).Row(name) >= 0:
			incomplete = append(incomplete, name)
		default:
			return b.unknownRow("Pending", name)
		}
	}
	if len(done) > 0 {
		//warning:no-longer-pending
		b.warn("%s: %s: %s", b.named("Pending"), words.Count(len(done), "row already has a label and is no longer pending",
			"rows already have a label and are no longer pending"), words.Some(done))
	}
	if len(incomplete) > 0 {
		//warning:pending-without-input
		b.warn("%s: %s: %s", b.named("Pending"), words.Count(len(incomplete), "row lacks an input, and so does not count",
			"rows lack an input, and so do not count"), words.Some(incomplete))
	}
	return nil
}

// isLabelled reports whether a row, by its name, has a label.
func (b *Bound) isLabelled(name string) bool {
	if b.rows.Table == nil && b.rows.IDColumn == "" {
		return false // numbers are those of the pool
	}
	train := b.rows.Labelled()
	row := b.rows.IDs(train).Row(name)
	if row < 0 {
		return false
	}
	labelled := tables.AnyLabel(train, b.rows.TargetColumns)
	return labelled != nil && labelled(row)
}

// require fills in the rows of Must. The first labelled excluded rows are those that already have a label.
func (b *Bound) require(labelled int) error {
	c := &b.Constraints
	excluded, required, pending := map[int]int{}, map[int]bool{}, setOf(b.Pending)
	for i, at := range slices.Backward(c.Exclude) {
		excluded[at] = i
	}
	for _, name := range b.Must {
		at, ok := b.byName[name]
		i, isExcluded := excluded[at]
		switch {
		case !ok:
			return b.noCandidate(name)
		case isExcluded && i < labelled:
			return tables.Unusable("%s: row %q already has a label in %s", b.named("Must"), name,
				b.trainName("the table of labelled rows"))
		case isExcluded:
			return tables.Refuse("row %q is named by both %s and %s", name, b.named("Must"), b.named("Exclude"))
		case pending[at]:
			return tables.Refuse("row %q is named by both %s and %s", name, b.named("Must"), b.named("Pending"))
		case required[at]:
			return tables.Refuse("row %q is named twice by %s", name, b.named("Must"))
		}
		required[at] = true
		c.Require = append(c.Require, at)
	}
	return nil
}

// noCandidate explains why a row of Must cannot be picked.
func (b *Bound) noCandidate(name string) error {
	must, pool := b.named("Must"), b.rows.Candidates()
	row := b.rows.IDs(pool).Row(name)
	switch {
	case row >= 0 && b.rows.Table != nil && b.isLabelled(name):
		return tables.Unusable("%s: row %q is not a candidate, because it has a label in %s", must, name,
			tables.TargetText(b.rows.TargetColumns))
	case row >= 0:
		return tables.Unusable("%s: row %q is not a candidate, because it lacks an input and was dropped; fill in the input",
			must, name)
	case b.rows.Table == nil && b.rows.IDColumn != "" && b.rows.IDs(b.rows.Train).Row(name) >= 0:
		return tables.Unusable("%s: row %q is among the labelled rows, %s, not among the candidates, %s", must, name,
			b.trainName(b.named("Train")), b.poolName(b.named("Pool")))
	}
	return b.unknownRow("Must", name)
}

// unknownRow rejects a name in a field of the ask that no row has.
func (b *Bound) unknownRow(field, name string) error {
	flag := b.named(field)
	switch {
	case b.rows.IDColumn != "":
		return tables.Unusable("%s: there is no candidate %q in column %q", flag, name, b.rows.IDColumn)
	case b.rows.Candidates() != nil:
		return tables.Unusable("%s: there is no row %q; without %s, rows are numbered from 0", flag,
			name, b.named("IDColumn"))
	}
	return tables.Unusable("%s: there is no row %q; the %d candidates are numbered from 0", flag,
		name, len(b.rows.PoolRows))
}
