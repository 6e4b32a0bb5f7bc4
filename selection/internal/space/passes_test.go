package space

import (
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// TestPassVisitsAll counts the rows of passes, and how many blocks they visit once they should stop.
func TestPassVisitsAll(t *testing.T) {
	whole := PassNumbers
	t.Cleanup(func() { PassNumbers = whole })
	PassNumbers = 3 * 4
	w := singleRows(matrix.New[float32](10, 4))
	for range 3 {
		var got []int
		rows := 0
		w.pass(func() bool { return false }, func(from, to int) {
			got = append(got, from)
			rows += to - from
		})
		if !reflect.DeepEqual(got, []int{0, 3, 6, 9}) || rows != 10 {
			t.Errorf("blocks from %v, %d rows", got, rows)
		}
	}
	visits := 0
	w.pass(func() bool { return visits == 2 }, func(int, int) { visits++ })
	if visits != 2 {
		t.Errorf("%d blocks after the stop", visits)
	}
}

// TestSpread: each missing block comes after its share of the others.
func TestSpread(t *testing.T) {
	for _, c := range []struct{ missing, want []int }{
		{nil, []int{0, 1, 2, 3, 4, 5, 6}},
		{[]int{0, 1}, []int{2, 3, 0, 4, 5, 6, 1}},
		{[]int{6}, []int{0, 1, 2, 3, 4, 5, 6}},
		{[]int{0, 2, 3, 4, 6}, []int{0, 2, 1, 3, 4, 5, 6}},
		{[]int{0, 1, 2, 3, 4, 5, 6}, []int{0, 1, 2, 3, 4, 5, 6}},
	} {
		p := &blockPass{missing: make([]bool, 7)}
		for _, i := range c.missing {
			p.missing[i] = true
		}
		if got := p.spread(); !slices.Equal(got, c.want) {
			t.Errorf("%v are missing: %v, want %v", c.missing, got, c.want)
		}
	}
}

// TestPassesOverAFile: a pass reads the blocks that the system has dropped, and drops them
// again.
func TestPassesOverAFile(t *testing.T) {
	whole := PassNumbers
	t.Cleanup(func() { PassNumbers = whole })
	const cols, blockRows = 64, 1 << 13 // blocks of 2 MiB, the largest pieces of memory that the system takes
	PassNumbers = cols * blockRows
	rows := hardrows.Matrix[float32](hardrows.Some()["decaying"], 5*blockRows, cols, 1)
	file := hardrows.InFile(t, rows)
	w := singleRows(file)
	gone := func() (list []int) {
		for i := range 5 {
			if (&blockPass{of: w, rows: blockRows}).gone(i) {
				list = append(list, i)
			}
		}
		return list
	}
	visited := func() (sums [5]float64) {
		w.pass(func() bool { return false }, func(from, to int) {
			for i := from; i < to; i++ {
				sums[from/blockRows] += float64(file.Row(i)[0])
			}
		})
		return sums
	}
	want := visited()
	if len(gone()) == 5 {
		t.Error("the first pass has dropped all blocks")
	}
	w.file(blockRows, 3*blockRows).Drop()
	dropped := gone()
	if len(dropped) == 0 {
		t.Skip("this system does not drop a file on request")
	}
	if got := visited(); got != want {
		t.Errorf("the sums of the blocks are %v, %v before some were dropped", got, want)
	}
	after := gone()
	for _, i := range dropped {
		if !slices.Contains(after, i) {
			t.Errorf("blocks %v are missing after the pass, %v before", after, dropped)
		}
	}
}
