package benchmark

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// twoTargets is a data set whose targets have different units; some labels of the second
// are missing.
func twoTargets(rows int) *dataset.Regression {
	d := &dataset.Regression{X: matrix.New[float32](rows, 2), Targets: 2}
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
		_, y := dataset.Labelled(matrix.Converted[float64](task.y), target)
		if scale, err := dataset.FitLabelScaler(y); err != nil || math.Abs(scale.Deviation-1) > 1e-6 || math.Abs(scale.Mean) > 1e-6 {
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
	for _, r := range results {
		if !(r.Test.RMSE > 0 && r.Test.RMSE < 0.95) { // 1 is that of the means
			t.Errorf("%s with %d labels: RMSE %v over both targets", r.Spec, r.Labels, r.Test.RMSE)
		}
	}
	other := twoTargets(500)
	other.Y[1]++
	if Fingerprint(other) == Fingerprint(d) {
		t.Error("the fingerprint ignores the second target")
	}
	advice, err := Question{Data: d, Hidden: []int{16}, Epochs: 4, Rounds: 1, Repeats: 3}.Advise(t.Context())
	if err != nil || len(advice.Results) == 0 {
		t.Errorf("advice %+v, %v", advice, err)
	}
}
