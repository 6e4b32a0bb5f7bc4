package tables

import (
	"math"
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
