package ahead

// Looking ahead at groups, without values that rows share. Let the batch have n rows at most, and so far a rows, of
// which in(g) are of group g. Group g has candidates(g) rows that may be in the batch at all, so it holds at most
//
//	room(g) = min(PerGroup.Most, candidates(g))
//
// rows of the batch. PerGroup.Least is m. A group counts if m rows of it are needed: every group with candidates or,
// if the number of groups is limited (PerGroup.Groups), each group that the batch has rows of. Then
//
//	lack(g) = max(0, m − in(g))  rows of a group that counts are missing,
//	least   = a + Σ lack(g)      is the fewest rows of any complete batch that has these,
//	reserve = Σ cost of the lack(g) cheapest available rows of g.
//
// The batch can be completed if and only if every group that counts has room(g) ≥ m, least ≤ n, no more groups have
// rows than may, the cost of the batch plus reserve is within the budget, and the size below can be reached. A row x
// of group g may be picked if and only if that holds with x. Then g lacks need(g) rows with x, at least one, and these
// cost least if they are x and the cheapest ones: with lead(g) the cost of the need(g) − 1 cheapest rows, and edge(g)
// that of the next,
//
//	lead(g) + max(cost(x), edge(g)),
//
// whether x is among the cheapest or not. So rows of a group close in the order of their costs.
//
// A batch may be smaller than n if the budget, PerGroup.Most or the pool end it, but not because picks were spread
// over small groups: with a limit on groups a row may only be picked if the batch can still, the budget aside, reach a
// size that was promised. From least rows in groups that count, j further groups add between j·max(1, m) and the sum
// of their rooms, and every number between. So the largest size, the budget aside, is
//
//	min(n, Σ room of the groups in the batch + the j largest rooms of the others that hold max(1, m) rows)
//
// with the largest j that PerGroup.Groups and n ≥ least + j·max(1, m) allow. Without a budget, that is what the
// required rows promise. With a budget, it is the size of a batch within all constraints: the j other groups of which
// the budget, alone, would pay for most rows, of equal ones the cheapest, and the cheapest rows of these and of the
// groups in the batch.
//
// The budget may run out before the promise is kept, and what is left of it pay for rows in small groups alone. So when
// no row may be picked, the promise ends: rows that the other conditions allow may be picked.

import (
	"cmp"
	"slices"

	"github.com/nextbatch/nextbatch/internal/budget"
)

// Groups looks ahead at groups.
type Groups struct {
	batch    *Tally
	each     bool // only groups that the batch has rows of count
	min      int  // m
	most     int  // groups that the batch may have rows of
	groups   []groupOutlook
	byRoom   []int // groups without rows in the batch that can hold enough of them, the largest room first
	top      []int // top[j] is the sum of the j largest rooms
	promised int   // the size that picks may not rule out; 0 if the promise has ended

	used, least, room int // groups in the batch; least; the room of these groups
	wholly            bool
	spent             budget.Costs // what the batch and the reserve cost
}

// groupOutlook is what may become of a group.
type groupOutlook struct {
	rows       []int32 // all rows, the cheapest first
	end        int     // no row from here on may be picked
	room       int
	place      int // in byRoom; -1 if it is not there
	need       int // rows with the next pick
	lead, edge float64
	reserved   float64 // what the rows that it lacks cost
	open       bool
	without    budget.Costs // what the batch costs with the rows that it needs, less the pick or edge
}

// NewGroups looks ahead from a batch that has the required rows.
func NewGroups(b *Tally) *Groups {
	a := &Groups{batch: b, each: b.PerGroup.Groups > 0, min: b.PerGroup.Least, most: len(b.Members),
		groups: make([]groupOutlook, len(b.Members))}
	if a.each {
		a.most = min(a.most, b.PerGroup.Groups)
	}
	for g := range a.groups {
		one := &a.groups[g]
		one.rows = slices.Clone(b.Members[g])
		if b.Cost != nil {
			slices.SortFunc(one.rows, func(x, y int32) int { return ByCost(b.Cost, x, y) })
		}
		for _, row := range one.rows {
			if !b.Excluded[row] && !b.Pending[row] {
				one.room++
			}
		}
		one.room = min(one.room, b.PerGroup.Most)
	}
	a.Restart()
	a.promised = a.promise()
	a.outlook()
	return a
}

