package nextbatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// reactions is a request for rows of a table of three categories, of which few have a label.
func reactions(t *testing.T) (r nextbatch.Request, levels map[string][3]string, labelled []string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,ligand,base,additive,y\n")
	levels = map[string][3]string{}
	for i := range 144 {
		id, label := fmt.Sprint("r", i), ""
		of := [3]string{fmt.Sprint("L", i/36), fmt.Sprint("B", i/12%3), fmt.Sprint("A", i%12)}
		if i*i%11 == 5 && (i/36 != 1 || i/12%3 != 2) { // never L1 with B2
			label = fmt.Sprint(i / 36 * (i % 12))
			labelled = append(labelled, id)
		}
		levels[id] = of
		fmt.Fprintf(&b, "%s,%s,%s\n", id, strings.Join(of[:], ","), label)
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	small := network.Config{Architecture: network.Architecture{Hidden: []int{8}}, Training: network.Training{Epochs: 2}}
	r = nextbatch.Request{Input: tables.Input{Table: table, TargetColumns: []string{"y"}, IDColumn: "id"},
		Ask: limits.Ask{Batch: 12}}
	r.Network = small
	return r, levels, labelled
}

// TestReasonsOnCategories: a reason compares a pick with the labelled row that shares most levels with it, and names
// what was never measured.
func TestReasonsOnCategories(t *testing.T) {
	t.Parallel()
	request, levels, labelled := reactions(t)
	request.Must = []string{"r62"}
	r := mustResult(t, request)
	shared := func(a, b string) (n int) {
		for k, level := range levels[a] {
			if levels[b][k] == level {
				n++
			}
		}
		return n
	}
	further := 0
	for i, id := range r.IDs {
		equal := make([]int, 4) // labelled rows that share so many levels
		for _, one := range labelled {
			equal[shared(id, one)]++
		}
		most, others := 3, ";"
		for equal[most] == 0 {
			most--
		}
		if n := equal[most] - 1; n > 0 {
			others = " and " + words.Count(n, "other", "others") + ";"
		}
		text := fmt.Sprintf("shares %d of 3 categories with labelled row %s%s", most, r.Closest[i], others)
		if got := shared(id, r.Closest[i]); got != most || !strings.Contains(r.Reasons[i], text) {
			t.Errorf("%s: %s shares %d, others %d: %s", id, r.Closest[i], got, most, r.Reasons[i])
		}
		if shared(id, r.Nearest[i]) < most {
			further++
		}
		for _, a := range r.Apart[i] {
			k := slices.Index([]string{"ligand", "base", "additive"}, a.Input)
			if a.Value != levels[id][k] || a.Other != levels[r.Closest[i]][k] {
				t.Errorf("%s: %+v", id, a)
			}
		}
		never := "never measured: base B2 with ligand L1"
		want := levels[id][0] == "L1" && levels[id][1] == "B2"
		if slices.Contains(r.Untried[i], "base B2 with ligand L1") != want || strings.Contains(r.Reasons[i], never) != want {
			t.Errorf("%s: %q", id, r.Reasons[i])
		}
	}
	if further == 0 {
		t.Error("the nearest row in the kernel always shares most levels: the test compares nothing")
	}
}

// TestReasonsWithoutSharedCategory: a pick that shares nothing is not compared with a row that has nothing to do with
// it.
func TestReasonsWithoutSharedCategory(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("id,ligand,base,y\n")
	for i := range 12 {
		fmt.Fprintf(&b, "a%d,L%d,B%d,%d\nb%d,M%d,C%d,\n", i, i%4, i%3, i, i, i%4, i%3)
	}
	table, err := source.ReadCSV(t.Context(), strings.NewReader(b.String()), source.Options{ID: "id"})
	if err != nil {
		t.Fatal(err)
	}
	request, _, _ := reactions(t)
	request.Table, request.Batch = table, 4
	r := mustResult(t, request)
	for i, reason := range r.Reasons {
		if r.Closest[i] != "" || len(r.Untried[i]) != 2 || r.Nearest[i] == "" ||
			!strings.Contains(reason, "never measured: ") || strings.Contains(reason, "unlike") {
			t.Errorf("closest %q, untried %q: %s", r.Closest[i], r.Untried[i], reason)
		}
	}
}

// TestPickedWithoutWeight: where a learner that has no weight compares the rows, the answer says so.
func TestPickedWithoutWeight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method string
		kind   learner.Kind
		want   string
	}{
		{"lcmd-tp:grad>sketch(16)", learner.TreesOnly, "compares rows by what has no weight in the predictions (network)"},
		{"lcmd-tp:linear", learner.TreesOnly, ""},
		{"lcmd-tp:grad>sketch(16)", learner.NetworkAlone, ""},
	} {
		request, _, _ := reactions(t)
		request.Learner, request.Spec = c.kind, spec.MustParse(c.method)
		r := mustResult(t, request)
		if said := strings.Contains(r.Learner, "no weight"); said != (c.want != "") || !strings.Contains(r.Learner, c.want) {
			t.Errorf("%s, %s: %q", c.method, c.kind, r.Learner)
		}
	}
}
