package learner

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/network"
)

// TestStopwatch: what was measured is the forecast for as many labels, and each learner grows in its own way.
func TestStopwatch(t *testing.T) {
	var w Stopwatch
	for _, name := range []string{"gp", "gp", "extra-trees", "network", "network"} {
		w.Shown(name, 1, 5)
	}
	w.Stop()
	w.Stop()
	if w.models["gp"] != 2 || w.models["network"] != 2 || len(w.seconds) != 3 {
		t.Fatalf("%v, %v", w.models, w.seconds)
	}
	w.seconds = map[string]float64{"gp": 1, "extra-trees": 2, "network": 4}
	w.models["network"] = NetworkFolds(128)
	var c network.Config
	if got := w.Forecast(c, c, 10, 128, 128); got != 7 {
		t.Errorf("with as many labels %v s, not 7", got)
	}
	short := network.Config{Training: network.Training{Epochs: c.WithDefaults().Training.Epochs / 8}}
	if got := w.Forecast(short, c, 10, 128, 128); got != 3+8*4 {
		t.Errorf("networks that took 4 s for an eighth of the epochs: %v s in all, not 35", got)
	}
	previous := 7.0
	for _, labels := range []int{400, 2048, 8192} {
		got := w.Forecast(c, c, 10, 128, labels)
		if !(got > previous) {
			t.Errorf("with %d labels %v s, with fewer %v", labels, got, previous)
		}
		previous = got
	}
	if got := w.growth("gp", c, c, 10, 128, MostForProcess+1, 1); got != 0 {
		t.Errorf("a Gaussian process, which leaves so many labels to others, is forecast to take %v times as long", got)
	}
	w.models["network"] = 2
	// One fold instead of two, and sixteen times the rows, of which incomplete batches are left out.
	if got, want := w.growth("network", c, c, 10, 128, 2048, NetworkFolds(2048)), 8.0; math.Abs(got/want-1) > 0.1 {
		t.Errorf("networks take %v times as long, not about %v", got, want)
	}
}

// TestMemoryCountsTargets: a Gaussian process and trees are kept for each target.
func TestMemoryCountsTargets(t *testing.T) {
	var one, three network.Config
	three.Architecture.Outputs = 3
	for _, kind := range []Kind{GaussianOnly, TreesOnly, Auto} {
		_, kept := Memory(kind, one, 10, 600)
		_, more := Memory(kind, three, 10, 600)
		if ratio := float64(more) / float64(kept); ratio < 2 || ratio > 3.01 {
			t.Errorf("%s: three targets take %v times the memory of one", kind, ratio)
		}
	}
}
