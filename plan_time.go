package nextbatch

// The forecast of time is measured on samples: a training for a few epochs, and
// two selections, of which the larger has four times the rows and twice the
// batch of the smaller. Times beyond the larger are extrapolated from both: what is
// computed once per row grows linearly, the steps of the selection as a power of
// rows × batch. A first selection, which is not counted, warms up memory and threads.
//
// A step on features reads each row at most once, so the steps grow in proportion to
// rows × batch or more slowly. The smaller sample may still be much faster per row, because
// it fits into a cache and the larger one does not; a power that is fitted to that would
// forecast hours for a minute. Where there are no features, as with maxdet on ntk, a step
// takes as many values of the kernel per row as there were steps before.

import (
	"context"
	"math"
	"time"

	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// Seconds is the forecast of the time that a plan takes.
type Seconds struct {
	Read   Float `json:"read"` // filled in by the caller, who has read the tables
	Train  Float `json:"train"`
	Kernel Float `json:"kernel"`
	Select Float `json:"select"`
	Total  Float `json:"total"`
}

// Sizes of the samples.
const (
	sampleRows   = 16384
	sampleBatch  = 64
	sampleEpochs = 16
	warmEpochs   = 4
)

// With large networks samples are smaller: the floating-point operations of a training,
// and of the networks in a selection, stay below these, a few seconds on two cores.
const (
	trainingWork  = 4e11
	selectionWork = 1e11

	leastEpochs = 2 // the first warms up
	leastRows   = 32
	leastPool   = 256
)

// sampleTraining returns how many epochs and labelled rows a sample of a training has.
func sampleTraining(c network.Config, inputs, labelled int) (epochs, rows int) {
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

// samplePool returns how many candidates a sample of a selection has at most, for a
// network that each of them runs through.
func samplePool(a network.Architecture, inputs int) int {
	c := network.Config{Architecture: a, Training: network.Training{Epochs: 1, Batch: 1}}
	return max(leastPool, min(sampleRows, int(selectionWork/c.Work(inputs, 1, 0))))
}

// Forecast measures samples of the plan and sets its Seconds. Read is the time that
// reading the tables took. Nothing else in the plan changes.
func (p *Plan) Forecast(ctx context.Context, read time.Duration) error {
	f := &Seconds{Read: Float(read.Seconds())}
	sample := *p
	sample.request.Progress, sample.request.Epoch = nil, nil
	var err error
	if p.Networks > 0 && p.model == nil {
		if f.Train, err = sample.measureTraining(ctx); err != nil {
			return err
		}
	}
	rows := min(p.Pool, sampleRows)
	if sample.model != nil {
		rows = min(rows, samplePool(sample.model.Ensemble()[0].Architecture(), p.Inputs))
	}
	large := sampleSize{rows, min(p.Batch, sampleBatch, p.Pool)}
	small := sampleSize{max(large.rows/4, min(large.rows, large.batch)), max(large.batch/2, 1)}
	var batches [3]*Batch
	for i, size := range []sampleSize{small, small, large} {
		if batches[i], err = sample.measureSelection(ctx, size); err != nil {
			return err
		}
	}
	kernel, selecting := extrapolate(small, large, batches[1], batches[2], p)
	f.Kernel, f.Select = Float(kernel), Float(selecting)
	f.Total = f.Read + f.Train + f.Kernel + f.Select
	p.Seconds = f
	return nil
}

// measureTraining returns the time that training all networks would take, and leaves
// a model to select with.
func (p *Plan) measureTraining(ctx context.Context) (Float, error) {
	epochs := p.request.Network.WithDefaults().Training.Epochs
	o := network.Options{Config: p.request.Network}
	var rows int
	o.Config.Training.Epochs, rows = sampleTraining(o.Config, p.Inputs, p.Labelled)
	warmUp := min(warmEpochs, o.Config.Training.Epochs-1)
	var warm time.Time
	perEpoch := math.NaN()
	o.Progress = func(e network.Epoch) {
		if e.Number <= warmUp {
			warm = time.Now()
		} else if !warm.IsZero() {
			perEpoch = time.Since(warm).Seconds() / float64(e.Number-warmUp)
		}
	}
	all := p.Rows
	p.Rows = all.sample(rows)
	defer func() { p.Rows = all }()
	begin := time.Now()
	var err error
	if p.model, err = p.fit(ctx, o); p.model == nil {
		return 0, err
	}
	taken := time.Since(begin).Seconds()
	of := o.Config
	if ratio := of.Work(p.Inputs, p.Labelled, 0) / of.Work(p.Inputs, rows, 0); ratio > 1 {
		taken *= ratio
		perEpoch *= ratio
	}
	if left := epochs - o.Config.Training.Epochs; left > 0 {
		taken += perEpoch * float64(left)
	}
	if p.Networks > 1 {
		o.Config.Training.Epochs, o.Members, o.Progress = 1, p.Networks, nil
		if p.model, err = p.fit(ctx, o); p.model == nil {
			return 0, err
		}
	}
	return Float(taken) * Float(p.Networks), nil
}

// sample returns so many labelled rows, spread over all, beside the same candidates.
func (r *Rows) sample(n int) *Rows {
	if n >= r.Train.Rows {
		return r
	}
	part, chosen := *r, make([]int, n)
	for i := range chosen {
		chosen[i] = i * r.Train.Rows / n
	}
	part.Train, part.Labels = r.Train.SelectRows(chosen), r.Labels.SelectRows(chosen)
	return &part
}

type sampleSize struct{ rows, batch int }

// measureSelection picks from the first rows of the pool, without constraints.
func (p *Plan) measureSelection(ctx context.Context, size sampleSize) (*Batch, error) {
	part := *p
	if p.Rows != nil {
		rows := *p.Rows
		rows.Pool, rows.folder = rows.Pool.Slice(0, size.rows), ""
		part.Rows = &rows
		if err := part.scale(ctx); err != nil {
			return nil, err
		}
	} else {
		if part.problem.Pool.Rows = size.rows; p.problem.Exact.Pool.Rows > 0 {
			part.problem.Exact.Pool = p.problem.Exact.Pool.Slice(0, size.rows)
		}
	}
	part.problem.Batch, part.problem.Constraints = size.batch, selection.Constraints{}
	part.problem.Pending = nil
	return part.pick(ctx, part.problem)
}

// extrapolate returns the seconds that kernel and selection take in a run.
func extrapolate(small, large sampleSize, a, b *Batch, p *Plan) (kernel, selecting float64) {
	line := func(of func(*Batch) time.Duration) float64 {
		return alongLine(float64(small.rows), of(a).Seconds(), float64(large.rows), of(b).Seconds(), float64(p.Pool))
	}
	kernel = line(func(x *Batch) time.Duration { return x.Kernel })
	once := line(func(x *Batch) time.Duration { return x.Timing.Init + x.Timing.Train })
	work := func(rows, batch int) float64 { return float64(rows) * float64(batch) }
	most := mostPower
	if _, explicit := width(p.request.Spec, p.sizes(Sizes{Train: p.Labelled, Pool: p.Pool, Inputs: p.Inputs})); explicit {
		most = mostPowerOfFeatures
	}
	steps := alongPower(work(small.rows, small.batch), (a.Timing.Forward + a.Timing.Backward).Seconds(),
		work(large.rows, large.batch), (b.Timing.Forward + b.Timing.Backward).Seconds(), work(p.Pool, min(p.Batch, p.Pool)), most)
	report := b.Timing.Report.Seconds() * float64(p.Batch) / float64(large.batch)
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
// 1.02 (docs/speed-selection.md).
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
