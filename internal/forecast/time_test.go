package forecast

import (
	"math"
	"testing"
	"time"

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
	sample := func(rows, batch int, forward time.Duration) Sample {
		return Sample{Rows: rows, Batch: batch, Timing: selection.Timing{Forward: forward}}
	}
	small, large := sample(4096, 32, 5*time.Millisecond), sample(16384, 64, 150*time.Millisecond)
	for text, most := range map[string]float64{
		"lcmd-tp:features": 1.05, "maxdet-p:features>train": 1.05, "lcmd-tp:grad>sketch(512)": 1.05,
		"maxdet-p:ntk>train": 1.3, "lcmd-tp:grad": 1.3,
	} {
		_, explicit := Width(spec.MustParse(text), Sizes{Train: 2048, Pool: 10_000_000, Inputs: 512, Hidden: []int{512, 512}})
		_, seconds := Selection(small, large, 10_000_000, 256, explicit)
		if want := 0.15 * math.Pow(10_000_000*256/(16384*64.0), most); math.Abs(seconds-want) > 1e-6*want {
			t.Errorf("%s: %.0f s, not %.0f s", text, seconds, want)
		}
	}
}

// TestSamplesGrowWithThePool: a small pool is measured on few rows, and a large one on so many that features do not
// fit into a cache.
func TestSamplesGrowWithThePool(t *testing.T) {
	t.Parallel()
	for pool, want := range map[int]int{1000: 1000, 5000: fewestRows, 100_000: 6250, 1_000_000: mostRows} {
		if small, large := Samples(pool, 256, pool); large.Rows != want || small.Rows != want/4 ||
			large.Batch != sampleBatch {
			t.Errorf("%d candidates: %+v and %+v", pool, small, large)
		}
	}
	if _, large := Samples(1_000_000, 256, 300); large.Rows != 300 {
		t.Errorf("%d candidates, not 300", large.Rows)
	}
}

// TestSamplesAreBounded: however large the network, a forecast takes a bounded amount of
// work; the paper's network is measured as it was.
func TestSamplesAreBounded(t *testing.T) {
	t.Parallel()
	for _, width := range []int{64, 512, 2048, 8192, 16384} {
		for _, labelled := range []int{2, 256, 4096, 1 << 20} {
			c := network.Config{Architecture: network.Architecture{Hidden: []int{width, width}}}
			epochs, rows := SampleTraining(c, 20, labelled)
			c.Training.Epochs = epochs
			if work := c.Work(20, rows, 0); work > trainingWork || epochs < 1 || rows < min(labelled, leastRows/2) {
				t.Errorf("width %d, %d labels: %d epochs of %d rows, %.2g operations", width, labelled, epochs, rows, work)
			}
			if width == 512 && labelled <= 4096 && (epochs != sampleEpochs || rows != labelled) {
				t.Errorf("%d labels: %d epochs of %d rows", labelled, epochs, rows)
			}
			pool := SamplePool(c.WithDefaults().Architecture, 20)
			if width <= 512 && pool != mostRows || width == 8192 && pool > 1024 || pool < leastPool {
				t.Errorf("width %d: %d candidates", width, pool)
			}
		}
	}
}
