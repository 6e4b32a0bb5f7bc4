package selection

// Completions of runs with groups (ahead_runs.go): values of the runs first, then groups, then rows.

import (
	"fmt"
	"math"
	"slices"
)

// runSearch tries choices of values and groups until one is a completion within the budget.
type runSearch struct {
	ahead *runAhead
	take  []int       // rows of each value to add, without the runs that have no value yet
	cheap [][]float64 // the costs of the 0, 1, … cheapest rows of each value, whatever their groups; nil without costs
	work  int         // glances so far
}

// completeGroups sets the witness to the first completion within the budget.
func (s *runSearch) completeGroups() {
	if a := s.ahead; a.limits.constraints.Cost != nil && len(a.later) > 0 {
		more := 0
		for _, size := range a.later {
			more += size
		}
		for v, n := range s.take {
			s.cheap = append(s.cheap, a.cheapestOf(v, max(0, n+more)))
		}
	}
	s.values(0, 0)
}

// tooDear reports whether the values so far exceed the budget even if groups had no limits.
func (s *runSearch) tooDear() bool {
	if s.cheap == nil {
		return false
	}
	sum := s.ahead.limits.spent
	for v, n := range s.take {
		sum.Add(s.cheap[v][min(max(0, n), len(s.cheap[v])-1)])
	}
	return !s.ahead.within(sum.Sum())
}

// cheapestOf returns the costs of the 0, 1, … cheapest rows of a value that are not in the batch, at most most.
func (a *runAhead) cheapestOf(v, most int) []float64 {
	list, cost, sum := []float64{0}, a.limits.constraints.Cost, Costs{}
	at := make([]int, len(a.byValue[v]))
	for len(list) <= most {
		best := -1
		for k, i := range a.byValue[v] {
			rows := a.cells[i].rows
			for at[k] < len(rows) && a.limits.selected[rows[at[k]]] {
				at[k]++
			}
			if at[k] < len(rows) && (best < 0 || cost[rows[at[k]]] < cost[a.cells[a.byValue[v][best]].rows[at[best]]]) {
				best = k
			}
		}
		if best < 0 {
			break
		}
		sum.Add(cost[a.cells[a.byValue[v][best]].rows[at[best]]])
		list = append(list, sum.Sum())
		at[best]++
	}
	return list
}

// values gives the runs from number i on values, those of equal sizes in order, and returns whether the search is over.
func (s *runSearch) values(i, from int) bool {
	a := s.ahead
	if i == len(a.later) {
		return !slices.ContainsFunc(s.take, func(n int) bool { return n < 0 }) && s.rows()
	}
	size := a.later[i]
	if i > 0 && a.later[i-1] != size {
		from = 0
	}
	for v := from; v < len(s.take); v++ {
		if s.take[v]+size > a.leftOf(v) {
			continue
		}
		s.take[v] += size
		over := !s.tooDear() && s.values(i+1, v)
		s.take[v] -= size
		if over {
			return true
		}
	}
	return false
}

// leftOf is how many rows of a value can be added at most.
func (a *runAhead) leftOf(v int) int {
	n := 0
	for _, i := range a.byValue[v] {
		one := &a.cells[i]
		most := one.left
		if a.limits.group != nil {
			most = min(most, a.limits.constraints.perGroup()-a.limits.inGroup[one.group])
		}
		n += max(0, most)
	}
	return n
}

// counted reports work, and whether there was too much.
func (s *runSearch) counted(work int) bool {
	if s.work += work; s.work <= maxChoices*glances {
		return true
	}
	s.ahead.failed = &ProblemError{Field: "Same",
		Reason: fmt.Sprintf(
			"whether runs and groups can be combined takes more than %d choices of values and groups to find out; "+
				"leave out MaxGroups, or ask for fewer runs", maxChoices)}
	return false
}

// rows completes the batch with the values decided.
func (s *runSearch) rows() bool {
	a := s.ahead
	var values []int
	for v, n := range s.take {
		if n > a.leftOf(v) {
			return false
		}
		if n > 0 {
			values = append(values, v)
		}
	}
	bounds, ok := a.bounds()
	if !ok {
		return false
	}
	if len(values) <= 1 {
		return !s.counted(glances) || s.accept(s.oneValue(values, bounds))
	}
	return s.groups(values, bounds, 0, a.limits.constraints.MaxGroups-a.usedGroups())
}

// usedGroups is how many groups the batch has rows of.
func (a *runAhead) usedGroups() int {
	n := 0
	for _, in := range a.limits.inGroup {
		if in > 0 {
			n++
		}
	}
	return n
}

// bound is how many rows of a group are to be added: between low and high, or none if it is optional.
type bound struct {
	low, high int
	optional  bool
}

// bounds returns what the constraints ask of each group; ok is false if the batch has too much already.
func (a *runAhead) bounds() (list []bound, ok bool) {
	c := &a.limits.constraints
	if a.each && a.usedGroups() > c.MaxGroups {
		return nil, false
	}
	list = make([]bound, a.groups)
	for g, in := range a.limits.inGroup {
		one := bound{high: c.perGroup() - in}
		if one.high < 0 {
			return nil, false
		}
		if in > 0 || !a.each && a.counting[g] {
			one.low = max(0, c.MinPerGroup-in)
		} else if a.each {
			one.low, one.optional = max(1, c.MinPerGroup), true
		}
		list[g] = one
	}
	return list, true
}

