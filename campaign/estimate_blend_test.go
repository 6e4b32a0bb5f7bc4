package campaign_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
)

// replayedTable is a real table whose labels are all known.
type replayedTable struct {
	rows   *dataset.Table // with the labels of the first startRows
	labels map[string]float64
}

const startRows, replayedRows, replayedAsks = 32, 1500, 5

// readReplayed reads numbers without a header, the label last, in random order.
func readReplayed(t *testing.T, name string, seed uint64) replayedTable {
	t.Helper()
	lines := golden.Records(t, "tables", name+".csv.gz")
	width := len(lines[0])
	ids, columns := dataset.NewText("id"), make([]*dataset.Numeric, width)
	for j := range columns {
		columns[j] = dataset.NewNumeric(fmt.Sprint("v", j))
	}
	labels := map[string]float64{}
	for i, at := range rng.New(seed, "replayed").Perm(len(lines))[:min(replayedRows, len(lines))] {
		id := fmt.Sprint("r", i)
		ids.Append([]byte(id))
		for j, text := range lines[at] {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if j == width-1 {
				if labels[id] = v; i >= startRows {
					v = math.NaN()
				}
			}
			columns[j].Append(v)
		}
	}
	all := []dataset.Column{ids}
	for _, c := range columns {
		all = append(all, c)
	}
	return replayedTable{mustTable(all...), labels}
}

// TestSoakErrorsOfBlends replays campaigns on real tables and compares the estimated error of the model with the one
// that it makes on the open rows, for blends and for networks.
func TestSoakErrorsOfBlends(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("set NEXTBATCH_SOAK=1 to run it")
	}
	for _, kind := range []learner.Kind{learner.Auto, learner.NetworkAlone} {
		held, all, ratios := 0, 0, 0.0
		for _, name := range []string{"concrete", "energy", "airfoil", "wine", "housing"} {
			for seed := range uint64(2) {
				for _, r := range replayErrors(t, kind, readReplayed(t, name, seed), seed) {
					if all++; r.estimate.Low <= r.truth && r.truth <= r.estimate.High {
						held++
					}
					ratios += math.Log(r.estimate.Value / r.truth)
				}
			}
		}
		ratio := math.Exp(ratios / float64(all))
		t.Logf("%s: %d of %d intervals hold the error on the open rows; the estimate is %.3f of it on average",
			kind, held, all, ratio)
		if held < all*7/10 || ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%s: the estimates are off", kind)
		}
	}
}

type replayedError struct {
	estimate estimate.Interval
	truth    float64
}

func replayErrors(t *testing.T, kind learner.Kind, table replayedTable, seed uint64) (list []replayedError) {
	t.Helper()
	target := table.rows.Names()[len(table.rows.Names())-1]
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: table.rows, IDColumn: "id", Targets: []string{target}, By: ada,
		Settings: campaign.Settings{RandomStart: true, Choices: fitted.Choices{Learner: kind, Seed: seed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range replayedAsks {
		batch := ask(t, c, campaign.Ask{})
		var entries []campaign.Entry
		for i, r := range batch.Rows {
			entries = append(entries, campaign.Entry{Line: i, ID: r.ID, Values: []float64{table.labels[r.ID]}})
		}
		if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries}); err != nil {
			t.Fatal(err)
		}
		one := ask(t, c, campaign.Ask{Rows: 1}) // records what the new model held out
		if _, err := c.Return(t.Context(), ada, ids(one), ""); err != nil {
			t.Fatal(err)
		}
		predicted, err := c.Predict(t.Context(), campaign.Ask{})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, r := range predicted.Rows {
			sum += math.Pow(float64(predicted.Predictions[i][0].Value)-table.labels[r.ID], 2)
		}
		standing, err := c.Standing(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, replayedError{standing.Targets[0].Curve.RMSE, math.Sqrt(sum / float64(len(predicted.Rows)))})
	}
	return list
}
