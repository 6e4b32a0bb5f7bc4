// Package ahead finds the rows that a batch may have next so that it can be completed within constraints that cannot be
// met any more once the wrong rows are in it: the fewest rows of a group, the most groups, and values that rows share.
// A row may be picked if and only if the batch can be completed afterwards.
//
// Tally is a batch in progress. Groups looks ahead at groups (groups.go), Runs at runs of rows that share a value,
// with groups or without (runs.go).
package ahead

import (
	"cmp"
	"math"

	"github.com/nextbatch/nextbatch/internal/budget"
)

// Tally is a batch in progress, and what the final one must meet.
type Tally struct {
	Size     int       // of the final batch
	Cost     []float64 // of each row; nil without costs
	Budget   float64
	Group    []int     // of each row, numbered from 0; nil without groups
	Members  [][]int32 // the rows of each group
	PerGroup PerGroup
	Same     []int // the value of each row; nil without runs

	Selected []bool // in the batch, or pending
	Excluded []bool
	Pending  []bool
	Count    int          // rows in the batch
	Spent    budget.Costs // their cost
	InGroup  []int        // rows of the batch in each group
}

// PerGroup limits how many rows of a group a batch has, and of how many groups; 0 means any number, but for Most.
type PerGroup struct{ Least, Most, Groups int }

// AnyNumber is the Most of groups without a limit; twice as many is a number, too.
const AnyNumber = math.MaxInt / 4

// NumberGroups numbers the groups of the rows, and lists their members.
func (b *Tally) NumberGroups(names []int) {
	if names == nil {
		return
	}
	number := map[int]int{}
	b.Group = make([]int, len(names))
	for row, name := range names {
		at, known := number[name]
		if !known {
			at = len(number)
			number[name] = at
			b.Members = append(b.Members, nil)
		}
		b.Group[row] = at
		b.Members[at] = append(b.Members[at], int32(row))
	}
	b.InGroup = make([]int, len(number))
}

// Available reports whether a row is a candidate that is not in the batch.
func (b *Tally) Available(row int) bool { return !b.Selected[row] && !b.Excluded[row] }

// within reports whether a sum of costs is within the budget, if there is one.
func (b *Tally) within(sum float64) bool { return b.Cost == nil || budget.Within(sum, b.Budget) }

// ByCost compares rows by their costs, those of equal cost by their numbers, so that a sort need not be stable: on
// large pools that is several times faster.
func ByCost(cost []float64, a, b int32) int {
	if order := cmp.Compare(cost[a], cost[b]); order != 0 {
		return order
	}
	return cmp.Compare(a, b)
}
