package learner

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// The flags give the tables of docs/learners.md, which take long:
//
//	go test ./learner -run RealTables -v -timeout 0 -tables all -kinds auto,gp,trees,today -labels 256 -seeds 3
var (
	labelsFlag = flag.Int("labels", 64, "labelled rows of TestBlendOnRealTables")
	seedsFlag  = flag.Int("seeds", 1, "random sets of labelled rows of TestBlendOnRealTables")
	tablesFlag = flag.String("tables", "airfoil,autompg,concrete,yacht",
		"tables of TestBlendOnRealTables; all but those of laboratories, and lab for these")
	kindsFlag = flag.String("kinds", "auto,gp,trees",
		"learners of TestBlendOnRealTables; today is the paper's network, with cross-fitted intervals; with -noise, "+
			"those that end in -sd know it")
	noiseFlag = flag.Float64("noise", 0,
		"median deviation of noise that is added to the labels, in theirs; a quarter of it to four times as much")
	plantedFlag = flag.Int("planted", 0, "labels of TestBlendOnRealTables that are a hundred times too large")
)

// measured is how good a model is on rows that it has not seen.
type measured struct {
	table    string
	rmse     float64 // in deviations of the labels of these rows
	coverage float64 // of intervals for 90 %
	length   float64 // of these intervals, in the same deviations
}

// TestBlendOnRealTables: on random rows of real tables, the geometric mean of the errors of a blend is below that
// of its candidates alone, and its intervals contain about nine of ten labels.
func TestBlendOnRealTables(t *testing.T) {
	kinds := strings.Split(*kindsFlag, ",")
	var guard sync.Mutex
	all := map[string][]measured{}
	t.Run("tables", func(t *testing.T) {
		for _, name := range realTables(t) {
			for seed := range *seedsFlag {
				t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
					t.Parallel()
					x, y, encoder := realTable(t, name)
					for _, kind := range kinds {
						m, ok := measure(t, kind, x, y, encoder, uint64(seed))
						if !ok {
							t.Skip("there are too few rows to measure errors on")
						}
						m.table = name
						t.Logf("%s, seed %d, %s: RMSE %.4f, coverage %.3f, length %.3f", name, seed, kind, m.rmse, m.coverage, m.length)
						guard.Lock()
						all[kind] = append(all[kind], m)
						guard.Unlock()
					}
				})
			}
		}
	})
	if len(all) == 0 {
		t.Skip("no table has been measured")
	}
	summary := map[string]measured{}
	for _, kind := range kinds {
		summary[kind] = summarise(all[kind])
		low, high := coverageByTable(all[kind])
		t.Logf("%-8s RMSE %.4f, coverage %.3f (by table %.3f to %.3f), length %.3f", kind, summary[kind].rmse,
			summary[kind].coverage, low, high, summary[kind].length)
	}
	auto, ok := summary[string(Auto)]
	if !ok {
		return
	}
	if auto.coverage < 0.85 || auto.coverage > 0.95 {
		t.Errorf("%.3f of the labels are in their intervals, want 0.9", auto.coverage)
	}
	for kind, one := range summary {
		if one.rmse < auto.rmse && !strings.HasSuffix(kind, "-sd") {
			t.Errorf("the error of the blend is %.4f, that of %s %.4f", auto.rmse, kind, one.rmse)
		}
	}
}

// summarise returns geometric means, and the mean coverage.
func summarise(list []measured) (m measured) {
	n := float64(len(list))
	for _, one := range list {
		m.rmse += math.Log(one.rmse) / n
		m.coverage += one.coverage / n
		m.length += math.Log(one.length) / n
	}
	m.rmse, m.length = math.Exp(m.rmse), math.Exp(m.length)
	return m
}

// coverageByTable returns the lowest and the highest coverage of a table, each the mean over seeds.
func coverageByTable(list []measured) (low, high float64) {
	of := map[string][]float64{}
	for _, m := range list {
		of[m.table] = append(of[m.table], m.coverage)
	}
	low = 1
	for _, each := range of {
		sum := 0.0
		for _, c := range each {
			sum += c / float64(len(each))
		}
		low, high = min(low, sum), max(high, sum)
	}
	return low, high
}

