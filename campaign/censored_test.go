package campaign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
)

// lines are entries of a file with labels as they are typed.
func lines(t *testing.T, c *campaign.Campaign, cells ...string) []campaign.Entry {
	t.Helper()
	names, labels := dataset.NewText("name"), dataset.NewText("y")
	for i, cell := range cells {
		names.Append(fmt.Appendf(nil, "r%03d", i))
		labels.Append([]byte(cell))
	}
	list, _, err := c.Entries(t.Context(), mustTable(names, labels))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestLimitsAreLabels: a label below a limit is one at the limit, with a mark that stays with it.
func TestLimitsAreLabels(t *testing.T) {
	c, _ := begin(t, 20, campaign.Settings{})
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: lines(t, c, "<0.5", ">7", "1.5", "", "2")})
	if err != nil || len(told.Rows) != 4 {
		t.Fatalf("%+v, %v", told, err)
	}
	s := state(t, c)
	if got := fmt.Sprint(s.Label(0), s.Side(0, 0), s.Label(1), s.Side(1, 0), s.Side(2, 0)); got != "[0.5] -1 [7] 1 0" {
		t.Error(got)
	}
	if again, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: lines(t, c, "<0.5", ">7", "1.5")}); err != nil ||
		again.Seq != 0 || again.Known != 3 {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if _, err := c.Correct(t.Context(), ada, campaign.Tell{Entries: lines(t, c, "0.5")}); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Side(0, 0) != 0 || s.Label(0)[0] != 0.5 {
		t.Errorf("corrected: %v, side %d", s.Label(0), s.Side(0, 0))
	}
	tell(t, c, "r005", 3.0, "r006", 4.0, "r007", 5.0, "r008", 3.5, "r009", 1.0, "r010", 1.2)
	predicted, err := c.Predict(t.Context(), campaign.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(predicted.Warnings, "1 label is a limit, which only a Gaussian process takes as such: r001 (>7)") {
		t.Errorf("the warnings are %q", predicted.Warnings)
	}

	// What a campaign exports begins another one with the same labels and marks.
	refs, numbers := []campaign.RowRef{}, []int64{}
	for row := range state(t, c).Numbers() {
		refs, numbers = append(refs, campaign.RowRef{Row: row}), append(numbers, row)
	}
	rows, err := c.Inputs(t.Context(), refs)
	if err != nil {
		t.Fatal(err)
	}
	table := mustTable(slices.Concat(rows.Columns(), state(t, c).LabelColumns(numbers))...)
	other, err := campaign.New(t.Context(), &storetest.Memory{}, "c",
		campaign.Start{Table: table, IDColumn: "name", Targets: []string{"y"}, By: ada})
	if err != nil {
		t.Fatal(err)
	}
	if s := state(t, other); s.Side(1, 0) != 1 || s.Label(1)[0] != 7 ||
		len(s.Created.Columns) != len(state(t, c).Created.Columns) {
		t.Errorf("%v, side %d, columns %v", s.Label(1), s.Side(1, 0), s.Created.Columns)
	}
}

// TestUnknownLimits: a label below a limit that nobody has named is refused, and its row stays out.
func TestUnknownLimits(t *testing.T) {
	c, _ := begin(t, 5, campaign.Settings{})
	entries := lines(t, c, "<LOD", "n.d.", "n.b.", "> ULOQ", "3")
	for i, e := range entries[:4] {
		if !strings.Contains(e.Fault, "write the limit, as in <0.5") {
			t.Errorf("line %d: %+v", i, e)
		}
	}
	if entries[4].Fault != "" {
		t.Errorf("%+v", entries)
	}
}

// TestLimitsWaitOnlyWhereTheyContradict: a label below a limit is not doubtful because a smaller one was expected.
func TestLimitsWaitOnlyWhereTheyContradict(t *testing.T) {
	c, _ := begin(t, 40, campaign.Settings{})
	var known []any
	for i := range 30 {
		known = append(known, fmt.Sprintf("r%03d", i+10), 100+float64(i%7))
	}
	tell(t, c, known...)
	told, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: lines(t, c, "<100000", ">100000", "100000")})
	if err != nil {
		t.Fatal(err)
	}
	var waiting []string
	for _, w := range told.Waiting {
		number, _, _ := strings.Cut(w.Why.String(), ";")
		waiting = append(waiting, w.ID+" "+number)
	}
	if !slices.Equal(waiting, []string{"r001 >100,000", "r002 100,000"}) {
		t.Errorf("waiting: %q", waiting)
	}
}
