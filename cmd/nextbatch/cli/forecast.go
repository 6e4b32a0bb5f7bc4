package cli

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// The forecast of time is measured on samples: a training for a few epochs, and
// two selections, of which the larger has four times the rows and twice the
// batch of the smaller. What is beyond the larger follows from both: what is
// computed once a row grows along a straight line, the steps of the selection as
// a power of rows × batch. A first selection, which is not counted, brings
// memory and threads up.

// forecastSeconds is what a run would take.
type forecastSeconds struct {
	Read   number `json:"read"`
	Train  number `json:"train"`
	Kernel number `json:"kernel"`
	Select number `json:"select"`
	Total  number `json:"total"`
}

// Sizes of the samples.
const (
	sampleRows   = 16384
	sampleBatch  = 64
	sampleEpochs = 16
	warmEpochs   = 4
)

// forecast prints the plan with a forecast of time, measured on a sample.
func (s *selecting) forecast(ctx context.Context, out io.Writer, p plan) error {
	seconds, err := s.measure(ctx, p)
	if err != nil {
		return err
	}
	p.Seconds = seconds
	if s.json {
		return printJSON(out, p)
	}
	printPlan(out, p)
	return nil
}

// measure runs the samples.
func (s *selecting) measure(ctx context.Context, p plan) (*forecastSeconds, error) {
	f := &forecastSeconds{Read: number(s.timings.Read)}
	var err error
	if p.Networks > 0 {
		if f.Train, err = s.measureTraining(ctx, p); err != nil {
			return nil, err
		}
	}
	large := sampleSize{min(p.Pool, sampleRows), min(s.batch, sampleBatch, p.Pool)}
	small := sampleSize{max(large.rows/4, min(large.rows, large.batch)), max(large.batch/2, 1)}
	var batches [3]*nextbatch.Batch
	for i, size := range []sampleSize{small, small, large} {
		if batches[i], err = s.measureSelection(ctx, size); err != nil {
			return nil, err
		}
	}
	kernel, selecting := extrapolate(small, large, batches[1], batches[2], p)
	f.Kernel, f.Select = number(kernel), number(selecting)
	f.Total = f.Read + f.Train + f.Kernel + f.Select
	return f, nil
}

// measureTraining returns what the training of all networks would take, and
// leaves networks to select with.
func (s *selecting) measureTraining(ctx context.Context, p plan) (number, error) {
	c := s.config
	c.Training.Epochs = min(sampleEpochs, c.Training.Epochs)
	var warm time.Time
	perEpoch := math.NaN()
	o := network.Options[float32]{Config: c, Progress: func(e network.Epoch) {
		if e.Number <= min(warmEpochs, c.Training.Epochs-1) {
			warm = time.Now()
		} else if !warm.IsZero() {
			perEpoch = time.Since(warm).Seconds() / float64(e.Number-min(warmEpochs, c.Training.Epochs-1))
		}
	}}
	begin := time.Now()
	model, err := network.Fit(ctx, network.Sample[float32]{X: s.rows.Train, Y: s.rows.Labels, Unlabelled: s.rows.Pool}, o)
	if model == nil {
		return 0, err
	}
	taken := time.Since(begin).Seconds()
	if left := s.config.Training.Epochs - c.Training.Epochs; left > 0 {
		taken += perEpoch * float64(left)
	}
	s.fitted = model
	if p.Networks > 1 {
		c.Training.Epochs = 1
		if s.fitted, err = train(ctx, network.Options[float32]{Config: c, Members: p.Networks}, s.rows, silent()); err != nil {
			return 0, err
		}
	}
	return number(taken) * number(p.Networks), nil
}

func silent() *progress { return newProgress(io.Discard, true) }

type sampleSize struct{ rows, batch int }

// measureSelection picks from the first rows of the pool, whatever it has to keep
// to.
func (s *selecting) measureSelection(ctx context.Context, size sampleSize) (*nextbatch.Batch, error) {
	part := *s
	part.progress = silent()
	if s.rows != nil {
		rows := *s.rows
		rows.Pool = rows.Pool.Slice(0, size.rows)
		part.rows = &rows
		if err := part.prepare(ctx); err != nil {
			return nil, err
		}
	} else {
		part.problem.Pool = s.problem.Pool.Slice(0, size.rows)
		if s.problem.Exact.Pool.Rows > 0 {
			part.problem.Exact.Pool = s.problem.Exact.Pool.Slice(0, size.rows)
		}
	}
	part.problem.Batch = size.batch
	part.problem.Constraints = selection.Constraints{}
	return part.pick(ctx)
}

// extrapolate returns the seconds of kernel and selection in a run.
func extrapolate(small, large sampleSize, a, b *nextbatch.Batch, p plan) (kernel, selecting float64) {
	line := func(of func(*nextbatch.Batch) time.Duration) float64 {
		return alongLine(float64(small.rows), of(a).Seconds(), float64(large.rows), of(b).Seconds(), float64(p.Pool))
	}
	kernel = line(func(x *nextbatch.Batch) time.Duration { return x.Kernel })
	once := line(func(x *nextbatch.Batch) time.Duration { return x.Timing.Init + x.Timing.Train })
	work := func(rows, batch int) float64 { return float64(rows) * float64(batch) }
	steps := alongPower(work(small.rows, small.batch), (a.Timing.Forward + a.Timing.Backward).Seconds(),
		work(large.rows, large.batch), (b.Timing.Forward + b.Timing.Backward).Seconds(), work(p.Pool, min(p.Batch, p.Pool)))
	report := b.Timing.Report.Seconds() * float64(p.Batch) / float64(large.batch)
	return kernel, once + steps + report
}

// alongLine is the value at x of the line through two points, but no less than
// the second and no more than in proportion to it.
func alongLine(x1, y1, x2, y2, x float64) float64 {
	if x <= x2 || x2 <= x1 {
		return y2 * x / x2
	}
	return min(max(y2+(y2-y1)/(x2-x1)*(x-x2), y2), y2*x/x2)
}

// alongPower is the value at x of the power law through two points, whose
// exponent is kept within reason: short times are rough.
func alongPower(x1, y1, x2, y2, x float64) float64 {
	exponent := 1.0
	if x1 < x2 && y1 > 0 && y2 > 0 {
		exponent = min(max(math.Log(y2/y1)/math.Log(x2/x1), 0.8), 1.3)
	}
	return y2 * math.Pow(x/x2, exponent)
}
