package ahead

// Looking ahead at runs. A run r of s(r) rows has one value of Same, and two runs may have the same. The values of the
// first runs are decided; a batch can be completed if and only if the others can get values, with total(v) the
// sizes of all runs of value v, so that
//
//	take(v) = total(v) − rows of the batch that have the value v ≥ 0
//
// rows of every value can be added, take(v, g) of them from group g, within the limits of groups (PerGroup:
// at most Most, at least Least of a group that counts, at most so many Groups), and with a cost that is within the
// budget if they are the cheapest of each value and group. A row may be picked if and only if it has the value of the
// present run, and the batch can be completed with it.
//
// Whether that is so, is decided exactly:
//
//   - without groups, by dynamic programming over the values: the least cost for each number of runs of either size
//     (values.go);
//   - with groups, for each choice of values (choices.go): if all rows have one value, by dynamic programming over the
//     groups; otherwise by flows of least cost from values to groups (flow.go), one for each choice of groups that is
//     allowed. Choices of values and groups may be many: the search ends with an error after maxChoices of them.
//
// A completion that is known, a witness, makes most of that unnecessary: a row that can take the place of
// another in it, of the same group or of one that has a row to spare, may be picked. Otherwise the search decides.
// Within a value and a group rows close in the order of their costs, since a cheaper row can take the place of a dearer
// one.

import (
	"cmp"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/budget"
)

// Runs looks ahead at runs.
type Runs struct {
	cells
	fixed   []int // rows in all runs whose value is decided
	later   []int // the sizes of the others, the largest first
	present int   // the value of the present run; -1: none

	witness []int   // rows of each cell that complete the batch
	cost    float64 // of the batch with them
	full    []int   // rows of each group in the batch with them
	used    int     // how many groups these are
	failed  error

	// verdicts are those of the present step on groups with the same rows in the batch and left: in the last run, without
	// costs, one is like the other.
	verdicts map[[2]int]bool
}

// NewRuns looks ahead from a batch that has the required rows.
func NewRuns(b *Tally) *Runs { return &Runs{cells: newCells(b), present: -1} }

// On is the same for another batch of the same problem, started, with the rows decided that may be picked.
func (a *Runs) On(b *Tally, fixed, later []int, present int) *Runs {
	other := *a
	other.batch, other.list, other.failed = b, slices.Clone(a.list), nil
	other.Start(fixed, later, present)
	other.settleAll()
	return &other
}

// Start decides the values of the first runs, by the rows of each value in them, and reports whether the batch can be
// completed. The last of these runs, of the value present, is to be picked; -1: there are none.
func (a *Runs) Start(fixed, later []int, present int) bool {
	a.fixed, a.later, a.present = fixed, later, present
	return a.Fits()
}

// Err returns why a search has found no answer.
func (a *Runs) Err() error { return a.failed }

// Relax has nothing to give up.
func (a *Runs) Relax() bool { return false }

// Restart follows a batch that has been changed in any way.
func (a *Runs) Restart() {
	a.Count()
	a.search()
	a.settleAll()
}

// Fits reports whether the batch can be completed.
func (a *Runs) Fits() bool {
	a.Count()
	return a.search()
}

// settleAll decides which rows of the present value may be picked.
func (a *Runs) settleAll() {
	a.verdicts = map[[2]int]bool{}
	for _, i := range a.byValue[a.present] {
		a.list[i].end = len(a.list[i].rows)
		a.settle(&a.list[i])
	}
}

