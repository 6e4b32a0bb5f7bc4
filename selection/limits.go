package selection

// Which rows the constraints allow.
//
// Users give costs as decimal numbers, few of which float64 represents exactly: in
// binary, three times 0.1 is more than 0.3. So costs are within a budget if they exceed
// it by no more than rounding,
//
//	Σ cost ≤ budget·(1 + 2⁻⁵⁰).
//
// Each cost, and the budget, is off by at most 2⁻⁵³ of itself, and the sum is a
// compensated one, which is off by 2⁻⁵³ of itself, however many costs it has. So every
// batch is allowed whose costs, as decimal numbers, add up to no more than the budget,
// and no batch exceeds it by more than four units in the last place.
//
// Some constraints cannot be met any more once the wrong rows are in the batch: the least
// number of rows of a group, the largest number of groups, and values that rows share. With
// these, a row may be picked if and only if the batch can be completed afterwards
// (ahead_groups.go, ahead_runs.go).

import (
	"cmp"
	"slices"
)

// limits keeps track of the constraints: which pool rows may be picked now.
type limits struct {
	constraints Constraints
	open        []bool // may be picked
	selected    []bool // in the batch, or pending
	excluded    []bool
	pending     []bool
	room        int     // rows that may be picked
	count       int     // rows in the batch
	spent       Costs   // their cost
	byCost      []int32 // all rows, the dearest first; nil without costs
	dear        int     // how many of them exceed the remaining budget
	group       []int   // of each row, numbered from 0; nil without groups
	members     [][]int32
	inGroup     []int // rows of the batch in each group
	overGroups  int   // groups with more rows than they may have
	ranks       *ranks
	mark        func(row int, open, selected bool) // is notified of changes, unless nil

	size  int   // of the final batch
	ahead ahead // nil: no pick can make the others impossible, or the required rows are not in the batch yet

	// slack multiplies budget and group limits while more rows are picked than the
	// final batch will have. Then nothing looks ahead: possible holds for the rows that might be picked before.
	slack    int
	possible []bool
}

// ahead knows which rows may be picked so that the batch can be completed.
type ahead interface {
	allows(row int) bool
	// adding is called before a row is put into the batch, added afterwards; added closes rows.
	adding(row int)
	added(row int)
	// fits reports whether the batch, as it is, can be completed; it may have been changed in any way.
	fits() bool
	// restart follows a batch that has been changed in any way.
	restart()
	// relax gives up what it promises beyond the constraints, and reports whether that was anything.
	relax() bool
	// err returns why the questions above could not be answered.
	err() error
}

// newLimits starts with an empty batch. The rows by their costs are those of dearestFirst.
func newLimits(pool, size int, pending []int, c Constraints, byCost []int32) *limits {
	l := &limits{constraints: c, slack: 1, size: size, byCost: byCost,
		open: make([]bool, pool), selected: make([]bool, pool), excluded: make([]bool, pool), pending: make([]bool, pool)}
	l.numberGroups()
	for _, row := range c.Exclude {
		l.excluded[row] = true
	}
	for _, row := range pending {
		l.pending[row], l.selected[row] = true, true
	}
	l.reopen()
	return l
}

func (l *limits) numberGroups() {
	if l.constraints.Group == nil {
		return
	}
	number := map[int]int{}
	l.group = make([]int, len(l.constraints.Group))
	for row, name := range l.constraints.Group {
		at, known := number[name]
		if !known {
			at = len(number)
			number[name] = at
			l.members = append(l.members, nil)
		}
		l.group[row] = at
		l.members[at] = append(l.members[at], int32(row))
	}
	l.inGroup = make([]int, len(number))
}

// dearestFirst returns all rows, the dearest first; nil without costs. The trials of a run share what its batch has
// sorted.
func (q *question) dearestFirst() []int32 {
	if q.run != nil {
		return q.run.runs.limits.byCost
	}
	cost := q.constraints.Cost
	var rows []int32
	for row := range cost {
		rows = append(rows, int32(row))
	}
	slices.SortFunc(rows, func(a, b int32) int { return byCost(cost, b, a) })
	return rows
}

// byCost compares rows by their costs, those of equal cost by their numbers, so that a sort need not be stable: on
// large pools that is several times faster.
func byCost(cost []float64, a, b int32) int {
	if order := cmp.Compare(cost[a], cost[b]); order != 0 {
		return order
	}
	return cmp.Compare(a, b)
}

// reopen decides for each row whether it may be picked.
func (l *limits) reopen() {
	for row := range l.open {
		l.decide(row)
	}
	l.dear = 0
	l.closeDear()
	l.relax()
}

// relax reopens rows if none is open and something else than the constraints has closed them.
func (l *limits) relax() {
	if l.room == 0 && l.count < l.size && l.slack == 1 && l.ahead != nil && l.ahead.relax() {
		l.reopen()
	}
}

// closeDear closes the rows that exceed the remaining budget. The cheaper ones need not
// be checked.
func (l *limits) closeDear() {
	for l.dear < len(l.byCost) && !l.pays(int(l.byCost[l.dear])) {
		l.decide(int(l.byCost[l.dear]))
		l.dear++
	}
}

func (l *limits) decide(row int) {
	if now := l.allows(row); now != l.open[row] {
		l.open[row] = now
		by := 1
		if !now {
			by = -1
		}
		l.room += by
		if l.ranks != nil {
			l.ranks.add(row, by)
		}
		l.notify(row)
	}
}

func (l *limits) notify(row int) {
	if l.mark != nil {
		l.mark(row, l.open[row], l.selected[row])
	}
}

func (l *limits) allows(row int) bool {
	return l.available(row) && (l.constraints.Cost == nil || l.pays(row)) &&
		(l.group == nil || l.inGroup[l.group[row]] < l.constraints.perGroup()*l.slack) &&
		(l.ahead == nil || l.slack > 1 && l.possible[row] || l.slack == 1 && l.ahead.allows(row))
}

