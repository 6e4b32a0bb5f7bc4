package selection

// Looking ahead at runs. A run r of s(r) rows has one value of Same, and two runs may have the same. The values of the
// first runs are decided; a batch can be completed if and only if the others can get values, with total(v) the
// sizes of all runs of value v, so that
//
//	take(v) = total(v) − rows of the batch that have the value v ≥ 0
//
// rows of every value can be added, take(v, g) of them from group g, with the limits of groups (ahead_groups.go: at
// most PerGroup, at least MinPerGroup of a group that counts, at most MaxGroups groups), and with a cost that is within
// the budget if they are the cheapest of each value and group. A row may be picked if and only if it has the value of
// the present run, and the batch can be completed with it.
//
// Whether that is so, is decided exactly:
//
//   - without groups, by dynamic programming over the values: the least cost for each number of runs of either size;
//   - with groups, for each choice of values: if all rows have one value, by dynamic programming over the groups;
//     otherwise by flows of least cost from values to groups, one for each choice of groups that MaxGroups
//     allows. Choices of values and groups may be many: the search ends with an error after
//     maxChoices of them.
//
// A completion that is known, a witness, makes most of that unnecessary: a row that can take the place of
// another in it, of the same group or of one that has a row to spare, may be picked. Otherwise the search decides.
// Within a value and a group rows close in the order of their costs, since a cheaper row can take the place of a dearer
// one.

import (
	"math"
	"slices"
)

// maxChoices is how many choices of values and groups a search tries before it ends with an error. One that a glance at
// the numbers of rows rules out is only a small part of one for which a flow has to be found.
const (
	maxChoices = 1 << 14
	glances    = 64 // that cost as much as a choice
)

// valueGroup holds the rows that have the same value and the same group.
type valueGroup struct {
	value, group int
	rows         []int32 // candidates, the cheapest first
	left         int     // how many of them are not in the batch
	end          int     // no row from here on may be picked
}

// runAhead looks ahead at runs. Values are numbered from 0, in their order.
type runAhead struct {
	limits  *limits
	each    bool  // only groups that the batch has rows of count
	values  []int // as the constraints name them
	valueOf []int // of each row
	cells   []valueGroup
	cellOf  []int32 // of each candidate; -1 otherwise
	place   []int32 // of each candidate in its cell
	byValue [][]int // cells

	fixed    []int // rows in all runs whose value is decided
	later    []int // the sizes of the others, the largest first
	present  int   // the value of the present run; -1: none
	inValue  []int // rows of the batch
	groups   int
	counting []bool // groups with candidates

	witness []int   // rows of each cell that complete the batch
	cost    float64 // of the batch with them
	full    []int   // rows of each group in the batch with them
	used    int     // how many groups these are
	failed  error

	// verdicts are those of the present step on groups with the same rows in the batch and left: in the last run, without
	// costs, one is like the other.
	verdicts map[[2]int]bool
}

// newRunAhead looks ahead from a batch that has the required rows.
func newRunAhead(l *limits) *runAhead {
	c := &l.constraints
	a := &runAhead{limits: l, each: c.MaxGroups > 0, present: -1, groups: max(1, len(l.members))}
	a.values = slices.Clone(c.Same)
	slices.Sort(a.values)
	a.values = slices.Compact(a.values)
	a.valueOf = make([]int, len(c.Same))
	for row, v := range c.Same {
		a.valueOf[row], _ = slices.BinarySearch(a.values, v)
	}
	a.sortRows()
	return a
}

// on is the same for another batch of the same problem.
func (a *runAhead) on(l *limits) *runAhead {
	other := *a
	other.limits, other.cells, other.failed = l, slices.Clone(a.cells), nil
	return &other
}

func (a *runAhead) groupOf(row int) int {
	if a.limits.group == nil {
		return 0
	}
	return a.limits.group[row]
}

