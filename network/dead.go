package network

import (
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// Dead units. In the paper's ReLU network a third to a half of the units of the
// second hidden layer, and some of the first, soon put out zero for all rows. They
// contribute nothing to the next layer, their column of g is zero, so nothing flows
// back through them, and their parameters have gradient zero. Leaving them out is
// exact, but a matrix product can do so only if they are adjacent. So the units of a
// hidden layer are reordered from time to time: those that were dead throughout the
// last epoch come first. (The bias occupies the other end.) Products then start at
// the first column that is not zero in the mini-batch, in whole panels. Reordering
// changes nothing but the order of the terms of sums, and it is undone at the end of
// the training.

// arrangement is the order of the units: [l][j] is which unit of hidden layer l is
// in column j.
type arrangement [][]int

func newArrangement(sizes []int) arrangement {
	var a arrangement
	for _, width := range sizes[1 : len(sizes)-1] {
		order := make([]int, width)
		for j := range order {
			order[j] = j
		}
		a = append(a, order)
	}
	return a
}

// set copies b to a.
func (a arrangement) set(b arrangement) {
	for l := range a {
		copy(a[l], b[l])
	}
}

// rearrange moves unit take[j] of hidden layer l to place j, in numbers that are
// laid out as the parameters are; spare has the same length.
func (m *MLP) rearrange(numbers []Real, l int, take []int, spare []Real) {
	columns, rows := m.layer(numbers, l), m.layer(numbers, l+1)
	old := spare[:len(take)]
	for i := range columns.Rows {
		row := columns.Row(i)
		copy(old, row)
		for j, from := range take {
			row[j] = old[from]
		}
	}
	before := m.layer(spare, l+1)
	matrix.Copy(before, rows)
	for j, from := range take {
		copy(rows.Row(j), before.Row(from))
	}
}

// restore undoes an arrangement of the network's units.
func (m *MLP) restore(a arrangement) {
	for l, order := range a {
		take := make([]int, len(order))
		for j, unit := range order {
			take[unit] = j
		}
		m.rearrange(m.parameters, l, take, make([]Real, len(m.parameters)))
	}
}

// activity records, for the hidden layers of a pass, which columns are not zero.
type activity struct {
	sums  []matrix.Dense[Real] // of a block: for each layer, a row for each thread
	used  [][]bool             // the rows of sums that have been written
	alive [][]bool             // columns that were not zero in some block since the start of the epoch
}

func newActivity(sizes []int, slots int) *activity {
	v := &activity{}
	for _, width := range sizes[1 : len(sizes)-1] {
		v.sums = append(v.sums, padded(slots, width))
		v.used = append(v.used, make([]bool, slots))
		v.alive = append(v.alive, make([]bool, width))
	}
	return v
}

// dead returns the number of leading columns of hidden layer l that are zero in
// the block whose sums were taken, rounded down to whole panels of a product, and
// resets the sums.
func (v *activity) dead(l, panel int) int {
	alive := v.alive[l]
	first := len(alive)
	for slot, used := range v.used[l] {
		if !used {
			continue
		}
		row := v.sums[l].Row(slot)
		for j, sum := range row {
			if sum != 0 {
				alive[j] = true
				first = min(first, j)
			}
		}
		clear(row)
		v.used[l][slot] = false
	}
	return first / panel * panel
}

// regroup moves the units that were dead throughout the epoch to the start of
// their layer, if that shortens the products by at least a panel.
func (t *training) regroup() {
	v := t.pass.activity
	if v == nil {
		return
	}
	for l, alive := range v.alive {
		leading := slices.Index(alive, true)
		if leading >= 0 && count(alive, false)-leading >= t.pass.set.TileCols() {
			t.regroupLayer(l, alive)
		}
		clear(alive) // another epoch begins
	}
}

func (t *training) regroupLayer(l int, alive []bool) {
	take := t.regrouping.take[:0]
	for _, live := range [...]bool{false, true} {
		for j, s := range alive {
			if s == live {
				take = append(take, j)
			}
		}
	}
	for _, numbers := range [...][]Real{t.net.parameters, t.adam.first, t.adam.second} {
		t.net.rearrange(numbers, l, take, t.regrouping.numbers)
	}
	before := append(t.regrouping.before[:0], t.units[l]...)
	for j, from := range take {
		t.units[l][j] = before[from]
	}
}

// regrouping is the scratch of regroup.
type regrouping struct {
	take, before []int
	numbers      []Real
}

func newRegrouping(net *MLP) regrouping {
	widest := slices.Max(net.sizes)
	return regrouping{make([]int, 0, widest), make([]int, 0, widest), make([]Real, len(net.parameters))}
}

func count(list []bool, value bool) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}
