package benchmark

import (
	"strings"
	"testing"
	"time"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"paper-relu": 15 * 76 * 20, "paper-silu": 15 * 76 * 20, "paper-batch-sizes": 15 * 8 * 20 * 7, "quick": 9,
	} {
		p, err := FindPreset(name)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := p.Experiment.Runs()
		if err != nil || len(runs) != want {
			t.Errorf("%s: %d runs, want %d; %v", name, len(runs), want, err)
		}
		for _, r := range runs {
			labels := r.Rounds * r.BatchSize
			if name != "quick" && (!r.Compat || labels != 4096) || name == "paper-silu" && r.Activation != "silu" {
				t.Fatalf("%s has %v", name, r)
			}
		}
	}
	if _, err := FindPreset("paper"); err == nil || !strings.Contains(err.Error(), "paper-relu") {
		t.Errorf("no such preset: %v", err)
	}
}

func TestGridRefuses(t *testing.T) {
	t.Parallel()
	_, err := Grid{Specs: []string{"lcmd-tp:grad>sketch(512)", "nonsense"}, Activations: []string{"relux"}, Splits: []int{-1}, Sets: []string{"x"}, Schedules: []Schedule{{}}}.Runs()
	for _, want := range []string{"nonsense", "relux", "split -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q: %v", want, err)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if _, err := (Grid{Specs: []string{"random"}, Activations: []string{"relu"}, Splits: []int{0}, Sets: []string{long}, Schedules: []Schedule{{1, 1}}}).Runs(); err == nil || !strings.Contains(err.Error(), "1048576 bytes") || len(err.Error()) > 1000 {
		t.Errorf("a long name: %.1000v", err)
	}
	if _, err := (Grid{Specs: make([]string, 1000), Activations: []string{"relu"}, Splits: make([]int, 1000), Sets: make([]string, 1000), Schedules: make([]Schedule, 1000)}).Runs(); err == nil || !strings.Contains(err.Error(), "1e+12 runs") {
		t.Errorf("a large grid: %.1000v", err)
	}
	if _, err := (Grid{}).Runs(); err == nil || !strings.Contains(err.Error(), "no data sets") || !strings.Contains(err.Error(), "no splits") {
		t.Errorf("an empty grid: %v", err)
	}
}

// A forecast from some rounds predicts the others exactly if their times follow
// the model.
func TestForecast(t *testing.T) {
	t.Parallel()
	runs, err := Grid{Sets: []string{"waves"}, Activations: []string{"relu"}, Splits: []int{0, 1}, Schedules: []Schedule{{Rounds: 3, Batch: 8}},
		Specs: []string{"random", "lcmd-tp:grad>sketch(16)", "bait-f-p:grad>sketch(16)>train", "kmeanspp-p:grad>sketch(16)", "maxdet-p:ll>ens(2)>sketch(16)>train"}}.Runs()
	if err != nil {
		t.Fatal(err)
	}
	f := NewForecast(tiny, 2, runs, map[Run]int{runs[0]: 4})
	if _, known := f.Left(); known {
		t.Error("a forecast without any round")
	}
	if done, of := f.Rounds(); done != 4 || of != 40 {
		t.Errorf("%d of %d rounds", done, of)
	}
	round := func(r Run, n int) Record {
		rec := Record{Round: Round{Run: r, Round: n}}
		rec.Training = f.work(r, n) * 1e-6
		rec.Elapsed = rec.Training
		if n < r.Rounds {
			rec.Elapsed += float64(len(r.Spec))
		}
		return rec
	}
	total := 0.0
	for _, r := range runs[1:] {
		for n := range 4 {
			rec := round(r, n)
			if r.Split == 0 && n == 0 || r == runs[5] {
				f.Add(rec)
			} else {
				total += rec.Elapsed
			}
		}
	}
	left, known := f.Left()
	if want := time.Duration(total / 2 * 1e9); !known || (left-want).Abs() > time.Millisecond {
		t.Errorf("%v left, want %v", left, want)
	}
	f.GiveUp(runs[2:]...)
	if done, of := f.Rounds(); done != 5 || of != 8 {
		t.Errorf("%d of %d rounds, without the abandoned ones", done, of)
	}
	if len(runs) != 10 || runs[9].Split != 1 {
		t.Error("the caller's runs have changed")
	}
}
