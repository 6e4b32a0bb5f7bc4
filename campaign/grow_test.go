package campaign_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/limits"
)

// forgetful is a store that loses every network.
type forgetful struct{ campaign.Store }

func (s forgetful) Blob(ctx context.Context, name, key string) ([]byte, error) {
	if key == "model" {
		return nil, campaign.ErrNotFound
	}
	return s.Store.Blob(ctx, name, key)
}

// without returns a table without a column.
func without(t *dataset.Table, name string) *dataset.Table {
	var columns []dataset.Column
	for _, c := range t.Columns() {
		if c.Name() != name {
			columns = append(columns, c)
		}
	}
	return mustTable(columns...)
}

// growing is a campaign of 300 rows, 40 of them labelled.
func growing(t *testing.T, store campaign.Store, method string,
	table func(first, n int) *dataset.Table) *campaign.Campaign {
	t.Helper()
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{
		Table: table(0, 300), IDColumn: "name", Targets: []string{"y"}, By: ada, Clock: newClock().Now,
		Settings: campaign.Settings{Spec: method, Choices: fitted.Choices{Network: tiny(), Seed: 5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var labels []any
	for i := range 40 {
		labels = append(labels, fmt.Sprintf("r%03d", 7*i), float64(i*i%11))
	}
	tell(t, c, labels...)
	return c
}

func add(t *testing.T, c *campaign.Campaign, table *dataset.Table) campaign.AddedRows {
	t.Helper()
	added, err := c.Add(t.Context(), ada, table)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// TestGrowingPool asks, adds rows and asks again. With features and networks that are kept, the
// batch is the one from scratch with the same log, and only the new rows go through the network.
func TestGrowingPool(t *testing.T) {
	for _, c := range []struct {
		method string
		keeps  bool
	}{
		{"", true}, {"lcmd-tp:grad>sketch(16)", true}, {"lcmd-tp:grad", true}, {"maxdist-p:ll", true},
		{"kmeanspp-tp:grad>sketch(16)", true},
		{"maxdiag:grad>sketch(16)>train", true}, {"maxdet-p:grad>sketch(16)>train", true},
		{"maxdet-tp:ll>ens(2)>sketch(8)>scale", true},
		{"bait-f-p:grad>sketch(16)>train", true}, {"bait-fb-p:grad>sketch(16)>train", true},
		{"frankwolfe-p:grad>sketch(16)>acs-rf(8)", true},
		{"lcmd-tp:grad>sketch(16)>ens(2)", true}, {"lcmd-tp:grad>scale>sketch(16)", true},
		{"maxdet-p:grad>train", false}, {"random", false},
		{"maxdet-p:ll", false}, {"lcmd-tp:grad>train", false}, {"lcmd-tp:grad>sketch(16)>train>ens(2)", false},
		{"lcmd-tp:linear", false}, {"maxdet-p:nngp>train", false}, {"lcmd-tp:laplace", false},
		{"maxdet-p:matern>train", false},
	} {
		for _, categories := range []bool{true, false} {
			table := pool
			if !categories {
				table = func(first, n int) *dataset.Table { return without(pool(first, n), "kind") }
			}
			t.Run(fmt.Sprintf("%s,categories=%v", c.method, categories), func(t *testing.T) {
				t.Parallel()
				play := func(store campaign.Store, kept *kept.Features) (last *campaign.Batch, computed int64) {
					grows := growing(t, store, c.method, table)
					ask(t, grows, campaign.Ask{Rows: 6, Kept: kept})
					var before int64
					if kept != nil {
						_, before = kept.Counts()
					}
					add(t, grows, table(300, 20))
					last = ask(t, grows, campaign.Ask{Rows: 6, Kept: kept})
					if kept != nil {
						_, computed = kept.Counts()
					}
					return last, computed - before
				}
				got, computed := play(&storetest.Memory{}, &kept.Features{})
				want, _ := play(forgetful{&storetest.Memory{}}, nil)
				if !got.Kept || want.Kept {
					t.Errorf("a network was kept: %v, from scratch: %v", got.Kept, want.Kept)
				}
				if !reflect.DeepEqual(got.Rows, want.Rows) || got.Model != want.Model || got.Trained != want.Trained {
					t.Errorf("the batch is %+v\nfrom scratch %+v", got.Asked, want.Asked)
				}
				if computed != 0 != c.keeps || c.keeps && computed != 20 {
					t.Errorf("features of %d rows were computed, of 20 new ones", computed)
				}
			})
		}
	}
}

// TestNewRowsThatChangeTheNetwork: rows that are many, that have a new category, or that come with
// a label make another network; a label, too. An undone addition brings the old network back.
func TestNewRowsThatChangeTheNetwork(t *testing.T) {
	c := growing(t, &storetest.Memory{}, "", pool)
	model := func(want bool, what string) string {
		t.Helper()
		batch := ask(t, c, campaign.Ask{Rows: 1})
		if batch.Kept != want {
			t.Errorf("%s: the network was kept: %v", what, batch.Kept)
		}
		return batch.Model
	}
	first := model(false, "the first ask")
	few := add(t, c, pool(300, 30))
	if model(true, "a tenth more rows") != first {
		t.Error("the network is another one")
	}
	p, err := c.Predict(t.Context(), campaign.Ask{})
	if err != nil || !p.Kept || p.Model != first || len(p.Rows) != 288 {
		t.Errorf("predictions: %+v, %v", p, err)
	}
	add(t, c, pool(330, 1))
	model(false, "more than a tenth")
	tell(t, c, "r310", 1.0)
	model(false, "a label")
	columns := pool(400, 1).Columns()
	salt := dataset.NewCategorical("kind")
	salt.Append(salt.AddLevel("salt"))
	added := add(t, c, mustTable(columns[0], columns[1], columns[2], salt))
	if model(false, "a new category"); len(added.NewLevels["kind"]) != 1 {
		t.Errorf("new levels are %v", added.NewLevels)
	}
	if _, err := c.Undo(t.Context(), ada, few.Seq, ""); err == nil {
		t.Error("rows that were asked for are gone")
	}
}

// TestNetworkIgnoresCosts: whoever trains the network, costs are not an input of it.
func TestNetworkIgnoresCosts(t *testing.T) {
	start := func() *campaign.Campaign {
		c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
			Table: pool(0, 60), IDColumn: "name", Targets: []string{"y"}, By: ada, Clock: newClock().Now,
			Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()},
				Limits: limits.Limits{CostColumn: "z", Budget: new(20.0)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		tell(t, c, "r000", 1.0, "r001", 2.0, "r002", 5.0, "r003", 0.0)
		return c
	}
	asked, predicted := start(), start()
	if _, err := predicted.Predict(t.Context(), campaign.Ask{}); err != nil {
		t.Fatal(err)
	}
	want, got := ask(t, asked, campaign.Ask{Rows: 4}), ask(t, predicted, campaign.Ask{Rows: 4})
	if !got.Kept || !reflect.DeepEqual(got.Rows, want.Rows) {
		t.Errorf("the network of predictions picks %+v\nthat of the ask %+v", got.Asked, want.Asked)
	}
}
