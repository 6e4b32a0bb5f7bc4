package plausible

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// The flags measure how often the second look is right (docs/audit.md). With a folder for the predictions, a second run
// takes seconds:
//
//	NEXTBATCH_SOAK=1 go test ./internal/plausible -run TestSoakSecondLook -v -timeout 0 -look-dir /tmp/look
var (
	lookTables = flag.String("look-tables", "all", "tables of TestSoakSecondLook")
	lookKinds  = flag.String("look-learners", "gp,trees", "learners whose predictions labels are compared with")
	lookLabels = flag.String("look-labels", "64,256,1024", "numbers of labels so far")
	lookSeeds  = flag.Int("look-seeds", 1, "random sets of labels")
	lookDir    = flag.String("look-dir", "", "folder that keeps the predictions; empty means none")
)

// outlook is what a model that has learnt from some labels of a table expects of other rows.
type outlook struct {
	Known    []float64  `json:"known"`    // labels that it has learnt from
	True     []float64  `json:"true"`     // labels of the others
	Expected []Expected `json:"expected"` // of the others
	Distance []float64  `json:"distance"` // of each other row from the nearest that the model has learnt from
}

// plantings are slips.
var plantings = []struct {
	name string
	slip func(label float64, row int) float64
}{
	{"× 10", func(y float64, _ int) float64 { return y * 10 }},
	{"× 100", func(y float64, _ int) float64 { return y * 100 }},
	{"× 0.1", func(y float64, _ int) float64 { return y / 10 }},
	{"× 0.01", func(y float64, _ int) float64 { return y / 100 }},
	{"sign", func(y float64, _ int) float64 { return -y }}, {"digits swapped", swapSome},
}

// swapSome swaps two neighbouring digits of a label.
func swapSome(y float64, row int) float64 {
	var all []float64
	eachSwap(y, func(v float64) { all = append(all, v) })
	if len(all) == 0 {
		return y
	}
	return all[row%len(all)]
}

// looked counts what a look found.
type looked struct {
	labels, alarms int
	far, farAlarms int   // of these, among the tenth of the rows that is farthest from known ones
	moved, found   []int // planted slips of each kind that move a label by three widths or more, and those that were found
}

func (l *looked) add(o looked) {
	l.labels, l.alarms, l.far, l.farAlarms = l.labels+o.labels, l.alarms+o.alarms, l.far+o.far, l.farAlarms+o.farAlarms
	for i := range plantings {
		l.moved[i] += o.moved[i]
		l.found[i] += o.found[i]
	}
}

func nothingLooked() looked {
	return looked{moved: make([]int, len(plantings)), found: make([]int, len(plantings))}
}

// look examines true labels and slips, with predictions or by the labels so far alone, whose width is that of nine of
// ten.
func (o *outlook) look(alone bool) looked {
	labels, r := Learn(o.Known), nothingLooked()
	sorted := slices.Sorted(slices.Values(o.Distance))
	far := sorted[len(sorted)*9/10]
	for i, y := range o.True {
		expected, width := &o.Expected[i], o.Expected[i].High-o.Expected[i].Low
		if alone {
			expected, width = nil, labels.plain.high-labels.plain.low
		}
		alarm := r.lookAt(labels, y, expected, width, i)
		if o.Distance[i] > far {
			r.far++
			if alarm {
				r.farAlarms++
			}
		}
	}
	return r
}

// lookAt examines a true label of a row and what slips make of it, and reports whether the true one waits.
func (l *looked) lookAt(labels *Labels, y float64, expected *Expected, width float64, row int) (alarm bool) {
	if alarm = labels.Examine(y, expected) != nil; alarm {
		l.alarms++
	}
	l.labels++
	for k, p := range plantings {
		if v := p.slip(y, row); math.Abs(v-y) > 3*width {
			l.moved[k]++
			if labels.Examine(v, expected) != nil {
				l.found[k]++
			}
		}
	}
	return alarm
}

// row is a line of a table in Markdown.
func (l looked) row(name string) string {
	line := fmt.Sprintf("| %s | %d | %d (%.2f) | %d of %d", name, l.labels, l.alarms,
		1000*float64(l.alarms)/float64(l.labels), l.farAlarms, l.far)
	for k := range plantings {
		share := "–"
		if l.moved[k] > 0 {
			share = fmt.Sprintf("%.1f %% of %d", 100*float64(l.found[k])/float64(l.moved[k]), l.moved[k])
		}
		line += " | " + share
	}
	return line + " |"
}

// checkTables requires that true labels rarely wait, and slips of each kind mostly. The narrower the intervals, the
// smaller the slips that count: with several processes for few labels, 172 of 197 swapped digits were found instead of
// 124 of 132.
func (l looked) checkTables(t *testing.T, name string) {
	t.Helper()
	if 1000*l.alarms > l.labels {
		t.Errorf("%s: %d of %d true labels wait, more than 1 in 1000", name, l.alarms, l.labels)
	}
	for k, p := range plantings {
		if 20*l.found[k] < 17*l.moved[k] {
			t.Errorf("%s: %d of %d planted slips (%s) wait, fewer than 85 %%", name, l.found[k], l.moved[k], p.name)
		}
	}
}

