package ahead

// Completions of runs with groups: values of the runs first, then groups, then rows.

import (
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/place"
)

// maxChoices is how many choices of values and groups a search tries before it ends with an error. One that a glance at
// the numbers of rows rules out is only a small part of one for which a flow has to be found.
const (
	maxChoices = 1 << 14
	glances    = 64 // that cost as much as a choice
)

// choices tries choices of values and groups until one is a completion within the budget.
type choices struct {
	*cells
	take   []int       // rows of each value to add, without the runs that have no value yet
	later  []int       // the sizes of these runs, the largest first
	cheap  [][]float64 // the costs of the cheapest rows of each value; nil without costs
	work   int         // glances so far
	found  []int       // rows of each cell
	failed error
}

// completeGroups returns the rows of each cell in the first completion within the budget; nil if there is none.
func (a *cells) completeGroups(take, later []int) ([]int, error) {
	s := &choices{cells: a, take: take, later: later}
	if a.batch.Cost != nil && len(later) > 0 {
		more := 0
		for _, size := range later {
			more += size
		}
		for v, n := range take {
			s.cheap = append(s.cheap, a.pricesOfValue(v, max(0, n+more)))
		}
	}
	s.values(0, 0)
	return s.found, s.failed
}

// tooDear reports whether the values so far exceed the budget even if groups had no limits.
func (s *choices) tooDear() bool {
	if s.cheap == nil {
		return false
	}
	sum := s.batch.Spent
	for v, n := range s.take {
		sum.Add(s.cheap[v][min(max(0, n), len(s.cheap[v])-1)])
	}
	return !s.batch.within(sum.Sum())
}

// values gives the runs from number i on values, those of equal sizes in order, and returns whether the search is over.
func (s *choices) values(i, from int) bool {
	if i == len(s.later) {
		return !slices.ContainsFunc(s.take, func(n int) bool { return n < 0 }) && s.rows()
	}
	size := s.later[i]
	if i > 0 && s.later[i-1] != size {
		from = 0
	}
	for v := from; v < len(s.take); v++ {
		if s.take[v]+size > s.Left(v) {
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

// counted reports work, and whether there was too much.
func (s *choices) counted(work int) bool {
	if s.work += work; s.work <= maxChoices*glances {
		return true
	}
	s.failed = &place.ProblemError{Field: "Same",
		Reason: fmt.Sprintf(
			"whether runs and groups can be combined takes more than %d choices of values and groups to find out; "+
				"leave out MaxGroups, or ask for fewer runs", maxChoices)}
	return false
}

// rows completes the batch with the values decided.
func (s *choices) rows() bool {
	var values []int
	for v, n := range s.take {
		if n > s.Left(v) {
			return false
		}
		if n > 0 {
			values = append(values, v)
		}
	}
	bounds, ok := s.bounds()
	if !ok {
		return false
	}
	if len(values) <= 1 {
		return !s.counted(glances) || s.accept(s.oneValue(s.take, values, bounds))
	}
	return s.groups(values, bounds, 0, s.batch.PerGroup.Groups-s.usedGroups())
}

// groups chooses which of the optional groups from g on get rows, at most left, and returns whether the search is over.
func (s *choices) groups(values []int, bounds []bound, g, left int) bool {
	for g < len(bounds) && !bounds[g].optional {
		g++
	}
	if g == len(bounds) {
		if !s.hasRoom(values, bounds) {
			return !s.counted(1)
		}
		return !s.counted(glances) || s.accept(s.flow(s.take, values, bounds))
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
func (s *choices) hasRoom(values []int, bounds []bound) bool {
	need, room := 0, 0
	for _, v := range values {
		left := 0
		for _, i := range s.byValue[v] {
			left += min(s.list[i].left, bounds[s.list[i].group].high)
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
func (s *choices) holds(values []int, g int) int {
	n := 0
	for _, v := range values {
		for _, i := range s.byValue[v] {
			if one := &s.list[i]; one.group == g {
				n += min(one.left, s.take[v])
			}
		}
	}
	return n
}

// accept reports whether there are rows of cells and the budget pays for them; then they are what is found.
func (s *choices) accept(rows []int) bool {
	if rows == nil || !s.batch.within(s.total(rows)) {
		return false
	}
	s.found = rows
	return true
}
