package benchmark

import (
	"strings"
	"testing"
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
	_, err := Grid{Specs: []string{"lcmd-tp:grad>sketch(512)", "nonsense"}, Activations: []string{"relux"},
		Splits: []int{-1}, Sets: []string{"x"}, Schedules: []Schedule{{}}}.Runs()
	for _, want := range []string{"nonsense", "relux", "split -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q: %v", want, err)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if _, err := (Grid{Specs: []string{"random"}, Activations: []string{"relu"}, Splits: []int{0}, Sets: []string{long},
		Schedules: []Schedule{{1, 1}}}).Runs(); err == nil || !strings.Contains(err.Error(), "1048576 bytes") ||
		len(err.Error()) > 1000 {
		t.Errorf("a long name: %.1000v", err)
	}
	if _, err := (Grid{Specs: make([]string, 1000), Activations: []string{"relu"}, Splits: make([]int, 1000),
		Sets: make([]string, 1000), Schedules: make([]Schedule, 1000)}).Runs(); err == nil ||
		!strings.Contains(err.Error(), "1e+12 runs") {
		t.Errorf("a large grid: %.1000v", err)
	}
	if _, err := (Grid{}).Runs(); err == nil || !strings.Contains(err.Error(), "no data sets") ||
		!strings.Contains(err.Error(), "no splits") {
		t.Errorf("an empty grid: %v", err)
	}
}
