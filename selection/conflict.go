package selection

// Constraints that no batch meets. A set of constraints is in conflict if no batch meets these, whatever the
// others say. What is reported is a set of the smallest size: constraints are left out one by one
// as long as the rest is in conflict, and then every smaller set is tried.
//
// To leave out the size of the batch is to allow any; but runs have a number and a size, so Runs and the size of the
// batch always go with Same, and count as one with it. With MinPerGroup and MaxGroups, a batch has at least one row.
// MinPerGroup stays a condition on the groups in the batch, if that is what it is, without MaxGroups, too.

import (
	"slices"

	"github.com/nextbatch/nextbatch/selection/internal/ahead"
)

// constraintFields are the fields that may be in conflict, in the order in which they are named.
var constraintFields = []struct {
	name string
	has  func(*question) bool
	drop func(q *question, pool int)
}{
	{"Same", func(q *question) bool { return q.constraints.Same != nil },
		func(q *question, _ int) { q.constraints.Same, q.constraints.Runs = nil, 0 }},
	{"MinPerGroup", func(q *question) bool { return q.constraints.MinPerGroup > 0 },
		func(q *question, _ int) { q.constraints.MinPerGroup = 0 }},
	{"PerGroup", func(q *question) bool { return q.constraints.PerGroup > 0 },
		func(q *question, _ int) { q.constraints.PerGroup = 0 }},
	{"MaxGroups", func(q *question) bool { return q.constraints.MaxGroups > 0 },
		func(q *question, pool int) { q.constraints.MaxGroups = pool }},
	{"Budget", func(q *question) bool { return q.constraints.Cost != nil },
		func(q *question, _ int) { q.constraints.Cost = nil }},
	{"Batch", func(*question) bool { return true },
		func(q *question, pool int) {
			if q.constraints.Same == nil {
				q.batch = pool
			}
		}},
	{"Require", func(q *question) bool { return len(q.constraints.Require) > 0 },
		func(q *question, _ int) { q.constraints.Require = nil }},
	{"Exclude", func(q *question) bool { return len(q.constraints.Exclude) > 0 },
		func(q *question, _ int) { q.constraints.Exclude = nil }},
	{"Pending", func(q *question) bool { return len(q.pending) > 0 },
		func(q *question, _ int) { q.pending = nil }},
}

// Conflict returns a *ConflictError if no batch of a pool of the given number of rows meets the constraints. They must
// be those that Select would take. Select returns the same error; this is for callers that ask before there are
// features.
func (k Constraints) Conflict(pool, batch int, pending []int) error {
	return (&question{constraints: k, batch: batch, pending: pending}).conflict(pool)
}

// conflict returns a *ConflictError if no batch meets the constraints.
func (q *question) conflict(pool int) error {
	if !q.constraints.looksAhead() {
		return nil
	}
	if can, err := q.feasible(pool); can || err != nil {
		return err
	}
	var fields []int
	for i, f := range constraintFields {
		if f.has(q) {
			fields = append(fields, i)
		}
	}
	smallest, err := q.smallest(fields, pool)
	if err != nil {
		return err
	}
	found := &ConflictError{}
	for _, i := range smallest {
		name := constraintFields[i].name
		if found.Fields = append(found.Fields, name); name == "Same" && q.constraints.Runs > 1 {
			found.Fields = append(found.Fields, "Runs")
		}
	}
	if slices.Contains(found.Fields, "Same") && !slices.Contains(found.Fields, "Batch") {
		found.Fields = append(found.Fields, "Batch")
	}
	return found
}

// smallest returns a smallest set of fields in conflict; all of them are.
func (q *question) smallest(fields []int, pool int) ([]int, error) {
	set := slices.Clone(fields)
	for _, i := range slices.Backward(fields) {
		fewer := slices.DeleteFunc(slices.Clone(set), func(k int) bool { return k == i })
		can, err := q.only(fewer, pool).feasible(pool)
		if err != nil {
			return nil, err
		}
		if !can {
			set = fewer
		}
	}
	for size := 1; size < len(set); size++ {
		var found []int
		var failed error
		eachSubset(fields, size, func(some []int) bool {
			can, err := q.only(some, pool).feasible(pool)
			if failed = err; err == nil && !can {
				found = slices.Clone(some)
			}
			return err == nil && can
		})
		if failed != nil || found != nil {
			return found, failed
		}
	}
	return set, nil
}

// only returns the question with these constraints alone.
func (q *question) only(fields []int, pool int) *question {
	one := *q
	for i, f := range constraintFields {
		if f.has(q) && !slices.Contains(fields, i) {
			f.drop(&one, pool)
		}
	}
	return &one
}

// feasible reports whether any batch meets the constraints.
func (q *question) feasible(pool int) (bool, error) {
	l := q.withRequired(pool)
	switch {
	case l.over(q.batch) || l.overGroups > 0:
		return false, nil
	case q.constraints.Same != nil:
		a := ahead.NewRuns(l.Tally)
		can := a.Start(make([]int, len(a.Values)), runSizes(q.batch, q.constraints.Runs), -1)
		return can, a.Err()
	case q.constraints.looksAhead():
		return ahead.NewGroups(l.Tally).Fits() && (l.Count > 0 || q.mayBeEmpty() || l.anyAhead()), nil
	}
	return true, nil
}

// runSizes returns how many rows each run has.
func runSizes(batch, runs int) []int {
	sizes := make([]int, max(1, runs))
	for r := range sizes {
		sizes[r] = batch / len(sizes)
		if r < batch%len(sizes) {
			sizes[r]++
		}
	}
	return sizes
}

// mayBeEmpty reports whether a batch without rows counts. It has no group that could be too small, but
// nobody who asks for groups of some size wants that.
func (q *question) mayBeEmpty() bool {
	return q.constraints.MinPerGroup == 0 || q.constraints.MaxGroups == 0
}

// anyAhead reports whether any row may be the first of a batch that looks ahead at groups.
func (l *limits) anyAhead() bool {
	a := ahead.NewGroups(l.Tally)
	for row := range l.open {
		if l.Available(row) && a.Allows(row) {
			return true
		}
	}
	return false
}

// eachSubset calls f with each subset of the given size, in order, until it returns false.
func eachSubset(list []int, size int, f func([]int) bool) bool {
	some := make([]int, 0, size)
	var choose func(from int) bool
	choose = func(from int) bool {
		if len(some) == size {
			return f(some)
		}
		for i := from; i < len(list); i++ {
			some = append(some, list[i])
			more := choose(i + 1)
			if some = some[:len(some)-1]; !more {
				return false
			}
		}
		return true
	}
	return choose(0)
}
