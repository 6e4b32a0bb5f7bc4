package estimate_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/estimate"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/plausible"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
)

var (
	recordTables = flag.String("record-tables",
		"yacht,autompg,housing,energy,concrete,airfoil,wine,gas,skillcraft,"+
			"sml,parkinsons,pumadyn32nm,pol,elevators,bike,keggdirected,fried,protein,diamonds,sgemm",
		"tables to record")
	recordLearners = flag.String("record-learners", "gp,trees", "learners to record")
	recordSeeds    = flag.String("record-seeds", "0", "seeds, one campaign each")
	recordWrong    = flag.String("record-wrong", "0,0.01,0.03", "shares of wrong labels")
)

const (
	recordBatch = 56   // rows of an ask
	recordMost  = 400  // labels
	recordRows  = 1000 // of the campaign
	recordTest  = 500  // rows that it may not ask for
)

var ada = campaign.By{Person: "ada"}

// knownTable is a table whose labels are all known, in random order.
type knownTable struct {
	inputs [][]float64 // by row
	labels []float64
}

// readKnown reads one of the twenty tables.
func readKnown(t *testing.T, name string, seed uint64) knownTable {
	t.Helper()
	var x matrix.Dense[float32]
	var y []float64
	switch name {
	case "fried", "protein", "diamonds", "sgemm":
		data, err := sets.Load(t.Context(), name, golden.Data(t))
		if err != nil {
			t.Fatal(err)
		}
		x, y = data.X, data.Y
	default:
		x, y = golden.Table(t, name)
	}
	var some knownTable
	for _, at := range rng.New(seed, "recorded").Perm(len(y))[:min(recordRows+recordTest, len(y))] {
		row := make([]float64, x.Cols)
		for j, v := range x.Row(at) {
			row[j] = float64(v)
		}
		some.inputs, some.labels = append(some.inputs, row), append(some.labels, y[at])
	}
	return some
}

// withSlips returns the labels as they are told: some with a factor of 10, 100 or 0.1 or the wrong sign.
func (k knownTable) withSlips(share float64, seed uint64) []float64 {
	told, draw := make([]float64, len(k.labels)), rng.New(seed, "slips")
	for i, v := range k.labels {
		slip, wrong := []float64{10, 100, 0.1, -1}[draw.IntN(4)], draw.Float64() < share
		if told[i] = v; wrong {
			told[i] = v * slip
		}
	}
	return told
}

// recorder is a campaign that is being recorded.
type recorder struct {
	*estimate.Recording
	table  knownTable
	told   []float64
	tests  []string // ids of the rows that the campaign may not ask for
	labels int
	c      *campaign.Campaign
}

func id(row int) string { return fmt.Sprint("r", row) }

