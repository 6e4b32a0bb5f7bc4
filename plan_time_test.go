package nextbatch

import (
	"math"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

func TestExtrapolation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want float64 }{
		{alongLine(1, 3, 2, 4, 10), 12}, // 2 + x
		{alongLine(1, 5, 2, 4, 10), 4},  // never less than the second
		{alongLine(1, 1, 2, 4, 10), 20}, // never more than in proportion
		{alongLine(4, 3, 4, 4, 8), 8},   // one point
		{alongPower(1, 1, 16, 16, 64, 1.3), 64},
		{alongPower(1, 1, 4, 64, 8, 1.3), 64 * math.Pow(2, 1.3)},
		{alongPower(1, 1, 4, 64, 8, 1.05), 64 * math.Pow(2, 1.05)},
		{alongPower(1, 0, 1, 2, 3, 1.3), 6},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

// TestForecastOfLargePools: a small sample that fits into a cache, and a large one that does not,
// must not turn a minute into hours.
func TestForecastOfLargePools(t *testing.T) {
	t.Parallel()
	small, large := sampleSize{4096, 32}, sampleSize{16384, 64}
	batch := func(forward time.Duration) *Batch { return &Batch{Timing: selection.Timing{Forward: forward}} }
	for text, most := range map[string]float64{
		"lcmd-tp:features": 1.05, "maxdet-p:features>train": 1.05, "lcmd-tp:grad>sketch(512)": 1.05, "maxdet-p:ntk>train": 1.3, "lcmd-tp:grad": 1.3,
	} {
		p := &Plan{Labelled: 2048, Pool: 10_000_000, Batch: 256, Inputs: 512, request: Request{Spec: spec.MustParse(text)}}
		_, seconds := extrapolate(small, large, batch(5*time.Millisecond), batch(150*time.Millisecond), p)
		if want := 0.15 * math.Pow(10_000_000*256/(16384*64.0), most); math.Abs(seconds-want) > 1e-6*want {
			t.Errorf("%s: %.0f s, not %.0f s", text, seconds, want)
		}
	}
}

// TestSamplesAreBounded: however large the network, a forecast takes a bounded amount of
// work; the paper's network is measured as it was.
func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	for _, width := range []int{64, 512, 2048, 8192, 16384} {
		for _, labelled := range []int{2, 256, 4096, 1 << 20} {
			c := network.Config{Architecture: network.Architecture{Hidden: []int{width, width}}}
			epochs, rows := sampleTraining(c, 20, labelled)
			c.Training.Epochs = epochs
			if work := c.Work(20, rows, 0); work > trainingWork || epochs < 1 || rows < min(labelled, leastRows/2) {
				t.Errorf("width %d, %d labels: %d epochs of %d rows, %.2g operations", width, labelled, epochs, rows, work)
			}
			if width == 512 && labelled <= 4096 && (epochs != sampleEpochs || rows != labelled) {
				t.Errorf("%d labels: %d epochs of %d rows", labelled, epochs, rows)
			}
			pool := samplePool(c.WithDefaults().Architecture, 20)
			if width <= 512 && pool != sampleRows || width == 8192 && pool > 1024 || pool < leastPool {
				t.Errorf("width %d: %d candidates", width, pool)
			}
		}
	}
}

func TestSampleOfRows(t *testing.T) {
	t.Parallel()
	r := &Rows{Train: matrix.FromRows([][]float32{{0}, {1}, {2}, {3}, {4}, {5}}), Labels: matrix.View(6, 1, []float64{0, 1, 2, 3, 4, 5})}
	if s := r.sample(3); s.Train.Rows != 3 || s.Train.At(1, 0) != 2 || s.Labels.At(2, 0) != 4 {
		t.Errorf("%+v", s)
	}
	if r.sample(6) != r || r.sample(9) != r {
		t.Error("all rows are copied")
	}
}
