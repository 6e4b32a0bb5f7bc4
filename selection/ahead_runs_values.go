package selection

// The values of runs without groups: with p(v, k) the cost of the k cheapest rows of value v, and i runs of the larger
// and j of the smaller size still without a value,
//
//	least(v, i, j) = min over i' ≤ i, j' ≤ j of  least(v−1, i−i', j−j') + p(v, take(v) + i'·larger + j'·smaller)
//
// where the number of rows is neither negative nor more than value v has.

import "math"

// completeValues sets the witness to a completion of least cost.
func (a *runAhead) completeValues(take []int) {
	larger, smaller, m, n := laterSizes(a.later)
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
		price := a.prices(v, take[v]+m*larger+n*smaller)
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
		return
	}
	a.witness = make([]int, len(a.cells))
	at := states - 1
	for v := len(take) - 1; v >= 0; v-- {
		before := int(chosen[v][at])
		k := take[v] + (at/width-before/width)*larger + (at%width-before%width)*smaller
		if k > 0 {
			a.witness[a.byValue[v][0]] = k
		}
		at = before
	}
}

// prices returns p(v, k) of 0 to at most most rows.
func (a *runAhead) prices(v, most int) []float64 {
	list := []float64{0}
	if len(a.byValue[v]) == 0 {
		return list
	}
	one, cost := &a.cells[a.byValue[v][0]], a.limits.constraints.Cost
	if cost == nil {
		return append(list, make([]float64, max(0, min(most, one.left)))...)
	}
	var sum Costs
	for _, row := range one.rows {
		if len(list) > most {
			break
		}
		if !a.limits.selected[row] {
			sum.Add(cost[row])
			list = append(list, sum.Sum())
		}
	}
	return list
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