// groups chooses which of the optional groups from g on get rows, at most left, and returns whether the search is over.
func (s *runSearch) groups(values []int, bounds []bound, g, left int) bool {
	for g < len(bounds) && !bounds[g].optional {
		g++
	}
	if g == len(bounds) {
		if !s.hasRoom(values, bounds) {
			return !s.counted(1)
		}
		return !s.counted(glances) || s.accept(s.flow(values, bounds))
	}
	saved := bounds[g]
	defer func() { bounds[g] = saved }()
	if left > 0 && s.holds(values, g) >= saved.low && saved.high >= saved.low {
		bounds[g].optional = false
		if s.groups(values, bounds, g+1, left-1) {
			return true
		}
	}
	bounds[g] = bound{}
	return s.groups(values, bounds, g+1, left)
}

// hasRoom reports whether the groups have enough rows of each value, and of all values together.
func (s *runSearch) hasRoom(values []int, bounds []bound) bool {
	need, room := 0, 0
	for _, v := range values {
		left := 0
		for _, i := range s.ahead.byValue[v] {
			left += min(s.ahead.cells[i].left, bounds[s.ahead.cells[i].group].high)
		}
		if left < s.take[v] {
			return false
		}
		need += s.take[v]
	}
	for g, b := range bounds {
		if b.high > 0 {
			room += min(b.high, s.holds(values, g))
		}
	}
	return room >= need
}

// holds is how many rows of a group can be added to values.
func (s *runSearch) holds(values []int, g int) int {
	n := 0
	for _, v := range values {
		for _, i := range s.ahead.byValue[v] {
			if one := &s.ahead.cells[i]; one.group == g {
				n += min(one.left, s.take[v])
			}
		}
	}
	return n
}

// accept makes rows of cells the witness if they are within the budget.
func (s *runSearch) accept(rows []int) bool {
	if rows == nil {
		return false
	}
	a := s.ahead
	a.witness = rows
	if a.within(a.total()) {
		return true
	}
	a.witness = nil
	return false
}

// oneValue adds rows of one value, or none, with the least cost: least(g, j, t) for groups up to g, of which j are
// optional, and t rows.
func (s *runSearch) oneValue(values []int, bounds []bound) []int {
	a := s.ahead
	take, cellIn := 0, make([]int, len(bounds))
	for g := range cellIn {
		cellIn[g] = -1
	}
	if len(values) == 1 {
		take = s.take[values[0]]
		for _, i := range a.byValue[values[0]] {
			cellIn[a.cells[i].group] = i
		}
	}
	further := 0
	if a.each {
		further = min(take, a.limits.constraints.MaxGroups-a.usedGroups())
	}
	width := take + 1
	least := make([]float64, (further+1)*width)
	for i := range least {
		least[i] = math.Inf(1)
	}
	least[0] = 0
	type step struct {
		cell int
		rows []int32 // for each state, how many of the cell; -1: there is no way there
		next int     // how many optional groups it is
	}
	var steps []step
	for g, b := range bounds {
		if cellIn[g] < 0 {
			if b.low > 0 && !b.optional {
				return nil
			}
			continue
		}
		price := a.pricesOf(&a.cells[cellIn[g]], min(b.high, take))
		optional := 0
		if b.optional {
			optional = 1
		}
		next, rows := make([]float64, len(least)), make([]int32, len(least))
		for state := range next {
			next[state], rows[state] = math.Inf(1), -1
			if b.optional || b.low == 0 {
				next[state], rows[state] = least[state], 0
				if math.IsInf(next[state], 1) {
					rows[state] = -1
				}
			}
			j, t := state/width, state%width
			for k := max(1, b.low); k <= t && k < len(price) && j >= optional; k++ {
				if cost := least[(j-optional)*width+t-k] + price[k]; cost < next[state] {
					next[state], rows[state] = cost, int32(k)
				}
			}
		}
		least, steps = next, append(steps, step{cellIn[g], rows, optional})
	}
	state := -1
	for j := 0; j <= further; j++ {
		if at := j*width + take; !math.IsInf(least[at], 1) && (state < 0 || least[at] < least[state]) {
			state = at
		}
	}
	if state < 0 {
		return nil
	}
	found := make([]int, len(a.cells))
	for _, one := range slices.Backward(steps) {
		if k := int(one.rows[state]); k > 0 {
			found[one.cell] = k
			state -= one.next*width + k
		}
	}
	return found
}

// pricesOf returns the costs of the 0, 1, … cheapest rows of a cell, at most most.
func (a *runAhead) pricesOf(one *valueGroup, most int) []float64 {
	list, cost := []float64{0}, a.limits.constraints.Cost
	var sum Costs
	for _, row := range one.rows {
		if len(list) > most {
			break
		}
		if !a.limits.selected[row] {
			if cost != nil {
				sum.Add(cost[row])
			}
			list = append(list, sum.Sum())
		}
	}
	return list
}
