package selection

import (
	"reflect"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestPassVisitsAll counts the rows of passes, and how many blocks they visit once they should stop.
func TestPassVisitsAll(t *testing.T) {
	whole := passNumbers
	t.Cleanup(func() { passNumbers = whole })
	passNumbers = 3 * 4
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
