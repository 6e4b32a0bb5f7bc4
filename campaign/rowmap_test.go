package campaign

import (
	"maps"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestRowMap compares maps with plain ones that are copied in full before each edit.
func TestRowMap(t *testing.T) {
	draw := rng.New(1, "rows")
	var m rowMap
	plain := map[int64]*rowState{}
	var snapshots []rowMap
	var plains []map[int64]*rowState
	for _, most := range []int{3, 40, 3000, 1 << 20, 1<<31 - 1} {
		for range 50 {
			snapshots, plains = append(snapshots, m), append(plains, maps.Clone(plain))
			by := &edit{}
			for range 1 + draw.IntN(4) {
				row, r := int64(draw.IntN(most)), &rowState{}
				if draw.IntN(3) == 0 {
					r = nil
				}
				m.set(row, r, by)
				if plain[row] = r; r == nil {
					delete(plain, row)
				}
			}
		}
	}
	snapshots, plains = append(snapshots, m), append(plains, plain)
	for i, want := range plains {
		got := maps.Collect(snapshots[i].all())
		if !maps.Equal(got, want) {
			t.Fatalf("map %d has %d rows, want %d", i, len(got), len(want))
		}
		var order []int64
		for row, r := range snapshots[i].all() {
			if order = append(order, row); snapshots[i].get(row) != r {
				t.Errorf("map %d: row %d is not the one that it visits", i, row)
			}
		}
		if !slices.IsSorted(order) {
			t.Errorf("map %d is not in order", i)
		}
		for range 20 {
			if row := int64(draw.IntN(4000)); snapshots[i].get(row) != want[row] {
				t.Errorf("map %d: row %d differs", i, row)
			}
		}
	}
	for range 200 {
		i, j := draw.IntN(len(plains)), draw.IntN(len(plains))
		want := map[int64]bool{}
		for _, row := range slices.Concat(slices.Collect(maps.Keys(plains[i])), slices.Collect(maps.Keys(plains[j]))) {
			if plains[i][row] != plains[j][row] {
				want[row] = true
			}
		}
		if got := slices.Collect(snapshots[i].unlike(snapshots[j])); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("maps %d and %d differ in the rows %v, want %v", i, j, got, want)
		}
	}
	for range m.unlike(rowMap{}) {
		break
	}
	for range m.all() {
		break // an early end must not panic
	}
	if (rowMap{}).get(0) != nil || m.get(1<<40) != nil {
		t.Error("there are rows that nobody set")
	}
}
