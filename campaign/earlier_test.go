package campaign_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// old returns labelled rows of another instrument: without names, and with labels on another scale.
func old(t *testing.T, rows int) *dataset.Table {
	t.Helper()
	from := pool(500, rows)
	x, _ := from.Numeric("x")
	z, _ := from.Numeric("z")
	y := dataset.NewNumeric("y")
	for row := range rows {
		y.Append(5 + 10*(math.Sin(2*x.Float(row))+0.3*z.Float(row)))
	}
	table, err := dataset.NewTable(x, z, y)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestEarlierData: a campaign keeps earlier data in its store, spreads its first batch over what a model of them
// predicts, and learns with it later; an archive holds them, and undoing their event ends their effect.
func TestEarlierData(t *testing.T) {
	t.Parallel()
	earlier := old(t, 60)
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: pool(0, 120), IDColumn: "name", Targets: []string{"y"}, By: ada, Clock: newClock().Now,
		Settings: campaign.Settings{Choices: fitted.Choices{Learner: learner.GaussianOnly, Seed: 5}, Audit: new(0.0)},
		Earlier:  []*dataset.Table{earlier}, Names: tables.Names{earlier: "old.csv"},
	})
	if err != nil {
		t.Fatal(err)
	}
	plain := beginWith(t, &storetest.Memory{}, learner.GaussianOnly, "y")
	first := ask(t, c, campaign.Ask{Rows: 12})
	if first.Rows[0].Predictions != nil ||
		slices.Equal(ids(first), ids(ask(t, plain, campaign.Ask{Rows: 12, Audit: new(0.0)}))) {
		t.Error("the first batch has predictions, or is that without earlier data")
	}
	moved, err := importInto(t, &storetest.Memory{}, "moved", export(t, c))
	if err != nil {
		t.Fatal(err)
	}
	tellTruth(t, c, refs(first), 1)
	tellTruth(t, moved, refs(first), 1)
	inputs := func(c *campaign.Campaign) float64 {
		found, err := c.Predict(t.Context(), campaign.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, row := range found.Rows {
			sum += math.Pow(float64(found.Predictions[i][0].Value)-truth(v, row.Row), 2)
		}
		return math.Sqrt(sum / float64(len(found.Rows)))
	}
	with := inputs(c)
	if other := inputs(moved); other != with {
		t.Errorf("the error is %v, and %v in an archive", with, other)
	}
	second := ids(ask(t, c, campaign.Ask{Rows: 4}))
	s := state(t, c)
	added := int64(0)
	log, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log {
		if e.Earlier != nil {
			added = e.Seq
		}
	}
	if len(s.Earlier) != 1 || s.Earlier[0].Rows() != 60 || added == 0 {
		t.Fatal("the state has", s.Earlier)
	}
	if _, err := c.Undo(t.Context(), ada, added, "not needed"); err != nil {
		t.Fatal(err)
	}
	if without := inputs(c); !(with < 0.7*without) || len(state(t, c).Earlier) > 0 {
		t.Errorf("the error is %v, and %v without earlier data", with, without)
	}
	if _, err := moved.AddEarlier(t.Context(), ada, "more.csv", old(t, 3)); err == nil ||
		!strings.HasPrefix(err.Error(), "more.csv: 3 rows have a label") {
		t.Error(err)
	}
	if third := ids(ask(t, moved, campaign.Ask{Rows: 4})); !slices.Equal(second, third) {
		t.Error("an imported campaign picks", third, "instead of", second)
	}
}