// settle lowers the end of a cell.
func (a *Runs) settle(one *valueGroup) {
	may := func(k int) bool { return a.possible(int(one.rows[k])) }
	for one.end > 0 && a.batch.Selected[one.rows[one.end-1]] {
		one.end--
	}
	if one.end == 0 || may(one.end-1) {
		return
	}
	if a.batch.Cost == nil {
		one.end = 0 // one row is like the other
		return
	}
	low, high := 0, one.end-1 // rows before low may be picked, those from high on not
	for low < high {
		middle := (low + high) / 2
		k := middle
		for k >= low && a.batch.Selected[one.rows[k]] {
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

// Allows reports whether a row may be picked.
func (a *Runs) Allows(row int) bool {
	i := a.cellOf[row]
	return a.ValueOf[row] == a.present && i >= 0 && int(a.place[row]) < a.list[i].end
}

// Adding exchanges a row of the witness for one that joins the batch.
func (a *Runs) Adding(row int) {
	from := a.exchange(row)
	if from < 0 {
		a.witness = nil
		return
	}
	a.witness[from]--
}

// Added follows a row that has joined the batch.
func (a *Runs) Added(row int, shut func(row int) bool) {
	a.list[a.cellOf[row]].left--
	a.inValue[a.ValueOf[row]]++
	if a.witness == nil {
		a.search()
	} else {
		a.weigh()
	}
	a.verdicts = map[[2]int]bool{}
	for _, i := range a.byValue[a.present] {
		one := &a.list[i]
		end := one.end
		a.settle(one)
		for _, other := range one.rows[one.end:end] {
			shut(int(other))
		}
	}
}

// weigh describes the batch with the witness.
func (a *Runs) weigh() {
	a.cost = a.total(a.witness)
	if a.batch.Group == nil {
		return
	}
	a.full, a.used = slices.Clone(a.batch.InGroup), 0
	for i, n := range a.witness {
		a.full[a.list[i].group] += n
	}
	for _, n := range a.full {
		if n > 0 {
			a.used++
		}
	}
}

// possible reports whether the batch can be completed with a row of the present value.
func (a *Runs) possible(row int) bool {
	if a.exchange(row) >= 0 {
		return true
	}
	l, one := a.batch, &a.list[a.cellOf[row]]
	if l.Group == nil || l.Cost != nil || len(a.later) > 0 {
		return a.completesWith(row)
	}
	key := [2]int{l.InGroup[one.group], one.left}
	can, known := a.verdicts[key]
	if !known {
		can = a.completesWith(row)
		a.verdicts[key] = can
	}
	return can
}

// completesWith searches for a completion with a row.
func (a *Runs) completesWith(row int) bool {
	l, one := a.batch, &a.list[a.cellOf[row]]
	before, spent := *a, l.Spent
	l.Selected[row] = true
	one.left--
	a.inValue[one.value]++
	if l.Group != nil {
		l.InGroup[one.group]++
	}
	if l.Cost != nil {
		l.Spent.Add(l.Cost[row])
	}
	found := a.search()
	l.Selected[row], l.Spent = false, spent
	one.left++
	a.inValue[one.value]--
	if l.Group != nil {
		l.InGroup[one.group]--
	}
	failed := a.failed
	*a = before
	a.failed = failed
	return found
}

// exchange returns a cell of the witness of which a row can be left out for the given one, which is of the present
// value; -1 if there is none.
func (a *Runs) exchange(row int) int {
	if a.witness == nil {
		return -1
	}
	own := int(a.cellOf[row])
	price := 0.0
	if a.batch.Cost != nil {
		price = a.batch.Cost[row]
	}
	edge := func(i int) float64 { var sum budget.Costs; return a.cheapest(&sum, &a.list[i], a.witness[i]) }
	if a.witness[own] > 0 {
		last := edge(own)
		if a.batch.within(a.cost - last + max(price, last)) {
			return own
		}
		return -1
	}
	best, most := -1, math.Inf(-1)
	for _, i := range a.byValue[a.present] {
		if a.witness[i] == 0 || !a.swaps(a.list[i].group, a.list[own].group) {
			continue
		}
		if last := edge(i); last > most {
			best, most = i, last
		}
		if a.batch.Cost == nil {
			break
		}
	}
	if best < 0 || !a.batch.within(a.cost-most+price) {
		return -1
	}
	return best
}

// swaps reports whether the witness still meets the limits of groups with one row less of a group and one more of
// another.
func (a *Runs) swaps(from, to int) bool {
	limit := a.batch.PerGroup
	if a.batch.Group == nil || from == to {
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
	return more <= limit.Most && (gone || less >= limit.Least) && more >= limit.Least &&
		(!a.each || used <= limit.Groups)
}

// search finds a completion of least cost among those that it tries, as the witness, and reports whether there is one.
func (a *Runs) search() bool {
	a.witness = nil
	l := a.batch
	take := make([]int, len(a.Values))
	for v := range take {
		take[v] = a.fixed[v] - a.inValue[v]
	}
	if !a.batch.within(l.Spent.Sum()) {
		return false
	}
	if l.Group == nil {
		a.witness = a.completeValues(take, a.later)
	} else {
		found, err := a.completeGroups(take, a.later)
		a.witness, a.failed = found, cmp.Or(err, a.failed)
	}
	if a.witness == nil {
		return false
	}
	if a.weigh(); !a.batch.within(a.cost) {
		a.witness = nil
	}
	return a.witness != nil
}
