package selection

// Which rows the constraints allow.
//
// Some constraints cannot be met any more once the wrong rows are in the batch: the least number of rows of a group,
// the largest number of groups, and values that rows share. With these, a row may be picked if and only if the batch
// can be completed afterwards (internal/ahead).

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/budget"
	"github.com/nextbatch/nextbatch/selection/internal/ahead"
)

// limits keeps track of the constraints: which pool rows may be picked now.
type limits struct {
	*ahead.Tally
	constraints Constraints
	open        []bool  // may be picked
	room        int     // rows that may be picked
	byCost      []int32 // all rows, the dearest first; nil without costs
	dear        int     // how many of them exceed the remaining budget
	overGroups  int     // groups with more rows than they may have
	ranks       *ranks
	mark        func(row int, open, selected bool) // is notified of changes, unless nil

	ahead lookAhead // nil: no pick can make the others impossible, or the required rows are not in the batch yet

	// slack multiplies budget and group limits while more rows are picked than the
	// final batch will have. Then nothing looks ahead: possible holds for the rows that might be picked before.
	slack    int
	possible []bool
}

// lookAhead knows which rows may be picked so that the batch can be completed.
type lookAhead interface {
	Allows(row int) bool
	// Adding is called before a row is put into the batch, Added afterwards. Added shuts rows that may not be picked any
	// more; shut reports whether a row is one.
	Adding(row int)
	Added(row int, shut func(row int) bool)
	// Fits reports whether the batch, as it is, can be completed; it may have been changed in any way.
	Fits() bool
	// Restart follows a batch that has been changed in any way.
	Restart()
	// Relax gives up what it promises beyond the constraints, and reports whether that was anything.
	Relax() bool
	// Err returns why the questions above could not be answered.
	Err() error
}

// newLimits starts with an empty batch. The rows by their costs are those of dearestFirst.
func newLimits(pool, size int, pending []int, c Constraints, byCost []int32) *limits {
	l := &limits{constraints: c, slack: 1, byCost: byCost, open: make([]bool, pool),
		Tally: &ahead.Tally{Size: size, Cost: c.Cost, Budget: c.Budget, Same: c.Same,
			PerGroup: ahead.PerGroup{Least: c.MinPerGroup, Most: c.PerGroup, Groups: c.MaxGroups},
			Selected: make([]bool, pool), Excluded: make([]bool, pool), Pending: make([]bool, pool)}}
	if c.PerGroup == 0 {
		l.PerGroup.Most = ahead.AnyNumber
	}
	l.NumberGroups(c.Group)
	for _, row := range c.Exclude {
		l.Excluded[row] = true
	}
	for _, row := range pending {
		l.Pending[row], l.Selected[row] = true, true
	}
	l.reopen()
	return l
}

// withRequired returns the limits of a batch that has the required rows.
func (q *question) withRequired(pool int) *limits {
	l := newLimits(pool, q.batch, q.pending, q.constraints, q.dearestFirst())
	for _, row := range q.constraints.Require {
		l.add(row)
	}
	return l
}

// dearestFirst returns all rows, the dearest first; nil without costs. The trials of a run share what its batch has
// sorted.
func (q *question) dearestFirst() []int32 {
	if q.run != nil {
		return q.run.byCost
	}
	cost := q.constraints.Cost
	var rows []int32
	for row := range cost {
		rows = append(rows, int32(row))
	}
	slices.SortFunc(rows, func(a, b int32) int { return ahead.ByCost(cost, b, a) })
	return rows
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
	if l.room == 0 && l.Count < l.Size && l.slack == 1 && l.ahead != nil && l.ahead.Relax() {
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
		l.mark(row, l.open[row], l.Selected[row])
	}
}

func (l *limits) allows(row int) bool {
	return l.Available(row) && (l.Cost == nil || l.pays(row)) &&
		(l.Group == nil || l.InGroup[l.Group[row]] < l.PerGroup.Most*l.slack) &&
		(l.ahead == nil || l.slack > 1 && l.possible[row] || l.slack == 1 && l.ahead.Allows(row))
}

// startAhead starts to look ahead, when the required rows are in the batch.
func (l *limits) startAhead(at *present) error {
	switch {
	case at != nil:
		l.ahead = at.runs.On(l.Tally, at.fixed, at.later, at.value)
	case l.constraints.looksAhead():
		l.ahead = ahead.NewGroups(l.Tally)
	default:
		return nil
	}
	l.reopen()
	return l.ahead.Err()
}

// err returns why it could not be found out which rows may be picked.
func (l *limits) err() error {
	if l.ahead == nil {
		return nil
	}
	return l.ahead.Err()
}

// fits reports whether the batch can be completed so that it meets all constraints.
func (l *limits) fits() bool { return l.ahead == nil || l.ahead.Fits() }

// pays reports whether the budget covers one more row.
func (l *limits) pays(row int) bool {
	return budget.Within(l.Spent.With(l.Cost[row]), l.Budget*float64(l.slack))
}

// add puts a row into the batch, which closes rows; it opens some only if none were left.
func (l *limits) add(row int) {
	looks := l.ahead != nil && l.slack == 1
	if looks {
		l.ahead.Adding(row)
	}
	l.change(row, true, 1)
	l.decide(row)
	if looks {
		l.ahead.Added(row, l.shut)
	}
	if l.Group != nil && l.InGroup[l.Group[row]] == l.PerGroup.Most*l.slack {
		for _, other := range l.Members[l.Group[row]] {
			l.decide(int(other))
		}
	}
	l.closeDear()
	l.relax()
}

// shut closes a row that may not be picked any more, and reports whether it is one.
func (l *limits) shut(row int) bool {
	if l.allows(row) {
		return false
	}
	l.decide(row)
	return true
}

// remove takes a row out of the batch, which may open any other.
func (l *limits) remove(row int) {
	l.change(row, false, -1)
	if l.Cost == nil && l.Group == nil {
		l.decide(row)
		return
	}
	l.reopen()
}

func (l *limits) change(row int, selected bool, sign int) {
	l.Selected[row] = selected
	l.notify(row)
	l.Count += sign
	if l.Cost != nil {
		l.Spent.Add(float64(sign) * l.Cost[row])
	}
	if l.Group != nil {
		before := l.overGroup(row)
		l.InGroup[l.Group[row]] += sign
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
		l.ahead.Restart()
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
	return l.Count > size || l.Cost != nil && !budget.Within(l.Spent.Sum(), l.Budget)
}

func (l *limits) overGroup(row int) bool {
	return l.Group != nil && l.InGroup[l.Group[row]] > l.PerGroup.Most
}

// BudgetSpent is Result.Short where only the budget kept further rows out.
const BudgetSpent = "the remaining budget covers no further candidate"

// whyNone explains why no row may be picked.
func (l *limits) whyNone() string {
	left, paid := 0, 0 // candidates, and those that the budget covers
	for row := range l.open {
		if l.Selected[row] || l.Excluded[row] {
			continue
		}
		if left++; l.Cost == nil || l.pays(row) {
			paid++
		}
	}
	switch {
	case left == 0 && len(l.constraints.Exclude) > 0:
		return "the pool has no more rows that are not excluded"
	case left == 0 && slices.Contains(l.Pending, true):
		return "the pool has no more rows that are not pending"
	case left == 0:
		return "the pool has no more rows"
	case paid == 0:
		return BudgetSpent
	case l.ahead != nil:
		return "there are no more candidates within the constraints"
	case l.Cost == nil:
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
