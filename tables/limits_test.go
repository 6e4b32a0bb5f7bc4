package tables

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
)

// TestSuggestedRanges: labels that look as if they had limits are named once, unless a range is declared, a model is
// given or there are few.
func TestSuggestedRanges(t *testing.T) {
	read := func(n int, label func(i int) float64, change func(*Tables)) string {
		t.Helper()
		x, y, z := dataset.NewNumeric("x"), dataset.NewNumeric("y"), dataset.NewNumeric("z")
		for i := range n {
			x.Append(math.Sin(float64(i)))
			y.Append(label(i))
			z.Append(3 * float64(i))
		}
		s := Tables{Input: Input{Train: tableOf(t, x, y, z), TargetColumns: []string{"y"}}}
		if change != nil {
			change(&s)
		}
		return strings.Join(rowsOf(t, s).Notes, "\n")
	}
	share := func(i int) float64 { return float64(i) / 20 }
	yield := func(i int) float64 { return 5 * float64(i) }
	amount := func(i int) float64 { return 50 * float64(i) }
	either := func(i int) float64 { return float64(i - 3) }
	both := func(s *Tables) { s.TargetColumns = []string{"y", "z"} }
	for _, c := range []struct {
		rows   int
		labels func(i int) float64
		change func(*Tables)
		want   string
	}{
		{20, share, nil, `no label of "y" is negative or above 1: if none can be, declare it (Ranges="0..1"), and`},
		{20, yield, nil, `no label of "y" is negative or above 100: if none can be, declare it (Ranges="0..100"), and`},
		{20, amount, nil, `no label of "y" is negative: if none can be, declare it (Ranges="0.."), and`},
		{20, either, nil, ""},
		{9, yield, nil, ""},
		{20, yield, func(s *Tables) { s.Ranges = dataset.Ranges{dataset.Ranges(nil).Of(0)} }, ""},
		{20, amount, both, `no label of "y" is negative, no label of "z" is negative or above 100: ` +
			`if none can be, declare it (Ranges="0..,0..100"), and`},
		{20, either, both, `no label of "z" is negative or above 100: ` +
			`if none can be, declare it (Ranges="..,0..100"), and`},
	} {
		if got := read(c.rows, c.labels, c.change); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d rows: %q, want %q", c.rows, got, c.want)
		}
	}
}

// TestSides: labels that are limits say on which side the true ones lie, those of replicates too.
func TestSides(t *testing.T) {
	x, y, z := dataset.NewNumeric("x"), dataset.NewNumeric("y"), dataset.NewNumeric("z")
	id, sides := dataset.NewText("id"), map[int]int8{1: -1, 3: -1, 4: 1, 5: 1}
	for i, name := range []string{"a", "b", "c", "c", "d", "e", "e", "f"} {
		id.Append([]byte(name))
		x.Append(float64(name[0]))
		y.Append(float64(i % 3))
		z.Append(float64(-i))
	}
	sides[6] = -1 // of the same row as 5
	s := Tables{Input: Input{Train: tableOf(t, id, x, y, z, dataset.NewCensored("y", 8, sides)),
		TargetColumns: []string{"z", "y"}, IDColumn: "id"}}
	if got, want := rowsOf(t, s).Sides, []int8{0, 0, 0, -1, 0, -1, 0, 1, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("the sides are %v, want %v", got, want)
	}
	if got, want := rowsOf(t, s).SomeTrain(3).Sides, []int8{0, 0, 0, -1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("the sides of some rows are %v, want %v", got, want)
	}
	s.TargetColumns, s.IDColumn = []string{"z"}, ""
	if got := rowsOf(t, s).Sides; got != nil {
		t.Errorf("a target without limits has the sides %v", got)
	}
}
