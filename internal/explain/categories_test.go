package explain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
)

// TestClosestOfCategories: the closest row shares at least as many levels as any other, the first of what was never
// measured is right, and of equal rows the one with the nearest number is taken.
func TestClosestOfCategories(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(44, 2))
	names, levels := []string{"ligand", "base", "additive"}, []int{4, 3, 12}
	const rows, labels = 150, 20
	values := make([][]string, len(names))
	var columns []dataset.Column
	var e encode.Encoder
	for k, name := range names {
		for range rows {
			values[k] = append(values[k], fmt.Sprint(name[:1], 1+r.IntN(levels[k])))
		}
		columns = append(columns, dataset.NewText(name, values[k]...))
		e.Categories = append(e.Categories, encode.Category{Column: name, Levels: []string{"a", "b", "c"}})
	}
	hours := make([]float64, rows)
	for i := range hours {
		hours[i] = float64(r.IntN(5))
	}
	columns = append(columns, dataset.NewNumeric("hours", hours...))
	e.Numeric = []string{"hours"}
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	perm := r.Perm(rows)
	labelled, pool := perm[:labels], perm[labels:]
	in := NewInputs(e, table, table, pool, labelled, 0)
	shared := func(a, b int) (n int) {
		for k := range names {
			if values[k][a] == values[k][b] {
				n++
			}
		}
		return n
	}
	have := func(row int, ks ...int) (n int) { // labelled rows with these levels
		for _, l := range labelled {
			if !slices.ContainsFunc(ks, func(k int) bool { return values[k][l] != values[k][row] }) {
				n++
			}
		}
		return n
	}
	named := 0
	for _, row := range pool {
		got := in.Compare(row, 7)
		own := labelled[got.Closest]
		for _, l := range labelled {
			n := shared(row, l)
			nearer := (hours[l]-hours[row])*(hours[l]-hours[row]) < (hours[own]-hours[row])*(hours[own]-hours[row])
			if n > got.Shared || n == got.Shared && n > 0 && nearer {
				t.Errorf("row %d: %d shares %d levels, not %d as %+v", row, l, n, got.Shared, got)
			}
		}
		equal := 0
		for _, l := range labelled {
			if got.Shared > 0 && shared(row, l) == got.Shared && l != own {
				equal++
			}
		}
		if got.Others != equal {
			t.Errorf("row %d: %d others share %d levels, not %d", row, equal, got.Shared, got.Others)
		}
		if got.Shared != shared(row, own) && got.Shared > 0 || got.Shared == 0 && got.Closest != 7 || got.Of != len(names) {
			t.Errorf("row %d: %+v", row, got)
		}
		for _, text := range got.Untried {
			var ks []int
			for k, name := range names {
				if slices.Contains(strings.Split(text, " with "), name+" "+values[k][row]) {
					ks = append(ks, k)
				}
			}
			if len(ks) == 0 || have(row, ks...) > 0 || len(ks) == 2 && have(row, ks[0])*have(row, ks[1]) < labels {
				t.Errorf("row %d: %q, %d labelled rows", row, text, have(row, ks...))
			}
			named++
		}
		if len(got.Untried) == 0 && (have(row, 0) == 0 || have(row, 0, 1) == 0 && have(row, 0)*have(row, 1) >= labels) {
			t.Errorf("row %d: %s with %s was never measured", row, values[0][row], values[1][row])
		}
	}
	if named == 0 {
		t.Error("everything was measured")
	}
	if e.Categories = e.Categories[:1]; NewInputs(e, table, table, pool, labelled, 0).OfCategories() {
		t.Error("one category of two inputs makes a table of categories")
	}
}

// TestClosestSharesRareLevels: of rows that share as many levels, the one that shares levels which few labelled rows
// have says more about a pick.
func TestClosestSharesRareLevels(t *testing.T) {
	t.Parallel()
	table, err := dataset.NewTable(dataset.NewText("ligand", "L1", "L2", "L3", "L9"),
		dataset.NewText("base", "KF", "KF", "KOH", "KF"), dataset.NewText("additive", "A1", "A2", "A9", "A9"))
	if err != nil {
		t.Fatal(err)
	}
	var e encode.Encoder
	for _, name := range table.Names() {
		e.Categories = append(e.Categories, encode.Category{Column: name, Levels: []string{"a", "b"}})
	}
	got := NewInputs(e, table, table, []int{3}, []int{0, 1, 2}, 0).Compare(3, 0)
	if got.Closest != 2 || got.Shared != 1 || got.Others != 2 {
		t.Errorf("%+v: the row with the only A9 is not the closest one", got)
	}
}

// TestReasonOfCategories is what a reason says.
func TestReasonOfCategories(t *testing.T) {
	t.Parallel()
	apart := []Apart{{Input: "base", Value: "KF", Other: "KOH", Deviations: 1, Category: true}}
	hours := Apart{Input: "hours", Value: "3", Other: "1", Deviations: 2}
	for _, c := range []struct {
		of   Compared
		list []Apart
		want string
	}{
		{Compared{Shared: 2, Of: 3, Untried: []string{"ligand L4 with base KF"}}, apart,
			"; never measured: ligand L4 with base KF; shares 2 of 3 categories with labelled row r7; " +
				"unlike it in base (KF, there KOH)"},
		{Compared{Shared: 3, Of: 3, Others: 1}, nil,
			"; shares 3 of 3 categories with labelled row r7 and 1 other; with the same inputs as r7"},
		{Compared{Of: 3, Untried: []string{"base KF"}}, apart,
			"; never measured: base KF; shares no category with any labelled row"},
		{Compared{Of: 3}, append(apart, hours),
			"; shares no category with any labelled row; unlike r7 in hours (3, there 1)"},
	} {
		if got := c.of.Reason(c.list, "r7"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
