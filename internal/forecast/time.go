package forecast

// The forecast of time is measured on samples: a training for a few epochs, and
// two selections, of which the larger has four times the rows and twice the
// batch of the smaller. Times beyond the larger are extrapolated from both: what is
// computed once per row grows linearly, the steps of the selection as a power of
// rows × batch. A first selection, which is not counted, warms up memory and threads. The samples of a small pool
// are small, so that the forecast takes a part of a second.
//
// A step on features reads each row at most once, so the steps grow in proportion to
// rows × batch or more slowly. The smaller sample may still be much faster per row, because
// it fits into a cache and the larger one does not; a power that is fitted to that would
// forecast hours for a minute. Where there are no features, as with maxdet on ntk, a step
// takes as many values of the kernel per row as there were steps before.

import (
	"math"
	"time"

	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// Sizes of the samples.
const (
	WarmEpochs   = 2 // that are not measured
	sampleBatch  = 64
	sampleEpochs = 8

	fewestRows  = 2048  // candidates, unless there are fewer
	mostRows    = 16384 // where features no longer fit into caches
	sampleShare = 16    // one in so many candidates, within these bounds
)

// With large networks samples are smaller: the floating-point operations of a training,
// and of the networks in a selection, stay below these, tenths of a second on two cores.
const (
	trainingWork  = 1.2e11
	selectionWork = 1e11

	leastEpochs = 2 // the first warms up
	leastRows   = 32
	leastPool   = 256
)

// SampleTraining returns how many epochs and labelled rows a sample of a training has.
func SampleTraining(c network.Config, inputs, labelled int) (epochs, rows int) {
	epochs, rows = min(sampleEpochs, c.WithDefaults().Training.Epochs), labelled
	exceeds := func() bool {
		c.Training.Epochs = epochs
		return c.Work(inputs, rows, 0) > trainingWork
	}
	for epochs > leastEpochs && exceeds() {
		epochs /= 2
	}
	for rows > leastRows && exceeds() {
		rows /= 2
	}
	return epochs, rows
}

// Affordable reports whether a forecast can train a network to the end.
func Affordable(c network.Config, inputs, labelled int) bool {
	return c.Work(inputs, labelled, 0) <= trainingWork
}

// SamplePool returns how many candidates a sample of a selection has at most, for a
// network that each of them runs through.
func SamplePool(a network.Architecture, inputs int) int {
	c := network.Config{Architecture: a, Training: network.Training{Epochs: 1, Batch: 1}}
	return max(leastPool, min(mostRows, int(selectionWork/c.Work(inputs, 1, 0))))
}

// Sample is a selection that is measured.
type Sample struct {
	Rows, Batch int
	Kernel      time.Duration    // taken to compute the kernel
	Timing      selection.Timing // of the steps
}

// Samples returns the sizes of the two selections to measure, the larger with at most the given number
// of candidates.
func Samples(pool, batch, most int) (small, large Sample) {
	rows := min(max(pool/sampleShare, fewestRows), mostRows)
	large = Sample{Rows: min(rows, most, pool), Batch: min(batch, sampleBatch, pool)}
	return Sample{Rows: max(large.Rows/4, min(large.Rows, large.Batch)), Batch: max(large.Batch/2, 1)}, large
}

// Selection returns the seconds that kernel and selection take for a pool and a batch, from two samples.
// Explicit means that the kernel has features.
func Selection(small, large Sample, pool, batch int, explicit bool) (kernel, selecting float64) {
	line := func(of func(Sample) time.Duration) float64 {
		return alongLine(float64(small.Rows), of(small).Seconds(), float64(large.Rows), of(large).Seconds(), float64(pool))
	}
	kernel = line(func(x Sample) time.Duration { return x.Kernel })
	once := line(func(x Sample) time.Duration { return x.Timing.Init + x.Timing.Train })
	work := func(rows, batch int) float64 { return float64(rows) * float64(batch) }
	most := mostPower
	if explicit {
		most = mostPowerOfFeatures
	}
	steps := alongPower(work(small.Rows, small.Batch), (small.Timing.Forward + small.Timing.Backward).Seconds(),
		work(large.Rows, large.Batch), (large.Timing.Forward + large.Timing.Backward).Seconds(),
		work(pool, min(batch, pool)), most)
	report := large.Timing.Report.Seconds() * float64(batch) / float64(large.Batch)
	return kernel, once + steps + report
}

// alongLine is the value at x of the line through two points, at least the value of the
// second and at most proportional to it.
func alongLine(x1, y1, x2, y2, x float64) float64 {
	if x <= x2 || x2 <= x1 {
		return y2 * x / x2
	}
	return min(max(y2+(y2-y1)/(x2-x1)*(x-x2), y2), y2*x/x2)
}

// Bounds of the exponent of steps: short times are imprecise, and small samples fit into
// caches. From 25,000 to 1,600,000 rows, selections from features have exponents of 0.86 to
// 1.02 (docs/speed.md).
const (
	leastPower          = 0.8
	mostPower           = 1.3
	mostPowerOfFeatures = 1.05
)

// alongPower is the value at x of the power law through two points, whose exponent is at
// most the given one.
func alongPower(x1, y1, x2, y2, x, most float64) float64 {
	exponent := 1.0
	if x1 < x2 && y1 > 0 && y2 > 0 {
		exponent = min(max(math.Log(y2/y1)/math.Log(x2/x1), leastPower), most)
	}
	return y2 * math.Pow(x/x2, exponent)
}
