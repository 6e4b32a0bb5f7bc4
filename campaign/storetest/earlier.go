package storetest

import (
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
)

// Earlier checks a store with the campaign of the test data, which an earlier version of the
// program wrote: four rows, one labelled from the start, two asked for, one of them told.
func Earlier(t *testing.T, store campaign.Store) {
	t.Helper()
	c, err := campaign.Open(t.Context(), store, "")
	if err != nil {
		t.Fatal(err)
	}
	view, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if counts := view.Counts(); counts != (campaign.Counts{Rows: 4, Open: 1, Asked: 1, Labelled: 2}) {
		t.Errorf("counts %+v", counts)
	}
	if view.Table.Rows() != 4 || view.ID(1) != "r2" || view.Label(view.Number(1))[0] != 5 {
		t.Errorf("row 1 is %q with the label %v", view.ID(1), view.Label(view.Number(1)))
	}
	told, err := c.Tell(t.Context(), campaign.By{Person: "ben"},
		campaign.Tell{Entries: []campaign.Entry{{ID: "r4", Values: []float64{7}}}})
	if err != nil || len(told.Rows) != 1 {
		t.Errorf("told %+v %v", told, err)
	}
}
