package network

import (
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// Silent neurons. In the paper's ReLU network a third to a half of the neurons
// of the second hidden layer, and some of the first, soon put out zero for all
// rows. They add nothing to the next layer, their column of g is zero, so nothing
// flows back through them, and their parameters have gradient zero. Leaving them
// out is exact, but a matrix product can only do so if they stand together. So
// the neurons of a hidden layer are put into another order from time to time:
// those that were silent in the whole of the last epoch first. (The other end is
// taken by the bias.) Products then start at the first column that is not zero in
// the mini-batch, in whole panels. The order changes nothing but the order of the
// terms of sums, and at the end of the training it is undone.

// arrangement is the order of the neurons: [l][j] is which neuron of hidden
// layer l stands in column j.
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

// set makes a the same as b.
func (a arrangement) set(b arrangement) {
	for l := range a {
		copy(a[l], b[l])
	}
}

// rearrange makes neuron take[j] of hidden layer l neuron j, in numbers that are
// laid out as the parameters are; spare is as long.
func (m *MLP[T]) rearrange(numbers []T, l int, take []int, spare []T) {
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

// restore undoes an arrangement of the network's neurons.
func (m *MLP[T]) restore(a arrangement) {
	for l, order := range a {
		take := make([]int, len(order))
		for j, neuron := range order {
			take[neuron] = j
		}
		m.rearrange(m.parameters, l, take, make([]T, len(m.parameters)))
	}
}

// voices counts, for the hidden layers of a pass, which columns are not zero.
type voices[T matrix.Float] struct {
	sums   []matrix.Dense[T] // of a block: for each layer, a row for each thread
	used   [][]bool          // the rows of sums that have been written
	spoken [][]bool          // columns that were not zero in some block since the start of the epoch
}

func newVoices[T matrix.Float](sizes []int, slots int) *voices[T] {
	v := &voices[T]{}
	for _, width := range sizes[1 : len(sizes)-1] {
		v.sums = append(v.sums, padded[T](slots, width))
		v.used = append(v.used, make([]bool, slots))
		v.spoken = append(v.spoken, make([]bool, width))
	}
	return v
}

// silent returns the number of leading columns of hidden layer l that are zero
// in the block whose sums were taken, rounded down to whole panels of a product,
// and makes the sums zero again.
func (v *voices[T]) silent(l, panel int) int {
	spoken := v.spoken[l]
	first := len(spoken)
	for slot, used := range v.used[l] {
		if !used {
			continue
		}
		row := v.sums[l].Row(slot)
		for j, sum := range row {
			if sum != 0 {
				spoken[j] = true
				first = min(first, j)
			}
		}
		clear(row)
		v.used[l][slot] = false
	}
	return first / panel * panel
}

// regroup moves the neurons that were silent in the whole epoch to the start of
// their layer, if that shortens the products by a panel at least.
func (t *trainer[T]) regroup() {
	v := t.pass.voices
	if v == nil {
		return
	}
	for l, spoken := range v.spoken {
		leading := slices.Index(spoken, true)
		if leading >= 0 && count(spoken, false)-leading >= t.pass.set.TileCols() {
			t.regroupLayer(l, spoken)
		}
		clear(spoken) // another epoch begins
	}
}

func (t *trainer[T]) regroupLayer(l int, spoken []bool) {
	take := t.regrouping.take[:0]
	for _, spoke := range [...]bool{false, true} {
		for j, s := range spoken {
			if s == spoke {
				take = append(take, j)
			}
		}
	}
	for _, numbers := range [...][]T{t.net.parameters, t.adam.first, t.adam.second} {
		t.net.rearrange(numbers, l, take, t.regrouping.numbers)
	}
	before := append(t.regrouping.before[:0], t.neurons[l]...)
	for j, from := range take {
		t.neurons[l][j] = before[from]
	}
}

// regrouping is the scratch of regroup.
type regrouping[T matrix.Float] struct {
	take, before []int
	numbers      []T
}

func newRegrouping[T matrix.Float](net *MLP[T]) regrouping[T] {
	widest := slices.Max(net.sizes)
	return regrouping[T]{make([]int, 0, widest), make([]int, 0, widest), make([]T, len(net.parameters))}
}

func count(list []bool, value bool) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}