// begin starts the campaign with random rows. With a second look, doubtful labels among them are left out, as the
// warning advises.
func (r *recorder) begin(t *testing.T) {
	t.Helper()
	n := len(r.table.labels)
	tests := min(recordTest, n/4)
	r.Rows = n - tests
	names, y := dataset.NewText("id"), dataset.NewNumeric("y")
	columns := make([]*dataset.Numeric, len(r.table.inputs[0]))
	for j := range columns {
		columns[j] = dataset.NewNumeric(fmt.Sprint("v", j))
	}
	known := plausible.Learn(r.told[:estimate.RecordStart])
	for i, inputs := range r.table.inputs {
		names.Append([]byte(id(i)))
		for j, v := range inputs {
			columns[j].Append(v)
		}
		label := math.NaN()
		if i < estimate.RecordStart {
			if r.Look && known.Examine(r.told[i], nil) != nil {
				r.Waiting++
			} else {
				label = r.told[i]
				r.labels++
			}
		}
		y.Append(label)
		if i >= r.Rows {
			r.tests = append(r.tests, id(i))
		}
	}
	all := []dataset.Column{names}
	for _, c := range columns {
		all = append(all, c)
	}
	table, err := dataset.NewTable(append(all, y)...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := campaign.New(t.Context(), &storetest.Memory{}, "c", campaign.Start{
		Table: table, IDColumn: "id", Targets: []string{"y"}, By: ada,
		Settings: campaign.Settings{RandomStart: true, Batch: recordBatch, Lease: -1,
			Choices: fitted.Choices{Learner: learner.Kind(r.Learner), Seed: r.Seed}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.c = c
}

// ask asks for a batch, measures the model that picked it, and tells the labels.
func (r *recorder) ask(t *testing.T) {
	t.Helper()
	batch, err := r.c.Ask(t.Context(), ada, campaign.Ask{Exclude: r.tests})
	if err != nil {
		t.Fatal(err)
	}
	one := estimate.RecordedAsk{Labels: batch.Trained, CrossFitted: batch.Chosen[0].Error}
	for _, held := range batch.HeldOut {
		one.HeldOut = append(one.HeldOut, estimate.RecordedError{Row: held.Row, Labels: batch.Trained * 4 / 5,
			Prediction: float64(held.Values[0]), Label: r.told[held.Row]})
	}
	predicted, err := r.c.Predict(t.Context(), campaign.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, row := range predicted.Rows {
		if row.Row >= int64(r.Rows) {
			sum += math.Pow(float64(predicted.Predictions[i][0].Value)-r.table.labels[row.Row], 2)
		}
	}
	one.RMSE = math.Sqrt(sum / float64(len(r.tests)))
	var entries []campaign.Entry
	for i, row := range batch.Rows {
		entries = append(entries, campaign.Entry{Line: i, ID: row.ID, Values: []float64{r.told[row.Row]}})
	}
	told, err := r.c.Tell(t.Context(), ada, campaign.Tell{Entries: entries, Accept: !r.Look})
	if err != nil {
		t.Fatal(err)
	}
	waits := map[int64]bool{}
	for _, w := range told.Waiting {
		waits[w.Row] = true
	}
	for _, row := range batch.Rows {
		if row.Audit && !waits[row.Row] {
			one.Audited = append(one.Audited, estimate.RecordedError{Row: row.Row, Labels: batch.Trained,
				Prediction: float64(row.Predictions[0].Value), Label: r.told[row.Row]})
		}
	}
	r.Waiting += len(waits)
	r.labels += len(entries) - len(waits)
	r.Asks = append(r.Asks, one)
}

// TestSoakRecordCampaigns runs campaigns on twenty tables and keeps what they recorded, so that TestSoakStop can judge
// stop rules and forecasts in seconds. A campaign that the folder has is not run again.
//
//	NEXTBATCH_SOAK=1 go test ./campaign -count=1 -run TestSoakRecordCampaigns -timeout 4h -record-dir recordings
func TestSoakRecordCampaigns(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" || *estimate.RecordDir == "" {
		t.Skip("takes an hour or more, and a folder: -record-dir")
	}
	for seedText := range strings.SplitSeq(*recordSeeds, ",") {
		seed, err := strconv.ParseUint(seedText, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for wrongText := range strings.SplitSeq(*recordWrong, ",") {
			wrong, err := strconv.ParseFloat(wrongText, 64)
			if err != nil {
				t.Fatal(err)
			}
			for name := range strings.SplitSeq(*recordTables, ",") {
				for kind := range strings.SplitSeq(*recordLearners, ",") {
					for _, look := range []bool{false, true} {
						if look && wrong == 0 {
							continue // next to no true label waits
						}
						path := filepath.Join(*estimate.RecordDir, fmt.Sprintf("%s-%s-%v-%v-%d.json", name, kind, wrong, look, seed))
						if estimate.Recorded(path) {
							continue
						}
						r := &recorder{Recording: &estimate.Recording{Table: name, Learner: kind, Wrong: wrong, Look: look, Seed: seed},
							table: readKnown(t, name, seed)}
						r.told = r.table.withSlips(wrong, seed)
						r.begin(t)
						for most := min(recordMost, r.Rows*6/10); r.labels <= most; {
							r.ask(t)
						}
						r.Write(t, path)
						t.Logf("%s: RMSE %.4g to %.4g", path, r.Asks[0].RMSE, r.Asks[len(r.Asks)-1].RMSE)
					}
				}
			}
		}
	}
}
