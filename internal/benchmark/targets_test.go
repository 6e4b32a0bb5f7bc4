package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/matrix"
)

// twoTargets is a data set whose targets have different units; some labels of the second
// are missing.
func twoTargets(rows int) *sets.Regression {
	d := &sets.Regression{X: matrix.New[float32](rows, 2), Targets: 2}
	rng.FillNormal(rng.New(1, "two targets"), d.X.Data)
	for i := range rows {
		x := d.X.Row(i)
		second := float64(x[0]-x[1]) / 1000
		if i%7 == 3 {
			second = math.NaN()
		}
		d.Y = append(d.Y, 500+100*math.Sin(float64(x[0]*x[1])), second)
	}
	return d
}

// TestSeveralTargets: each target has deviation 1, and a round trains, measures and picks
// by both.
func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	d, s := twoTargets(500), Settings{Start: 60, Valid: 40, Epochs: 60, Hidden: []int{32, 32}}
	task, err := newTask(d, s, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	for target := range 2 {
		_, y := encode.Labelled(matrix.Converted[float64](task.y), target)
		if scale, err := encode.FitLabelScaler(y); err != nil || math.Abs(scale.Deviation-1) > 1e-6 ||
			math.Abs(scale.Mean) > 1e-6 {
			t.Errorf("target %d is scaled to %+v, %v", target, scale, err)
		}
	}
	var runs []Run
	for _, spec := range []string{"random", "lcmd-tp:grad>sketch(64)"} {
		runs = append(runs, Run{DataSet: "two", Activation: "relu", Spec: spec, BatchSize: 40, Rounds: 2})
	}
	results, err := Replay(t.Context(), d, s, runs, nil)
	if err != nil || len(results) != 6 {
		t.Fatalf("%d rounds, %v", len(results), err)
	}
	counts := make([]float64, 2) // of test labels
	for row := range task.testY.Rows {
		for target, y := range task.testY.Row(row) {
			if y == y {
				counts[target]++
			}
		}
	}
	for _, r := range results {
		if len(r.Targets) != 2 || r.Targets[0].Target != "1" || r.Targets[1].Target != "2" {
			t.Fatalf("targets %+v", r.Targets)
		}
		squares, largest := 0.0, 0.0
		for target, each := range r.Targets {
			squares += counts[target] * each.RMSE * each.RMSE
			largest = max(largest, each.MaxE)
		}
		if both := math.Sqrt(squares / (counts[0] + counts[1])); math.Abs(both-r.Test.RMSE) > 1e-9 || largest != r.Test.MaxE {
			t.Errorf("RMSE %v and largest error %v of both targets, but of each %+v", r.Test.RMSE, r.Test.MaxE, r.Targets)
		}
		if !(r.Test.RMSE > 0 && r.Test.RMSE < 0.95) { // 1 is that of the means
			t.Errorf("%s with %d labels: RMSE %v over both targets", r.Spec, r.Labels, r.Test.RMSE)
		}
	}
	requireImport(t, results)
	exported, err := Table([]Record{{Round: results[0]}, {Round: Round{Run: runs[0]}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	column, err := exported.Column("rmse_2")
	if err != nil {
		t.Fatal(err)
	}
	if c := column.(*dataset.Numeric); c.Float(0) != results[0].Targets[1].RMSE || !c.Missing(1) {
		t.Errorf("rmse_2 is %v, then %v", c.Float(0), c.Float(1))
	}
	study := NewStudies(results, nil)[0]
	if got := study.Targets("two"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the study has the targets %q", got)
	}
	last := OfTarget(1, Last(RMSE))
	if got, want := study.Mean(last, "random", "two").Value, results[2].Targets[1].RMSE; got != want {
		t.Errorf("last RMSE %v, want %v", got, want)
	}
	if got := last([]Round{{}, results[1]}); !math.IsNaN(got) {
		t.Errorf("of a run whose first round lacks targets: %v", got)
	}
	d.Names = []string{"y", "z"}
	if got := d.TargetNames(); !slices.Equal(got, d.Names) {
		t.Errorf("names %q", got)
	}
	equal := s
	equal.Weights = []float64{1, 1}
	again, err := Replay(t.Context(), d, equal, runs[1:], nil)
	if err != nil || !slices.EqualFunc(again, results[3:], func(a, b Round) bool { return a.Test == b.Test }) {
		t.Errorf("weights of 1: %+v, %v, without weights %+v", again, err, results[3:])
	}
	equal.Weights[1] = 1e4
	weighted, err := Replay(t.Context(), d, equal, runs, nil)
	if err != nil || weighted[2].Test != results[2].Test || weighted[3].Test != results[3].Test ||
		weighted[5].Test == results[5].Test {
		t.Errorf("weights change what LCMD picks and nothing else: %+v, %v, without weights %+v", weighted, err, results)
	}
	equal.Weights = []float64{1, 1, 1}
	if _, err := Replay(t.Context(), d, equal, runs, nil); err == nil ||
		!strings.Contains(err.Error(), "there are 3 weights, but 2 targets") {
		t.Errorf("three weights: %v", err)
	}
	if err := (Settings{Weights: []float64{1, 0, math.Inf(1)}}).Check(); err == nil ||
		!strings.Contains(err.Error(), "the weight of target 2 is 0") || !strings.Contains(err.Error(), "target 3 is +Inf") {
		t.Errorf("weights 1, 0, infinite: %v", err)
	}
	other := twoTargets(500)
	other.Y[1]++
	if fingerprint(other) == fingerprint(d) {
		t.Error("the fingerprint ignores the second target")
	}
	advice, err := Question{Data: d, Hidden: []int{16}, Epochs: 4, Rounds: 1, Repeats: 3}.Advise(t.Context())
	if err != nil || len(advice.Results) == 0 {
		t.Errorf("advice %+v, %v", advice, err)
	}
}

// requireImport exports rounds as a table and reads them back.
func requireImport(t *testing.T, results Results) {
	t.Helper()
	var records []Record
	for _, r := range slices.Backward(results) {
		records = append(records, Record{Round: r})
	}
	table, err := Table(records, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromTable(table)
	want := slices.Clone(results)
	slices.SortStableFunc(want, func(a, b Round) int { return a.Run.Compare(b.Run) })
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%v; read\n%+v, want\n%+v", err, got, want)
	}
	twice, err := Table(append(records, records[0]), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromTable(twice); err == nil || !strings.Contains(err.Error(), "is there twice") {
		t.Errorf("a round that is there twice: %v", err)
	}
	lacking, err := table.Without("rmse")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromTable(lacking); err == nil || !strings.Contains(err.Error(), "rmse") {
		t.Errorf("a table without a column: %v", err)
	}
}
