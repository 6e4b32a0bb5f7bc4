// Package bound binds limits to the rows of a pool.
//
//	Check   rejects limits that make no sense, whatever the rows
//	Bind    turns the limits into selection.Constraints on the rows of a pool
//	Bound   describes them, explains why they cannot hold together, and lists the measurements of a batch
package bound

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/budget"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// Rows are the rows that a batch is chosen from, and the labelled rows beside them.
type Rows struct {
	tables.Tables
	PoolRows  []int // row i of the pool is this row of its table
	TrainRows []int // likewise of the labelled rows; nil without a table of them
}

// Bound is an ask in the numbers of the pool's rows.
type Bound struct {
	selection.Constraints
	Pending  []int    // rows of the pool that are out being labelled
	Batch    int      // rows to pick
	Lines    int      // measurements of the batch; 0 if they are the rows
	Warnings []string // of rows that do not count as the ask says

	wording
	rows     Rows
	seed     uint64
	byName   map[string]int // rows of the pool, where the ask names rows
	shared   [][]string     // the values of Same, by number
	repeats  []int          // labelled rows that the batch measures once more, as rows of their table
	repeated budget.Costs   // what these cost
}

// Bind turns the limits into constraints on the rows of the pool. The seed is that of the labelled rows that are drawn
// to be measured once more. An error is a *tables.RequestError or a *tables.DataError; the warnings up to it are in
// Bound.
func Bind(a limits.Ask, rows Rows, seed uint64) (*Bound, error) {
	b := &Bound{wording: wording{&a, rows.Named}, rows: rows, seed: seed, Batch: Expect(&a, rows.Tables)}
	if a.MeasuresAgain() && a.Batch > 0 {
		b.Lines = a.Batch
	}
	if err := b.names(); err != nil {
		return b, err
	}
	if err := b.drawRepeats(); err != nil {
		return b, err
	}
	if a.Batch > 0 && len(a.Must) > b.Batch {
		return b, tables.Refuse("%s names %d rows, but the batch has only %d", b.named("Must"), len(a.Must), b.Batch)
	}
	for _, bind := range []func() error{b.setCosts, b.setGroups, b.setSame, b.checkMust, b.checkConflict} {
		if err := bind(); err != nil {
			return b, err
		}
	}
	return b, nil
}

// Expect is how many rows the batch will have, as far as the tables tell before it is known which rows are candidates.
func Expect(a *limits.Ask, t tables.Tables) int {
	if a.Batch > 0 {
		return picks(a)
	}
	return mostRows(a, t)
}

// OpenEnded reports whether the batch has as many rows as fit into the budget.
func (b *Bound) OpenEnded() bool { return b.Ask.Batch == 0 }

// name is the user's name of a row of the pool.
func (b *Bound) name(at int) string {
	return b.rows.IDs(b.rows.Candidates()).Name(b.rows.PoolRows[at])
}

func (b *Bound) warn(format string, args ...any) {
	b.Warnings = append(b.Warnings, fmt.Sprintf(format, args...))
}

// checkConflict rejects constraints that no batch meets.
func (b *Bound) checkConflict() error {
	var conflict *selection.ConflictError
	err := b.Conflict(len(b.rows.PoolRows), b.Batch, b.Pending)
	if errors.As(err, &conflict) {
		return b.Explain(conflict)
	}
	if err != nil {
		return b.undecided()
	}
	return nil
}

func setOf(rows []int) map[int]bool {
	set := make(map[int]bool, len(rows))
	for _, row := range rows {
		set[row] = true
	}
	return set
}