// sortRows puts the candidates into cells.
func (a *runAhead) sortRows() {
	l, cost := a.limits, a.limits.constraints.Cost
	a.cellOf, a.place = make([]int32, len(a.valueOf)), make([]int32, len(a.valueOf))
	a.byValue, a.counting = make([][]int, len(a.values)), make([]bool, a.groups)
	at := map[[2]int]int{}
	for row, v := range a.valueOf {
		a.cellOf[row] = -1
		if l.excluded[row] || l.pending[row] {
			continue
		}
		key := [2]int{v, a.groupOf(row)}
		i, known := at[key]
		if !known {
			i = len(a.cells)
			at[key] = i
			a.cells = append(a.cells, valueGroup{value: v, group: key[1]})
			a.byValue[v] = append(a.byValue[v], i)
			a.counting[key[1]] = true
		}
		a.cellOf[row] = int32(i)
		a.cells[i].rows = append(a.cells[i].rows, int32(row))
	}
	for i := range a.cells {
		rows := a.cells[i].rows
		if cost != nil {
			slices.SortFunc(rows, func(x, y int32) int { return byCost(cost, x, y) })
		}
		for k, row := range rows {
			a.place[row] = int32(k)
		}
	}
}

// count counts the rows of the batch.
func (a *runAhead) count() {
	a.inValue = make([]int, len(a.values))
	for i := range a.cells {
		one := &a.cells[i]
		one.left = 0
		for _, row := range one.rows {
			if a.limits.selected[row] {
				a.inValue[one.value]++
			} else {
				one.left++
			}
		}
	}
}

// start decides the values of the first runs, by the rows of each value in them, and reports whether the batch can be
// completed. The last of these runs, of the value present, is to be picked; -1: there are none.
func (a *runAhead) start(fixed, later []int, present int) bool {
	a.fixed, a.later, a.present = fixed, later, present
	return a.fits()
}

func (a *runAhead) err() error { return a.failed }

// relax has nothing to give up.
func (a *runAhead) relax() bool { return false }

func (a *runAhead) restart() {
	a.count()
	a.search()
	a.settleAll()
}

func (a *runAhead) fits() bool {
	a.count()
	return a.search()
}

// settleAll decides which rows of the present value may be picked.
func (a *runAhead) settleAll() {
	a.verdicts = map[[2]int]bool{}
	for _, i := range a.byValue[a.present] {
		a.cells[i].end = len(a.cells[i].rows)
		a.settle(&a.cells[i])
	}
}

// settle lowers the end of a cell.
func (a *runAhead) settle(one *valueGroup) {
	may := func(k int) bool { return a.possible(int(one.rows[k])) }
	for one.end > 0 && a.limits.selected[one.rows[one.end-1]] {
		one.end--
	}
	if one.end == 0 || may(one.end-1) {
		return
	}
	if a.limits.constraints.Cost == nil {
		one.end = 0 // one row is like the other
		return
	}
	low, high := 0, one.end-1 // rows before low may be picked, those from high on not
	for low < high {
		middle := (low + high) / 2
		k := middle
		for k >= low && a.limits.selected[one.rows[k]] {
			k--
		}
		switch {
		case k < low:
			low = middle + 1
		case may(k):
			low = middle + 1
		default:
			high = k
		}
	}
	one.end = high
}

func (a *runAhead) allows(row int) bool {
	i := a.cellOf[row]
	return a.valueOf[row] == a.present && i >= 0 && int(a.place[row]) < a.cells[i].end
}

// adding exchanges a row of the witness for one that joins the batch.
func (a *runAhead) adding(row int) {
	from := a.exchange(row)
	if from < 0 {
		a.witness = nil
		return
	}
	a.witness[from]--
}

func (a *runAhead) added(row int) {
	a.cells[a.cellOf[row]].left--
	a.inValue[a.valueOf[row]]++
	if a.witness == nil {
		a.search()
	} else {
		a.weigh()
	}
	a.verdicts = map[[2]int]bool{}
	for _, i := range a.byValue[a.present] {
		one := &a.cells[i]
		end := one.end
		a.settle(one)
		for _, other := range one.rows[one.end:end] {
			a.limits.decide(int(other))
		}
	}
}

// weigh describes the batch with the witness.
func (a *runAhead) weigh() {
	a.cost = a.total()
	if a.limits.group == nil {
		return
	}
	a.full, a.used = slices.Clone(a.limits.inGroup), 0
	for i, n := range a.witness {
		a.full[a.cells[i].group] += n
	}
	for _, n := range a.full {
		if n > 0 {
			a.used++
		}
	}
}

// total is what the batch costs with the witness.
func (a *runAhead) total() float64 {
	sum := a.limits.spent
	if a.limits.constraints.Cost != nil {
		for i, n := range a.witness {
			a.cheapest(&sum, &a.cells[i], n)
		}
	}
	return sum.Sum()
}

