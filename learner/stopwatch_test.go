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
	var c network.Config
	if got := w.Forecast(c, c, 10, 128, 128, 2); got != 7 {
		t.Errorf("with as many labels %v s, not 7", got)
	}
	if got := w.Forecast(c, c, 10, 128, 128, 0); got != 3 {
		t.Errorf("without networks %v s, not 3", got)
	}
	if got := w.Forecast(c, c, 10, 128, 128, 5); got != 3+5*2 {
		t.Errorf("with networks for five folds %v s, not 13", got)
	}
	previous := 7.0
	for _, labels := range []int{400, 2048, 8192} {
		got := w.Forecast(c, c, 10, 128, labels, 2)
		if !(got > previous) {
			t.Errorf("with %d labels %v s, with fewer %v", labels, got, previous)
		}
		previous = got
	}
	if few, many := growth("gp-sparse", 64, 128), growth("gp-sparse", 64, 129); few != growth("gp", 64, 128) || many != 0 {
		t.Errorf("a process that few labels have grows by %v, and by %v with more", few, many)
	}
	if got := growth("gp", 128, mostForProcess+1); got != 0 {
		t.Errorf("a Gaussian process, which leaves so many labels to others, is forecast to take %v times as long", got)
	}
	// Sixteen times the rows, in full batches of 256 instead of batches of 103 rows, whose steps take a larger share.
	if got, want := w.fold(1, c, c, 10, others(128), others(2048)),
		6.0*256*(1+stepRows/256.0)/(103+stepRows); math.Abs(got/want-1) > 0.01 {
		t.Errorf("networks take %v times as long, not about %v", got, want)
	}
}

// TestEpochsGrowAlone: of what networks take in a sample of few epochs, only the epochs grow with their number.
func TestEpochsGrowAlone(t *testing.T) {
	var w Stopwatch
	var full network.Config
	epochs := full.WithDefaults().Training.Epochs
	short := network.Config{Training: network.Training{Epochs: epochs / 32}}
	w.Shown("network", 1, 5)
	for number := range short.Training.Epochs {
		w.Epoch(network.Epoch{Number: number + 1})
	}
	w.Stop()
	if w.training <= 0 || w.training > w.seconds["network"] {
		t.Fatalf("epochs took %v s of %v", w.training, w.seconds["network"])
	}
	w.seconds["network"], w.training = 1, 0.06*(1-warmEpochs/float64(short.Training.Epochs))
	if got, want := w.Forecast(short, full, 10, 128, 128, 1), 0.94+32*0.06; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v s, not %v", got, want)
	}
	w.training = 0
	if got := w.Forecast(short, full, 10, 128, 128, 1); math.Abs(got-32) > 1e-9 {
		t.Errorf("where no epoch was measured, %v s, not 32", got)
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