// TestSecondLookOnTwoTables: of two real tables with 64 labels, true labels hardly ever wait, and most slips do.
func TestSecondLookOnTwoTables(t *testing.T) {
	t.Parallel()
	all := nothingLooked()
	for _, name := range []string{"energy", "sml"} {
		all.add(outlookOn(t, name, learner.GaussianOnly, 64, 0).look(false))
	}
	t.Log(all.row("energy, sml"))
	all.checkTables(t, "energy and sml")
	for k, p := range plantings {
		if all.moved[k] == 0 {
			t.Errorf("no slip (%s) was planted", p.name)
		}
	}
}

// TestSoakSecondLook prints how often labels wait, and which slips are found.
func TestSoakSecondLook(t *testing.T) {
	if os.Getenv("NEXTBATCH_SOAK") == "" {
		t.Skip("set NEXTBATCH_SOAK=1 to run it")
	}
	byTable := map[string]looked{}
	names := realTables(t)
	for size := range strings.SplitSeq(*lookLabels, ",") {
		labels, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		alone := nothingLooked()
		for kind := range strings.SplitSeq(*lookKinds, ",") {
			all := nothingLooked()
			alone = nothingLooked() // the same for each learner
			for _, name := range names {
				for seed := range *lookSeeds {
					o := outlookOn(t, name, learner.Kind(kind), labels, uint64(seed))
					if o == nil {
						continue
					}
					one := o.look(false)
					all.add(one)
					alone.add(o.look(true))
					sum, ok := byTable[name]
					if !ok {
						sum = nothingLooked()
					}
					sum.add(one)
					byTable[name] = sum
				}
			}
			fmt.Println(all.row(fmt.Sprintf("%d | %s", labels, kind)))
			all.checkTables(t, fmt.Sprintf("%d labels, %s", labels, kind))
		}
		fmt.Println(alone.row(fmt.Sprintf("%d | none", labels)))
		alone.checkTables(t, fmt.Sprintf("%d labels alone", labels))
	}
	for _, name := range names {
		fmt.Println(byTable[name].row(name))
	}
}

// largeSets are the real ones among the data sets.
var largeSets = []string{"fried", "protein", "diamonds", "sgemm"}

func realTables(t *testing.T) []string {
	t.Helper()
	if *lookTables != "all" {
		return strings.Split(*lookTables, ",")
	}
	return append(golden.Tables(t, "tables"), largeSets...)
}

// realTable returns a table. Its encoder is nil if all columns are numbers.
func realTable(t *testing.T, name string) (matrix.Dense[float32], []float64, *encode.Encoder) {
	t.Helper()
	if !slices.Contains(largeSets, name) {
		x, y := golden.Table(t, name)
		return x, y, nil
	}
	r, err := sets.Load(t.Context(), name, golden.Data(t))
	if err != nil {
		t.Fatal(err)
	}
	return r.X, r.Y, &r.Encoder
}

// outlookOn returns what a learner expects of up to 2,000 rows of a table; nil if the table is too small.
func outlookOn(t *testing.T, name string, kind learner.Kind, labels int, seed uint64) *outlook {
	t.Helper()
	file := filepath.Join(*lookDir, fmt.Sprintf("%s-%s-%d-%d.json", name, kind, labels, seed))
	if *lookDir != "" {
		raw, err := os.ReadFile(file)
		if err == nil {
			o := &outlook{}
			if err := json.Unmarshal(raw, o); err != nil {
				t.Fatal(err)
			}
			return o
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	x, y, encoder := realTable(t, name)
	order := rng.New(seed, "a second look at labels").Perm(len(y))
	if len(order) < labels+50 {
		return nil
	}
	o := predicted(t, kind, x, y, encoder, order[:labels], order[labels:min(len(order), labels+2000)], seed)
	if *lookDir != "" {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// predicted fits a model to some rows and predicts the others.
func predicted(t *testing.T, kind learner.Kind, x matrix.Dense[float32], y []float64, e *encode.Encoder, known,
	others []int, seed uint64) *outlook {
	t.Helper()
	o := &outlook{Known: pick(y, known), True: pick(y, others), Expected: make([]Expected, len(others))}
	ctx, rows := linalg.WithThreads(t.Context(), 1), x.SelectRows(others)
	model, err := learner.Fit(ctx, network.Sample{X: x.SelectRows(known), Y: o.Known, Unlabelled: rows},
		learner.Options{Kind: kind, Network: network.Options{Config: network.Config{Seed: seed}, Columns: e}})
	if err != nil {
		t.Fatal(err)
	}
	means, err := model.Predict(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	low, high, err := model.PredictInterval(ctx, rows, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range means {
		o.Expected[i] = Expected{v, low[i], high[i]}
	}
	o.Distance = distances(t, x, known, others)
	return o
}

// distances returns how far rows are from the nearest of those that are known, in scaled inputs. Methods pick such
// rows.
func distances(t *testing.T, x matrix.Dense[float32], known, others []int) []float64 {
	t.Helper()
	scaling, err := encode.FitScaler(x, encode.Population)
	if err != nil {
		t.Fatal(err)
	}
	near, far := x.SelectRows(known), x.SelectRows(others)
	encode.Scale(near, near, scaling)
	encode.Scale(far, far, scaling)
	list := make([]float64, len(others))
	for i := range others {
		list[i] = math.Inf(1)
		for j := range known {
			sum := 0.0
			for k, v := range far.Row(i) {
				off := float64(v - near.At(j, k))
				sum += off * off
			}
			list[i] = min(list[i], sum)
		}
	}
	return list
}

func pick(y []float64, rows []int) []float64 {
	list := make([]float64, len(rows))
	for i, row := range rows {
		list[i] = y[row]
	}
	return list
}