// counts reports whether the minimum applies to a group.
func (a *Groups) counts(g int) bool {
	return a.batch.InGroup[g] > 0 || !a.each && a.groups[g].room > 0
}

func (a *Groups) lack(g int) int {
	if !a.counts(g) {
		return 0
	}
	return max(0, a.min-a.batch.InGroup[g])
}

// unit is the fewest rows of a group in the batch.
func (a *Groups) unit() int { return max(1, a.min) }

// Restart follows a batch that has been changed in any way.
func (a *Groups) Restart() {
	a.byRoom = a.byRoom[:0]
	for g := range a.groups {
		one := &a.groups[g]
		one.end, one.open = len(one.rows), true
		one.place = -1
		if a.batch.InGroup[g] == 0 && one.room >= a.unit() {
			a.byRoom = append(a.byRoom, g)
		}
		a.price(g)
	}
	slices.SortStableFunc(a.byRoom, func(x, y int) int { return cmp.Compare(a.groups[y].room, a.groups[x].room) })
	a.rank()
	a.sum()
	a.outlook()
}

// rank numbers the groups without rows.
func (a *Groups) rank() {
	a.top = append(a.top[:0], 0)
	for i, g := range a.byRoom {
		a.groups[g].place = i
		a.top = append(a.top, a.top[i]+a.groups[g].room)
	}
}

// price computes what the rows of a group cost that are needed with its next pick, and those that it lacks.
func (a *Groups) price(g int) {
	one := &a.groups[g]
	one.need = max(1, a.lack(g))
	if !a.counts(g) {
		one.need = a.unit()
	}
	cost := a.batch.Cost
	if cost == nil {
		return
	}
	one.lead, one.edge, one.reserved = 0, 0, 0
	var sum budget.Costs
	left := one.need
	for _, row := range one.rows {
		if !a.batch.Available(int(row)) {
			continue
		}
		one.edge = cost[row]
		if left--; left == 0 {
			break
		}
		sum.Add(cost[row])
	}
	if one.lead = sum.Sum(); a.lack(g) > 0 {
		one.reserved = sum.With(one.edge)
	}
}

// sum adds up the groups.
func (a *Groups) sum() {
	a.used, a.least, a.room, a.spent, a.wholly = 0, a.batch.Count, 0, a.batch.Spent, true
	for g := range a.groups {
		one := &a.groups[g]
		if a.batch.InGroup[g] > 0 {
			a.used++
			a.room += one.room
		}
		lack := a.lack(g)
		a.least += lack
		if lack > 0 {
			a.spent.Add(one.reserved)
		}
		a.wholly = a.wholly && (!a.counts(g) || one.room >= max(a.min, a.batch.InGroup[g]))
	}
}

// reach is the largest size of a complete batch, the budget aside, if it has at least these rows, in groups of this
// room; another group is left out, unless it is -1.
func (a *Groups) reach(least, room, used, without int) int {
	if !a.each {
		return a.batch.Size // as large as the pool allows, whatever is picked
	}
	others := len(a.byRoom)
	inTop := false
	if without >= 0 && a.groups[without].place >= 0 {
		others--
	}
	j := max(0, min(a.most-used, others, (a.batch.Size-least)/a.unit()))
	if without >= 0 {
		inTop = a.groups[without].place >= 0 && a.groups[without].place < j
	}
	if inTop {
		return min(a.batch.Size, room+a.top[j+1]-a.groups[without].room)
	}
	return min(a.batch.Size, room+a.top[j])
}

// promise is the size of a batch within all constraints.
func (a *Groups) promise() int {
	if !a.each || a.batch.Cost == nil {
		return a.reach(a.least, a.room, a.used, -1)
	}
	spent, size := a.spent, a.least
	var further []int32
	for g := range a.groups {
		if in := a.batch.InGroup[g]; in > 0 {
			rows := a.cheapest(g, a.groups[g].room-in)
			further = append(further, rows[min(len(rows), a.lack(g)):]...)
		}
	}
	left := min(a.most-a.used, (a.batch.Size-a.least)/a.unit())
	for _, rows := range a.payable() {
		enough := rows[:min(len(rows), a.min)] // a single row is not a minimum: the group may be left out
		sum := a.sumOf(spent, enough)
		if left == 0 {
			break
		}
		if len(enough) > 1 && !a.within(sum) {
			continue
		}
		if len(enough) > 1 {
			spent, size, rows = sum, size+len(enough), rows[len(enough):]
		}
		further = append(further, rows...)
		left--
	}
	slices.SortFunc(further, func(x, y int32) int { return ByCost(a.batch.Cost, x, y) })
	return min(a.batch.Size, size+len(a.paid(spent, further)))
}

