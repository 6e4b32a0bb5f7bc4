package ahead

import (
	"slices"

	"github.com/nextbatch/nextbatch/internal/budget"
)

// valueGroup holds the rows that have the same value and the same group.
type valueGroup struct {
	value, group int
	rows         []int32 // candidates, the cheapest first
	left         int     // how many of them are not in the batch
	end          int     // no row from here on may be picked
}

// cells are the candidates by their values and groups. Values are numbered from 0, in their order.
type cells struct {
	Values  []int // as the constraints name them
	ValueOf []int // of each row

	batch   *Tally
	each    bool // only groups that the batch has rows of count
	list    []valueGroup
	cellOf  []int32 // of each candidate; -1 otherwise
	place   []int32 // of each candidate in its cell
	byValue [][]int // cells

	inValue  []int // rows of the batch
	groups   int
	counting []bool // groups with candidates
}

func newCells(b *Tally) cells {
	a := cells{batch: b, each: b.PerGroup.Groups > 0, groups: max(1, len(b.Members))}
	a.Values = slices.Clone(b.Same)
	slices.Sort(a.Values)
	a.Values = slices.Compact(a.Values)
	a.ValueOf = make([]int, len(b.Same))
	for row, v := range b.Same {
		a.ValueOf[row], _ = slices.BinarySearch(a.Values, v)
	}
	a.sortRows()
	return a
}

func (a *cells) groupOf(row int) int {
	if a.batch.Group == nil {
		return 0
	}
	return a.batch.Group[row]
}

// sortRows puts the candidates into cells.
func (a *cells) sortRows() {
	a.cellOf, a.place = make([]int32, len(a.ValueOf)), make([]int32, len(a.ValueOf))
	a.byValue, a.counting = make([][]int, len(a.Values)), make([]bool, a.groups)
	at := map[[2]int]int{}
	for row, v := range a.ValueOf {
		a.cellOf[row] = -1
		if a.batch.Excluded[row] || a.batch.Pending[row] {
			continue
		}
		key := [2]int{v, a.groupOf(row)}
		i, known := at[key]
		if !known {
			i = len(a.list)
			at[key] = i
			a.list = append(a.list, valueGroup{value: v, group: key[1]})
			a.byValue[v] = append(a.byValue[v], i)
			a.counting[key[1]] = true
		}
		a.cellOf[row] = int32(i)
		a.list[i].rows = append(a.list[i].rows, int32(row))
	}
	for i := range a.list {
		rows := a.list[i].rows
		if a.batch.Cost != nil {
			slices.SortFunc(rows, func(x, y int32) int { return ByCost(a.batch.Cost, x, y) })
		}
		for k, row := range rows {
			a.place[row] = int32(k)
		}
	}
}

// Count counts the rows of the batch.
func (a *cells) Count() {
	a.inValue = make([]int, len(a.Values))
	for i := range a.list {
		one := &a.list[i]
		one.left = 0
		for _, row := range one.rows {
			if a.batch.Selected[row] {
				a.inValue[one.value]++
			} else {
				one.left++
			}
		}
	}
}

// Left is how many rows of a value can be added at most.
func (a *cells) Left(v int) int {
	n := 0
	for _, i := range a.byValue[v] {
		one := &a.list[i]
		most := one.left
		if a.batch.Group != nil {
			most = min(most, a.batch.PerGroup.Most-a.batch.InGroup[one.group])
		}
		n += max(0, most)
	}
	return n
}

// Room is how many rows of a value the batch can have.
func (a *cells) Room(v int) int { return a.Left(v) + a.inValue[v] }

// total is what the batch costs with rows of each cell.
func (a *cells) total(rows []int) float64 {
	sum := a.batch.Spent
	if a.batch.Cost != nil {
		for i, n := range rows {
			a.cheapest(&sum, &a.list[i], n)
		}
	}
	return sum.Sum()
}

// cheapest adds the costs of the n cheapest rows of a cell that are not in the batch, and returns the last.
func (a *cells) cheapest(sum *budget.Costs, one *valueGroup, n int) (last float64) {
	if a.batch.Cost == nil {
		return 0
	}
	for _, row := range one.rows {
		if n == 0 {
			break
		}
		if !a.batch.Selected[row] {
			last = a.batch.Cost[row]
			sum.Add(last)
			n--
		}
	}
	return last
}

// prices returns the costs of the 0, 1, … cheapest rows of a cell that are not in the batch, at most most.
func (a *cells) prices(one *valueGroup, most int) []float64 {
	list, sum := []float64{0}, budget.Costs{}
	for _, row := range one.rows {
		if len(list) > most {
			break
		}
		if !a.batch.Selected[row] {
			if a.batch.Cost != nil {
				sum.Add(a.batch.Cost[row])
			}
			list = append(list, sum.Sum())
		}
	}
	return list
}

// pricesOfValue returns the same of the rows of a value, whatever their groups.
func (a *cells) pricesOfValue(v, most int) []float64 {
	list, cost, sum := []float64{0}, a.batch.Cost, budget.Costs{}
	at := make([]int, len(a.byValue[v]))
	for len(list) <= most {
		best := -1
		for k, i := range a.byValue[v] {
			rows := a.list[i].rows
			for at[k] < len(rows) && a.batch.Selected[rows[at[k]]] {
				at[k]++
			}
			if at[k] < len(rows) && (best < 0 || cost[rows[at[k]]] < cost[a.list[a.byValue[v][best]].rows[at[best]]]) {
				best = k
			}
		}
		if best < 0 {
			break
		}
		sum.Add(cost[a.list[a.byValue[v][best]].rows[at[best]]])
		list = append(list, sum.Sum())
		at[best]++
	}
	return list
}

// usedGroups is how many groups the batch has rows of.
func (a *cells) usedGroups() int {
	n := 0
	for _, in := range a.batch.InGroup {
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
func (a *cells) bounds() (list []bound, ok bool) {
	limit := a.batch.PerGroup
	if a.each && a.usedGroups() > limit.Groups {
		return nil, false
	}
	list = make([]bound, a.groups)
	for g, in := range a.batch.InGroup {
		one := bound{high: limit.Most - in}
		if one.high < 0 {
			return nil, false
		}
		if in > 0 || !a.each && a.counting[g] {
			one.low = max(0, limit.Least-in)
		} else if a.each {
			one.low, one.optional = max(1, limit.Least), true
		}
		list[g] = one
	}
	return list, true
}
