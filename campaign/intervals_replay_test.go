package campaign_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/learner"
)

// The flags choose what TestSoakIntervals replays.
var (
	intervalTables = flag.String("interval-tables",
		"airfoil,concrete,elevators,keggdirected,parkinsons,pol,skillcraft,wine", "tables of TestSoakIntervals")
	intervalSeeds = flag.Uint64("interval-seeds", 3, "campaigns on each table of TestSoakIntervals")
	intervalKind  = flag.String("interval-learner", "auto", "learner of TestSoakIntervals")
)

// TestSoakIntervals replays campaigns on real tables, with 32 random labels at the start and audit rows, and counts the
// open rows whose label is in its 90 % interval at the end. These campaigns have 56 random labels among 224.
func TestSoakIntervals(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("set NEXTBATCH_SOAK=1 to run it")
	}
	all, outside, sum := 0, 0, 0.0
	for _, name := range strings.Split(*intervalTables, ",") {
		for seed := range *intervalSeeds {
			table := readReplayed(t, name, seed)
			coverage, how := replayIntervals(t, learner.Kind(*intervalKind), table, seed)
			t.Logf("%s, seed %d: %.3f; %s", name, seed, coverage, how)
			sum += coverage
			if all++; coverage < 0.85 || coverage > 0.95 {
				outside++
			}
		}
	}
	mean := sum / float64(all)
	t.Logf("%d campaigns: the mean coverage is %.3f; %d are not within 0.85 and 0.95", all, mean, outside)
	if mean < 0.87 || mean > 0.94 || outside > all/4 {
		t.Error("the intervals are off")
	}
}

// replayIntervals returns the share of the open rows whose label is in its interval after six batches, and how
// intervals were made.
func replayIntervals(t *testing.T, kind learner.Kind, table replayedTable, seed uint64) (coverage float64, how string) {
	t.Helper()
	target := table.rows.Names()[len(table.rows.Names())-1]
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: table.rows, IDColumn: "id", Targets: []string{target}, By: ada,
		Settings: campaign.Settings{RandomStart: true, Choices: fitted.Choices{Learner: kind, Seed: seed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		var entries []campaign.Entry
		for i, r := range ask(t, c, campaign.Ask{Rows: 32}).Rows {
			entries = append(entries, campaign.Entry{Line: i, ID: r.ID, Values: []float64{table.labels[r.ID]}})
		}
		if _, err := c.Tell(t.Context(), ada, campaign.Tell{Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	predicted, err := c.Predict(t.Context(), campaign.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range predicted.Rows {
		one, y := predicted.Predictions[i][0], fitted.Float(table.labels[r.ID])
		if *one.Low <= y && y <= *one.High {
			coverage += 1 / float64(len(predicted.Rows))
		}
	}
	return coverage, predicted.Intervals[0].Why
}