// measure fits a model to random rows and measures it on up to 2000 others.
func measure(t *testing.T, kind string, x matrix.Dense[float32], y []float64, e *encode.Encoder,
	seed uint64) (m measured, ok bool) {
	t.Helper()
	order := rng.New(seed, "learner: real tables").Perm(len(y))
	if len(order) < *labelsFlag+50 {
		return m, false
	}
	train, test := order[:*labelsFlag], order[*labelsFlag:min(len(order), *labelsFlag+2000)]
	kind, knows := strings.CutSuffix(kind, "-sd")
	o := Options{Kind: Kind(kind), Network: network.Options{Config: network.Config{Seed: seed}, Columns: e}}
	if kind == "today" {
		o.Kind, o.Network.Folds = NetworkAlone, network.DefaultFolds(len(train))
	}
	ctx := linalg.WithThreads(t.Context(), 1)
	taught := pick(y, train)
	for _, i := range rng.New(seed, "learner: planted").Perm(len(train))[:*plantedFlag] {
		taught[i] *= 100
	}
	s := network.Sample{X: x.SelectRows(train), Y: taught, Unlabelled: x.SelectRows(test)}
	rows, labels := x.SelectRows(test), pick(y, test)
	measurements := slices.Clone(labels)
	if *noiseFlag > 0 {
		variances := disturb(taught, *noiseFlag*deviation(y), rng.New(seed, "learner: noise"))
		if knows {
			s.Noise = variances
		}
		disturb(measurements, *noiseFlag*deviation(y), rng.New(seed, "learner: new noise"))
	}
	model, err := Fit(ctx, s, o)
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
	unit, n := deviation(labels), float64(len(labels))
	for i, v := range labels {
		means[i] -= v
		m.length += (high[i] - low[i]) / unit / n
		if low[i] <= measurements[i] && measurements[i] <= high[i] {
			m.coverage += 1 / n
		}
	}
	m.rmse = conformal.RootMeanSquare(means) / unit
	return m, true
}

// disturb adds noise to labels, whose deviation is a quarter of the typical one to four times it, and returns its
// variances.
func disturb(labels []float64, typical float64, draw *rng.Stream) (variances []float64) {
	for i := range labels {
		sd := typical * math.Pow(4, 2*draw.Float64()-1)
		labels[i] += sd * draw.NormFloat64()
		variances = append(variances, sd*sd)
	}
	return variances
}

// largeSets are the real ones among the data sets.
var largeSets = []string{"fried", "protein", "diamonds", "sgemm"}

func realTables(t *testing.T) (names []string) {
	t.Helper()
	for name := range strings.SplitSeq(*tablesFlag, ",") {
		switch name {
		case "all":
			names = append(append(names, golden.Tables(t, "tables")...), largeSets...)
		case "lab":
			names = append(names, golden.Tables(t, "lab")...)
		default:
			names = append(names, name)
		}
	}
	return names
}

// realTable returns a table. Its encoder is nil if all columns are numbers.
func realTable(t *testing.T, name string) (matrix.Dense[float32], []float64, *encode.Encoder) {
	t.Helper()
	switch {
	case slices.Contains(golden.Tables(t, "lab"), name):
		return labTable(t, name)
	case !slices.Contains(largeSets, name):
		x, y := golden.Table(t, name)
		return x, y, nil
	}
	r, err := sets.Load(t.Context(), name, golden.Data(t))
	if err != nil {
		t.Fatal(err)
	}
	return r.X, r.Y, &r.Encoder
}

// labTable returns a table of a laboratory, encoded as a user's table is.
func labTable(t *testing.T, name string) (matrix.Dense[float32], []float64, *encode.Encoder) {
	t.Helper()
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(golden.Records(t, "lab", name+".csv.gz")); err != nil {
		t.Fatal(err)
	}
	labels := []string{"label"}
	table, err := source.ReadCSV(t.Context(), &text, source.Options{}.WithLabels(labels))
	if err != nil {
		t.Fatal(err)
	}
	r, err := tables.Tables{Input: tables.Input{Table: table, TargetColumns: labels}}.Rows(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Train, r.Labels.Data, &r.Encoder
}

// deviation returns the standard deviation of numbers.
func deviation(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m += x / float64(len(v))
	}
	off := make([]float64, len(v))
	for i, x := range v {
		off[i] = x - m
	}
	return conformal.RootMeanSquare(off)
}