// available reports whether a row is a candidate that is not in the batch.
func (l *limits) available(row int) bool { return !l.selected[row] && !l.excluded[row] }

// lookAhead starts to look ahead, when the required rows are in the batch.
func (l *limits) lookAhead(at *present) error {
	switch {
	case at != nil:
		runs := at.runs.on(l)
		runs.start(at.fixed, at.later, at.value)
		runs.settleAll()
		l.ahead = runs
	case l.constraints.looksAhead():
		l.ahead = newGroupAhead(l)
	default:
		return nil
	}
	l.reopen()
	return l.ahead.err()
}

// err returns why it could not be found out which rows may be picked.
func (l *limits) err() error {
	if l.ahead == nil {
		return nil
	}
	return l.ahead.err()
}

// fits reports whether the batch can be completed so that it meets all constraints.
func (l *limits) fits() bool { return l.ahead == nil || l.ahead.fits() }

// pays reports whether the budget covers one more row.
func (l *limits) pays(row int) bool {
	return l.within(l.spent.With(l.constraints.Cost[row]), l.slack)
}

// within reports whether a sum of costs is within a multiple of the budget.
func (l *limits) within(sum float64, slack int) bool {
	return l.constraints.within(sum, slack)
}

// add puts a row into the batch, which closes rows; it opens some only if none were left.
func (l *limits) add(row int) {
	looks := l.ahead != nil && l.slack == 1
	if looks {
		l.ahead.adding(row)
	}
	l.change(row, true, 1)
	l.decide(row)
	if looks {
		l.ahead.added(row)
	}
	if l.group != nil && l.inGroup[l.group[row]] == l.constraints.perGroup()*l.slack {
		for _, other := range l.members[l.group[row]] {
			l.decide(int(other))
		}
	}
	l.closeDear()
	l.relax()
}

// remove takes a row out of the batch, which may open any other.
func (l *limits) remove(row int) {
	l.change(row, false, -1)
	if l.constraints.Cost == nil && l.group == nil {
		l.decide(row)
		return
	}
	l.reopen()
}

func (l *limits) change(row int, selected bool, sign int) {
	l.selected[row] = selected
	l.notify(row)
	l.count += sign
	if l.constraints.Cost != nil {
		l.spent.Add(float64(sign) * l.constraints.Cost[row])
	}
	if l.group != nil {
		before := l.overGroup(row)
		l.inGroup[l.group[row]] += sign
		if l.overGroup(row) != before {
			l.overGroups += sign
		}
	}
}

// setSlack changes the limits to a multiple of those of the constraints.
func (l *limits) setSlack(slack int) {
	if l.ahead != nil && slack > l.slack {
		l.possible = slices.Clone(l.open)
	}
	l.slack = slack
	if l.ahead != nil && slack == 1 {
		l.ahead.restart()
	}
	l.reopen()
}

// rank returns the open row that has n open rows before it. The first call numbers the
// rows; add and remove update the numbers.
func (l *limits) rank(n int) int {
	if l.ranks == nil {
		l.ranks = newRanks(l.open)
	}
	return l.ranks.find(n)
}

// over reports whether the batch has more rows than size, or costs more than the
// budget; overGroup whether the row's group exceeds its limit.
func (l *limits) over(size int) bool {
	return l.count > size || l.constraints.Cost != nil && !l.within(l.spent.Sum(), 1)
}

func (l *limits) overGroup(row int) bool {
	return l.group != nil && l.inGroup[l.group[row]] > l.constraints.perGroup()
}

// BudgetSpent is Result.Short where only the budget kept further rows out.
const BudgetSpent = "the remaining budget covers no further candidate"

// whyNone explains why no row may be picked.
func (l *limits) whyNone() string {
	left, paid := 0, 0 // candidates, and those that the budget covers
	for row := range l.open {
		if l.selected[row] || l.excluded[row] {
			continue
		}
		if left++; l.constraints.Cost == nil || l.pays(row) {
			paid++
		}
	}
	switch {
	case left == 0 && len(l.constraints.Exclude) > 0:
		return "the pool has no more rows that are not excluded"
	case left == 0 && slices.Contains(l.pending, true):
		return "the pool has no more rows that are not pending"
	case left == 0:
		return "the pool has no more rows"
	case paid == 0:
		return BudgetSpent
	case l.ahead != nil:
		return "there are no more candidates within the constraints"
	case l.constraints.Cost == nil:
		return "all groups with candidates left have reached their limit"
	}
	return "there are no more candidates within the budget and the group limits"
}

// ranks finds the n-th open row in logarithmic time: a Fenwick tree.
type ranks struct {
	sums []int // sums[i], from 1, counts the open rows of the range that belongs to i
	top  int   // the largest power of two that does not exceed the number of rows
}

func newRanks(open []bool) *ranks {
	r := &ranks{sums: make([]int, len(open)+1), top: 1}
	for r.top*2 <= len(open) {
		r.top *= 2
	}
	for i := 1; i < len(r.sums); i++ {
		if open[i-1] {
			r.sums[i]++
		}
		if next := i + i&-i; next < len(r.sums) {
			r.sums[next] += r.sums[i]
		}
	}
	return r
}

func (r *ranks) add(row, by int) {
	for i := row + 1; i < len(r.sums); i += i & -i {
		r.sums[i] += by
	}
}

// find returns the open row that has n open rows before it.
func (r *ranks) find(n int) int {
	at := 0
	for step := r.top; step > 0; step /= 2 {
		if at+step < len(r.sums) && r.sums[at+step] <= n {
			at += step
			n -= r.sums[at]
		}
	}
	return at
}