// cheapest adds the costs of the n cheapest rows of a cell that are not in the batch, and returns the last.
func (a *runAhead) cheapest(sum *Costs, one *valueGroup, n int) (last float64) {
	cost := a.limits.constraints.Cost
	if cost == nil {
		return 0
	}
	for _, row := range one.rows {
		if n == 0 {
			break
		}
		if !a.limits.selected[row] {
			last = cost[row]
			sum.Add(last)
			n--
		}
	}
	return last
}

// within reports whether a cost is within the budget.
func (a *runAhead) within(cost float64) bool {
	return a.limits.constraints.Cost == nil || a.limits.within(cost, 1)
}

// possible reports whether the batch can be completed with a row of the present value.
func (a *runAhead) possible(row int) bool {
	if a.exchange(row) >= 0 {
		return true
	}
	l, one := a.limits, &a.cells[a.cellOf[row]]
	if l.group == nil || l.constraints.Cost != nil || len(a.later) > 0 {
		return a.completesWith(row)
	}
	key := [2]int{l.inGroup[one.group], one.left}
	can, known := a.verdicts[key]
	if !known {
		can = a.completesWith(row)
		a.verdicts[key] = can
	}
	return can
}

// completesWith searches for a completion with a row.
func (a *runAhead) completesWith(row int) bool {
	l, one := a.limits, &a.cells[a.cellOf[row]]
	before, spent := *a, l.spent
	l.selected[row] = true
	one.left--
	a.inValue[one.value]++
	if l.group != nil {
		l.inGroup[one.group]++
	}
	if l.constraints.Cost != nil {
		l.spent.Add(l.constraints.Cost[row])
	}
	found := a.search()
	l.selected[row], l.spent = false, spent
	one.left++
	a.inValue[one.value]--
	if l.group != nil {
		l.inGroup[one.group]--
	}
	failed := a.failed
	*a = before
	a.failed = failed
	return found
}

// exchange returns a cell of the witness of which a row can be left out for the given one, which is of the present
// value; -1 if there is none.
func (a *runAhead) exchange(row int) int {
	if a.witness == nil {
		return -1
	}
	own := int(a.cellOf[row])
	price := 0.0
	if a.limits.constraints.Cost != nil {
		price = a.limits.constraints.Cost[row]
	}
	edge := func(i int) float64 { var sum Costs; return a.cheapest(&sum, &a.cells[i], a.witness[i]) }
	if a.witness[own] > 0 {
		last := edge(own)
		if a.within(a.cost - last + max(price, last)) {
			return own
		}
		return -1
	}
	best, most := -1, math.Inf(-1)
	for _, i := range a.byValue[a.present] {
		if a.witness[i] == 0 || !a.swaps(a.cells[i].group, a.cells[own].group) {
			continue
		}
		if last := edge(i); last > most {
			best, most = i, last
		}
		if a.limits.constraints.Cost == nil {
			break
		}
	}
	if best < 0 || !a.within(a.cost-most+price) {
		return -1
	}
	return best
}

// swaps reports whether the witness still meets the limits of groups with one row less of a group and one more of
// another.
func (a *runAhead) swaps(from, to int) bool {
	c := &a.limits.constraints
	if a.limits.group == nil || from == to {
		return true
	}
	less, more, used := a.full[from]-1, a.full[to]+1, a.used
	if less == 0 {
		used--
	}
	if more == 1 {
		used++
	}
	gone := less == 0 && a.each
	return more <= c.perGroup() && (gone || less >= c.MinPerGroup) && more >= c.MinPerGroup &&
		(!a.each || used <= c.MaxGroups)
}

// search finds a completion of least cost among those that it tries, as the witness, and reports whether there is one.
func (a *runAhead) search() bool {
	a.witness = nil
	l := a.limits
	take := make([]int, len(a.values))
	for v := range take {
		take[v] = a.fixed[v] - a.inValue[v]
	}
	if !a.within(l.spent.Sum()) {
		return false
	}
	if l.group == nil {
		a.completeValues(take)
	} else {
		s := &runSearch{ahead: a, take: take}
		s.completeGroups()
	}
	if a.witness == nil {
		return false
	}
	if a.weigh(); !a.within(a.cost) {
		a.witness = nil
	}
	return a.witness != nil
}
