package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/postgresdb/postgrestest"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// truth is a label of a row of pool that a model can learn.
func truth(c *campaign.View, row int64) float64 {
	at := c.At(row)
	x, _ := c.Table.Numeric("x")
	z, _ := c.Table.Numeric("z")
	return math.Sin(2*x.Float(at)) + 0.3*z.Float(at)
}

// tellTruth tells the labels of rows, of the first of several targets, or of all.
func tellTruth(t *testing.T, c *campaign.Campaign, rows []campaign.RowRef, targets int) {
	t.Helper()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := make([]campaign.Entry, len(rows))
	for i, r := range rows {
		list[i] = campaign.Entry{Line: i, ID: r.ID, Values: make([]float64, len(v.Created.Targets))}
		for k := range list[i].Values {
			if list[i].Values[k] = math.NaN(); k < targets {
				list[i].Values[k] = float64(k+1) * truth(v, r.Row)
			}
		}
	}
	if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: list}); err != nil {
		t.Fatal(err)
	}
}

func refs(b *campaign.Batch) (list []campaign.RowRef) {
	for _, r := range b.Rows {
		list = append(list, r.RowRef)
	}
	return list
}

// beginWith begins a campaign of 120 rows with a learner.
func beginWith(t *testing.T, store campaign.Store, kind learner.Kind, targets ...string) *campaign.Campaign {
	t.Helper()
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{
		Table: pool(0, 120), IDColumn: "name", Targets: targets, By: ada, Clock: newClock().Now,
		Settings: campaign.Settings{Choices: fitted.Choices{Learner: kind, Network: tiny(), Seed: 5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// stores are new stores of all kinds; that of PostgreSQL only where there is a server.
func stores(t *testing.T) map[string]func(t *testing.T) campaign.Store {
	t.Helper()
	opened := func(place func(t *testing.T) string) func(t *testing.T) campaign.Store {
		return func(t *testing.T) campaign.Store {
			store, err := openPlace(t.Context(), place(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return store
		}
	}
	return map[string]func(t *testing.T) campaign.Store{
		"memory":   func(*testing.T) campaign.Store { return &storetest.Memory{} },
		"sqlite":   opened(func(t *testing.T) string { return filepath.Join(t.TempDir(), "c.db") }),
		"postgres": opened(func(t *testing.T) string { return postgrestest.Schema(t) }),
	}
}

// TestLearners runs a campaign with each learner that is not a network alone: the start without a model, asks with one,
// predictions, the map, where it stands, and what was chosen.
func TestLearners(t *testing.T) {
	for _, kind := range []learner.Kind{learner.Auto, learner.GaussianOnly, learner.TreesOnly} {
		for name, store := range stores(t) {
			t.Run(fmt.Sprint(kind, ",", name), func(t *testing.T) {
				t.Parallel()
				c := beginWith(t, store(t), kind, "y")
				first := ask(t, c, campaign.Ask{Rows: 4})
				tellTruth(t, c, refs(first), 1)
				if _, err := c.Predict(t.Context(), campaign.Ask{}); !errors.Is(err, campaign.ErrTooFewLabels) ||
					!strings.Contains(err.Error(), "at least 5 labelled rows") {
					t.Errorf("with four labels: %v", err)
				}
				second := ask(t, c, campaign.Ask{Rows: 16})
				if second.Model != "" || second.Chosen != nil || !strings.Contains(strings.Join(second.Result.Warnings, " "),
					"too few to train a model") {
					t.Errorf("a batch with four labels is %+v, %q", second.Asked, second.Result.Warnings)
				}
				tellTruth(t, c, refs(second), 1)
				third := ask(t, c, campaign.Ask{Rows: 16, Audit: new(1.0)})
				if third.Model == "" || third.Trained != 20 || third.Kept || len(third.Chosen) != 1 ||
					third.Rows[0].Predictions == nil {
					t.Errorf("a batch with 20 labels is %+v", third.Asked)
				}
				checkChosen(t, third.Chosen[0], third.Result)
				if _, err := c.Predict(t.Context(), campaign.Ask{Trainer: nobody{}}); err != nil {
					t.Errorf("the kept model: %v", err)
				}
				tellTruth(t, c, refs(third), 1)
				predicted, err := c.Predict(t.Context(), campaign.Ask{})
				if err != nil || predicted.Trained != 36 || predicted.Kept || predicted.Learner != kind ||
					len(predicted.Rows) != 84 {
					t.Fatalf("%+v %v", predicted, err)
				}
				last := ask(t, c, campaign.Ask{Rows: 8})
				if !last.Kept || last.Model != predicted.Model || !reflect.DeepEqual(last.Rows[0].Predictions,
					predictionOf(predicted, last.Rows[0].Row)) {
					t.Errorf("the ask after predicting has the model %q, kept %v", last.Model, last.Kept)
				}
				if m, err := c.Map(t.Context(), campaign.Ask{}, 1000); err != nil || m.Labels != 36 ||
					len(m.Rows) != 120 || m.Predictions == nil {
					t.Errorf("the map is %+v %v", m, err)
				}
				standing, err := c.Standing(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				found := standing.Targets[0]
				if standing.Learner != kind || found.Curve == nil || len(found.Learners) != 2 || found.Learners[1].Labels != 36 ||
					found.Learners[1].Ask != last.Ask || found.Learners[1].Weights().String() == "" {
					t.Errorf("the standing is %+v", found)
				}
				if found.HeldOut != 2+16 { // all random rows were held out of some fold
					t.Errorf("%d random rows were held out", found.HeldOut)
				}
			})
		}
	}
}

// nobody is a trainer that must not be needed.
type nobody struct{}

func (nobody) Train(context.Context, network.Config, int, network.Data,
	func(network.Epoch)) (network.Ensemble, []network.History, error) {
	return nil, nil, errors.New("a network was trained")
}

// checkChosen compares what an event records with the result of the selection, which may add what compares the rows.
func checkChosen(t *testing.T, c campaign.Chosen, r *nextbatch.Result) {
	t.Helper()
	sum := 0.0
	for _, one := range c.Candidates {
		sum += one.Weight
	}
	if !strings.HasPrefix(r.Learner, c.Learner) || !reflect.DeepEqual(c.Candidates, r.Candidates) ||
		math.Abs(sum-1) > 1e-9 || !(c.Error > 0) {
		t.Errorf("chosen is %+v, the result has %q %+v", c, r.Learner, r.Candidates)
	}
}

func predictionOf(p *campaign.Predicted, row int64) []fitted.Prediction {
	return p.Predictions[slices.IndexFunc(p.Rows, func(r campaign.RowRef) bool { return r.Row == row })]
}

// TestLearnersOfSeveralTargets: a model needs labels of every target; then a row may lack some.
func TestLearnersOfSeveralTargets(t *testing.T) {
	c := beginWith(t, &storetest.Memory{}, learner.Auto, "y", "w")
	first := ask(t, c, campaign.Ask{Rows: 24})
	tellTruth(t, c, refs(first)[4:], 1)
	second := ask(t, c, campaign.Ask{Rows: 4})
	if second.Model != "" || !strings.Contains(strings.Join(second.Result.Warnings, " "),
		"at least 5 labels of each target") {
		t.Errorf("without labels of the second target: %+v, %q", second.Asked, second.Result.Warnings)
	}
	if _, err := c.Predict(t.Context(), campaign.Ask{}); !errors.Is(err, campaign.ErrTooFewLabels) ||
		!strings.HasSuffix(err.Error(), "of each target") {
		t.Errorf("predicting without labels of the second target: %v", err)
	}
	tellTruth(t, c, append(refs(first)[:4], refs(second)...), 2)
	third := ask(t, c, campaign.Ask{Rows: 4})
	if third.Model == "" || third.Trained != 28 || len(third.Chosen) != 2 || len(third.Rows[0].Predictions) != 2 {
		t.Errorf("with labels of both: %+v", third.Asked)
	}
	standing, err := c.Standing(t.Context(), "")
	if err != nil || len(standing.Targets[1].Learners) != 1 ||
		standing.Targets[1].Learners[0].Learner != third.Chosen[1].Learner {
		t.Errorf("%+v %v", standing, err)
	}
}

// TestLearnersOfGrowingPools: rows that are added do not make another model, and the batch is that from scratch.
func TestLearnersOfGrowingPools(t *testing.T) {
	for _, kind := range []learner.Kind{learner.Auto, learner.TreesOnly} {
		for _, method := range []string{"", "lcmd-tp:grad>sketch(16)", "lcmd-tp:linear"} {
			t.Run(fmt.Sprint(kind, ",", method), func(t *testing.T) {
				t.Parallel()
				play := func(store campaign.Store, threads int) *campaign.Batch {
					c := beginWith(t, store, kind, "y")
					s := state(t, c).Settings
					s.Spec = method
					if _, err := c.ChangeSettings(t.Context(), ada, s); err != nil {
						t.Fatal(err)
					}
					tellTruth(t, c, refs(ask(t, c, campaign.Ask{Rows: 24})), 1)
					ask(t, c, campaign.Ask{Rows: 4})
					add(t, c, pool(120, 6))
					batch, err := c.Ask(nextbatch.WithThreads(t.Context(), threads), ada, campaign.Ask{Rows: 6})
					if err != nil {
						t.Fatal(err)
					}
					return batch
				}
				got, want := play(&storetest.Memory{}, 2), play(forgetful{&storetest.Memory{}}, 1)
				if !got.Kept || want.Kept || !reflect.DeepEqual(got.Rows, want.Rows) || got.Model != want.Model ||
					!reflect.DeepEqual(got.Chosen, want.Chosen) {
					t.Errorf("the batch is %+v (kept %v)\nfrom scratch %+v (kept %v)", got.Asked, got.Kept, want.Asked, want.Kept)
				}
			})
		}
	}
}

// TestChangeOfLearner: another learner is another model, and the first one's comes back with its setting. Settings that
// do not say keep the learner.
func TestChangeOfLearner(t *testing.T) {
	c := beginWith(t, &storetest.Memory{}, learner.GaussianOnly, "y")
	tellTruth(t, c, refs(ask(t, c, campaign.Ask{Rows: 24})), 1)
	models := map[learner.Kind]string{}
	for _, kind := range []learner.Kind{learner.GaussianOnly, learner.NetworkAlone, learner.TreesOnly,
		learner.GaussianOnly, ""} {
		s := state(t, c).Settings
		s.Learner = kind
		if _, err := c.ChangeSettings(t.Context(), ada, s); err != nil {
			t.Fatal(err)
		}
		if kind == "" {
			kind = learner.GaussianOnly
		}
		batch := ask(t, c, campaign.Ask{Rows: 1})
		if now := state(t, c).Settings.Learner; now != kind || kind.Blends() != (batch.Chosen != nil) ||
			batch.Learner != kind {
			t.Errorf("the learner is %q, want %q; the ask has %+v", now, kind, batch.Chosen)
		}
		if before, known := models[kind]; known && before != batch.Model {
			t.Errorf("the model of %s was %q and is %q", kind, before, batch.Model)
		}
		models[kind] = batch.Model
	}
	if models[learner.GaussianOnly] == models[learner.NetworkAlone] ||
		models[learner.NetworkAlone] == models[learner.TreesOnly] {
		t.Errorf("the models are %v", models)
	}
	standing, err := c.Standing(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range standing.Targets[0].Learners {
		texts = append(texts, f.Weights().String())
	}
	if len(texts) != 4 || !strings.Contains(texts[0], " gp") || texts[1] != "1.00 network" || texts[3] != texts[0] {
		t.Errorf("the learners were %q", texts)
	}
}

// TestLabelledRowsThatLackInputs: where rows with gaps are dropped and too few labelled ones are left, a campaign asks
// without a model and says so, as with too few labels; with enough, it has one.
func TestLabelledRowsThatLackInputs(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"", "random", nextbatch.ProcessSpec} {
		ids, x := dataset.NewText("name"), dataset.NewNumeric("x")
		for row := range 40 {
			ids.Append(fmt.Appendf(nil, "r%d", row))
			x.Append(math.Sqrt(float64(row - 6)))
		}
		settings := campaign.Settings{Spec: method, Missing: "drop",
			Choices: fitted.Choices{Learner: learner.Auto}}
		c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{Table: mustTable(ids, x),
			IDColumn: "name", Targets: []string{"y"}, Settings: settings, By: ada})
		if err != nil {
			t.Fatal(err)
		}
		for row := range 10 {
			tell(t, c, fmt.Sprint("r", row), float64(row))
		}
		b := ask(t, c, campaign.Ask{Rows: 3})
		said := slices.ContainsFunc(b.Result.Warnings, func(w string) bool {
			return strings.Contains(w, "4 rows have a label, too few to train a model: the batch is spread over the inputs")
		})
		if len(b.Rows) != 3 || b.Model != "" || said != (method != "random") {
			t.Errorf("%q: %v by model %q: %q", method, b.Rows, b.Model, b.Result.Warnings)
		}
		if m, err := c.Map(t.Context(), campaign.Ask{}, 40); err != nil || m.Labels != 0 {
			t.Errorf("%q: a map %v, %v", method, m, err)
		}
		tell(t, c, b.Rows[0].ID, 5.5)
		if b := ask(t, c, campaign.Ask{Rows: 3}); b.Model == "" || b.Trained != 5 {
			t.Errorf("%q: model %q of %d rows", method, b.Model, b.Trained)
		}
	}
}

// TestInterruptedBlend: an ask that is cancelled while networks are trained resumes, to the same batch as one that is
// not.
func TestInterruptedBlend(t *testing.T) {
	play := func(interrupt bool) *campaign.Batch {
		c := beginWith(t, &storetest.Memory{}, learner.Auto, "y")
		tellTruth(t, c, refs(ask(t, c, campaign.Ask{Rows: 40})), 1)
		if interrupt {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := c.Ask(ctx, ada, campaign.Ask{Rows: 6, Fitting: func(name string, fold, _ int) {
				if name == "extra-trees" && fold == 2 {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("the ask was not interrupted: %v", err)
			}
		}
		return ask(t, c, campaign.Ask{Rows: 6})
	}
	got, want := play(true), play(false)
	if !reflect.DeepEqual(got.Rows, want.Rows) || got.Model != want.Model {
		t.Errorf("after an interruption the batch is %+v\nwithout %+v", got.Rows, want.Rows)
	}
}

// TestCampaignFromBeforeLearners: a campaign that a version without learners wrote keeps its network. The batches are
// those that this version gave.
func TestCampaignFromBeforeLearners(t *testing.T) {
	file, err := os.Open("testdata/network.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	store := &storetest.Memory{}
	c, err := campaign.Import(t.Context(), store, "", file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if s := state(t, c).Settings; s.Learner != "" {
		t.Errorf("the learner is %q", s.Learner)
	}
	kept := ask(t, c, campaign.Ask{Rows: 4, Lease: -1})
	if !kept.Kept || !slices.Equal(ids(kept), []string{"r61", "r43", "r55", "r38"}) {
		t.Errorf("with the kept network: %v, kept %v", ids(kept), kept.Kept)
	}
	tell(t, c, "r61", 1.5, "r43", 0.25, "r55", -0.5)
	trained := ask(t, c, campaign.Ask{Rows: 4})
	if trained.Kept || trained.Chosen != nil || !slices.Equal(ids(trained), []string{"r34", "r17", "r31", "r29"}) {
		t.Errorf("with a new network: %v, kept %v", ids(trained), trained.Kept)
	}
	standing, err := c.Standing(t.Context(), "")
	if err != nil || standing.Learner != "" || standing.Targets[0].Learners != nil {
		t.Errorf("%+v %v", standing, err)
	}
}
