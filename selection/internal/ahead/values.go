package ahead

// The values of runs without groups: with p(v, k) the cost of the k cheapest rows of value v, and i runs of the larger
// and j of the smaller size still without a value,
//
//	least(v, i, j) = min over i' ≤ i, j' ≤ j of  least(v−1, i−i', j−j') + p(v, take(v) + i'·larger + j'·smaller)
//
// where the number of rows is neither negative nor more than value v has.

import (
	"math"
	"slices"
)

// completeValues returns the rows of each cell in a completion of least cost; nil if there is none.
func (a *cells) completeValues(take, later []int) []int {
	larger, smaller, m, n := laterSizes(later)
	width := n + 1
	states := (m + 1) * width
	least := make([]float64, states)
	for i := range least {
		least[i] = math.Inf(1)
	}
	least[0] = 0
	chosen := make([][]int32, len(take)) // the state before, for each state after a value; -1: none
	for v := range take {
		next := make([]float64, states)
		from := make([]int32, states)
		for i := range next {
			next[i], from[i] = math.Inf(1), -1
		}
		price := []float64{0}
		if of := a.byValue[v]; len(of) > 0 {
			price = a.prices(&a.list[of[0]], take[v]+m*larger+n*smaller)
		}
		for i := 0; i <= m; i++ {
			for j := 0; j <= n; j++ {
				for p := 0; p <= i; p++ {
					for q := 0; q <= j; q++ {
						k, before := take[v]+p*larger+q*smaller, (i-p)*width+j-q
						if k < 0 || k >= len(price) || math.IsInf(least[before], 1) {
							continue
						}
						if cost := least[before] + price[k]; cost < next[i*width+j] {
							next[i*width+j], from[i*width+j] = cost, int32(before)
						}
					}
				}
			}
		}
		least, chosen[v] = next, from
	}
	if math.IsInf(least[states-1], 1) {
		return nil
	}
	found := make([]int, len(a.list))
	at := states - 1
	for v := len(take) - 1; v >= 0; v-- {
		before := int(chosen[v][at])
		k := take[v] + (at/width-before/width)*larger + (at%width-before%width)*smaller
		if k > 0 {
			found[a.byValue[v][0]] = k
		}
		at = before
	}
	return found
}

// laterSizes returns the two sizes of runs, and how many there are of each.
func laterSizes(sizes []int) (larger, smaller, m, n int) {
	if len(sizes) == 0 {
		return 0, 0, 0, 0
	}
	smaller = sizes[len(sizes)-1]
	for _, size := range sizes {
		if size > smaller {
			larger = size
			m++
		} else {
			n++
		}
	}
	return larger, smaller, m, n
}

// oneValue adds rows of one value, or none, with the least cost: least(g, j, t) for groups up to g, of which j are
// optional, and t rows.
func (a *cells) oneValue(take, values []int, bounds []bound) []int {
	rows, cellIn := 0, make([]int, len(bounds))
	for g := range cellIn {
		cellIn[g] = -1
	}
	if len(values) == 1 {
		rows = take[values[0]]
		for _, i := range a.byValue[values[0]] {
			cellIn[a.list[i].group] = i
		}
	}
	further := 0
	if a.each {
		further = min(rows, a.batch.PerGroup.Groups-a.usedGroups())
	}
	width := rows + 1
	least := make([]float64, (further+1)*width)
	for i := range least {
		least[i] = math.Inf(1)
	}
	least[0] = 0
	type step struct {
		cell int
		from []int32 // for each state, how many of the cell; -1: there is no way there
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
		price := a.prices(&a.list[cellIn[g]], min(b.high, rows))
		optional := 0
		if b.optional {
			optional = 1
		}
		next, from := make([]float64, len(least)), make([]int32, len(least))
		for state := range next {
			next[state], from[state] = math.Inf(1), -1
			if b.optional || b.low == 0 {
				next[state], from[state] = least[state], 0
				if math.IsInf(next[state], 1) {
					from[state] = -1
				}
			}
			j, t := state/width, state%width
			for k := max(1, b.low); k <= t && k < len(price) && j >= optional; k++ {
				if cost := least[(j-optional)*width+t-k] + price[k]; cost < next[state] {
					next[state], from[state] = cost, int32(k)
				}
			}
		}
		least, steps = next, append(steps, step{cellIn[g], from, optional})
	}
	state := -1
	for j := 0; j <= further; j++ {
		if at := j*width + rows; !math.IsInf(least[at], 1) && (state < 0 || least[at] < least[state]) {
			state = at
		}
	}
	if state < 0 {
		return nil
	}
	found := make([]int, len(a.list))
	for _, one := range slices.Backward(steps) {
		if k := int(one.from[state]); k > 0 {
			found[one.cell] = k
			state -= one.next*width + k
		}
	}
	return found
}
