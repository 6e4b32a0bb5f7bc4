package ahead

// Flows of least cost from values to groups: each value sends as many rows as are to be added, each group takes between
// low and high. Rows are sent one by one along the way of least cost, on which rows may also be exchanged for others;
// that keeps the cost least for their number. A row that a group needs for its low counts as a gain above all costs, so
// that as many of these as possible are there in the end.

import "math"

// flow returns the rows of each cell; nil if there is no such flow.
func (a *cells) flow(take, values []int, bounds []bound) []int {
	f := &flow{cells: a, bounds: bounds, rows: make([]int, len(a.list)), in: make([]int, len(bounds)),
		prices: map[int][]float64{}}
	need := 0
	for _, b := range bounds {
		need += b.low
	}
	total := 0
	for _, v := range values {
		f.values = append(f.values, flowNode{value: v, left: take[v]})
		total += take[v]
		for _, i := range a.byValue[v] {
			price := a.prices(&a.list[i], take[v])
			f.prices[i] = price
			f.rounding = max(f.rounding, 1e-12*price[len(price)-1])
		}
	}
	if need > total {
		return nil
	}
	for range total {
		if !f.send() {
			return nil
		}
	}
	for g, b := range bounds {
		if f.in[g] < b.low {
			return nil
		}
	}
	return f.rows
}

type flowNode struct {
	value, left int
}

type flow struct {
	cells  *cells
	values []flowNode
	bounds []bound
	prices map[int][]float64 // of the cells of the values
	rows   []int             // of each cell
	in     []int             // of each group

	rounding float64 // the most that rounding adds to a cost
}

// length is a way's: rows that groups need count first, negatively, then costs.
type length struct {
	gains int
	cost  float64
}

// shorter compares ways. Costs that differ by rounding alone are equal: otherwise ways could go in circles.
func (f *flow) shorter(a, b length) bool {
	return a.gains < b.gains || a.gains == b.gains && a.cost < b.cost-f.rounding
}

var noWay = length{gains: math.MaxInt / 2}

// send sends one more row, and reports whether it could.
func (f *flow) send() bool {
	toValue, toGroup := make([]length, len(f.values)), make([]length, len(f.bounds))
	viaCell, backCell := make([]int, len(f.bounds)), make([]int, len(f.values))
	for i, v := range f.values {
		toValue[i], backCell[i] = noWay, -1
		if v.left > 0 {
			toValue[i] = length{}
		}
	}
	for g := range toGroup {
		toGroup[g], viaCell[g] = noWay, -1
	}
	for range len(f.values) + len(f.bounds) {
		if !f.relax(toValue, toGroup, viaCell, backCell) {
			break
		}
	}
	best, least := -1, noWay
	for g, b := range f.bounds {
		if toGroup[g] == noWay || f.in[g] >= b.high {
			continue
		}
		way := toGroup[g]
		if f.in[g] < b.low {
			way.gains--
		}
		if best < 0 || f.shorter(way, least) {
			best, least = g, way
		}
	}
	if best < 0 {
		return false
	}
	f.in[best]++
	for g := best; ; {
		i := viaCell[g]
		f.rows[i]++
		at := f.at(f.cells.list[i].value)
		if backCell[at] < 0 {
			f.values[at].left--
			return true
		}
		back := backCell[at]
		f.rows[back]--
		g = f.cells.list[back].group
	}
}

// at is the number of a value.
func (f *flow) at(value int) int {
	for i, v := range f.values {
		if v.value == value {
			return i
		}
	}
	return -1
}

// relax shortens ways by one step each, and reports whether any became shorter.
func (f *flow) relax(toValue, toGroup []length, viaCell, backCell []int) bool {
	shorter := false
	for at, v := range f.values {
		for _, i := range f.cells.byValue[v.value] {
			g, k, price := f.cells.list[i].group, f.rows[i], f.prices[i]
			if toValue[at] != noWay && k+1 < len(price) {
				if way := (length{toValue[at].gains, toValue[at].cost + price[k+1] - price[k]}); f.shorter(way, toGroup[g]) {
					toGroup[g], viaCell[g], shorter = way, i, true
				}
			}
			if toGroup[g] != noWay && k > 0 {
				if way := (length{toGroup[g].gains, toGroup[g].cost - price[k] + price[k-1]}); f.shorter(way, toValue[at]) {
					toValue[at], backCell[at], shorter = way, i, true
				}
			}
		}
	}
	return shorter
}