// payable returns, for each group without rows in the batch, the cheapest ones that the budget would pay for if there
// were no other groups, the longest list first. There are enough of them for the minimum.
func (a *Groups) payable() (lists [][]int32) {
	for g := range a.groups {
		if a.groups[g].place < 0 {
			continue
		}
		if rows := a.paid(a.spent, a.cheapest(g, a.groups[g].room)); len(rows) >= a.unit() {
			lists = append(lists, rows)
		}
	}
	slices.SortStableFunc(lists, func(x, y []int32) int {
		none := budget.Costs{}
		return cmp.Or(cmp.Compare(len(y), len(x)), cmp.Compare(a.sumOf(none, x).Sum(), a.sumOf(none, y).Sum()))
	})
	return lists
}

// cheapest returns the cheapest candidates of a group that are not in the batch, at most n.
func (a *Groups) cheapest(g, n int) (rows []int32) {
	for _, row := range a.groups[g].rows {
		if len(rows) >= min(n, a.batch.Size) {
			break
		}
		if a.batch.Available(int(row)) {
			rows = append(rows, row)
		}
	}
	return rows
}

// sumOf adds the costs of rows.
func (a *Groups) sumOf(spent budget.Costs, rows []int32) budget.Costs {
	for _, row := range rows {
		spent.Add(a.batch.Cost[row])
	}
	return spent
}

// paid returns the first rows that the budget pays for.
func (a *Groups) paid(spent budget.Costs, rows []int32) []int32 {
	for i, row := range rows {
		if spent.Add(a.batch.Cost[row]); !a.within(spent) {
			return rows[:i]
		}
	}
	return rows
}

// Relax ends the promise, and reports whether there was one.
func (a *Groups) Relax() bool {
	if a.promised == 0 {
		return false
	}
	a.promised = 0
	a.Restart()
	return true
}

// Fits reports whether the batch can be completed.
func (a *Groups) Fits() bool {
	a.Restart()
	return a.wholly && a.least <= a.batch.Size && (!a.each || a.used <= a.most) && a.within(a.spent) &&
		a.reach(a.least, a.room, a.used, -1) >= a.promised
}

func (a *Groups) within(c budget.Costs) bool { return a.batch.within(c.Sum()) }

// outlook decides which groups may have further rows.
func (a *Groups) outlook() {
	free := a.batch.Size - a.least // rows that are not needed for a minimum
	another := free >= 1 && a.reach(a.least+1, a.room, a.used, -1) >= a.promised
	for g := range a.groups {
		one := &a.groups[g]
		if !one.open {
			continue
		}
		switch {
		case a.batch.InGroup[g] >= one.room:
			one.open = false
		case a.lack(g) > 0:
		case a.counts(g):
			one.open = another
		default:
			one.open = one.place >= 0 && a.used < a.most && free >= a.unit() &&
				a.reach(a.least+a.unit(), a.room+one.room, a.used+1, g) >= a.promised
		}
		one.without = a.spent
		one.without.Add(-one.reserved)
		one.without.Add(one.lead)
	}
}

// Allows reports whether a row may be picked.
func (a *Groups) Allows(row int) bool {
	one := &a.groups[a.batch.Group[row]]
	if !one.open {
		return false
	}
	cost := a.batch.Cost
	return cost == nil || a.batch.within(one.without.With(max(cost[row], one.edge)))
}

// Adding has nothing to prepare.
func (a *Groups) Adding(int) {}

// Err returns nil: groups can always be decided.
func (a *Groups) Err() error { return nil }

// Added follows a row that has joined the batch.
func (a *Groups) Added(row int, shut func(row int) bool) {
	g := a.batch.Group[row]
	if at := a.groups[g].place; at >= 0 {
		a.byRoom = slices.Delete(a.byRoom, at, at+1)
		a.groups[g].place = -1
		a.rank()
	}
	a.price(g)
	a.sum()
	a.outlook()
	for g := range a.groups { // rows of a group close in the order of their costs, the dearest first
		one := &a.groups[g]
		for one.end > 0 && shut(int(one.rows[one.end-1])) {
			one.end--
		}
	}
}
