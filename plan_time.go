package nextbatch

// The forecast of time is measured on samples of a plan; package forecast has the formulas.

import (
	"context"
	"math"
	"time"

	"github.com/nextbatch/nextbatch/forecast"
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
	most := forecast.SampleRows
	if sample.model != nil {
		most = forecast.SamplePool(sample.model.Ensemble()[0].Architecture(), p.Inputs)
	}
	small, large := forecast.Samples(p.Pool, p.Batch, most)
	for _, size := range []*forecast.Sample{&small, &small, &large} {
		if err := sample.measureSelection(ctx, size); err != nil {
			return err
		}
	}
	_, explicit := forecast.Width(p.request.Spec, p.sizes(forecast.Sizes{Train: p.Labelled, Pool: p.Pool, Inputs: p.Inputs}))
	kernel, selecting := forecast.Selection(small, large, p.Pool, p.Batch, explicit)
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
	o.Config.Training.Epochs, rows = forecast.SampleTraining(o.Config, p.Inputs, p.Labelled)
	warmUp := min(forecast.WarmEpochs, o.Config.Training.Epochs-1)
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
	p.Rows = all.SomeTrain(rows)
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

// measureSelection picks from the first rows of the pool, without constraints.
func (p *Plan) measureSelection(ctx context.Context, size *forecast.Sample) error {
	part := *p
	if p.Rows != nil {
		part.Rows = p.Rows.FirstOfPool(size.Rows)
		if err := part.scale(ctx); err != nil {
			return err
		}
	} else {
		if part.problem.Pool.Rows = size.Rows; p.problem.Exact.Pool.Rows > 0 {
			part.problem.Exact.Pool = p.problem.Exact.Pool.Slice(0, size.Rows)
		}
	}
	part.problem.Batch, part.problem.Constraints = size.Batch, selection.Constraints{}
	part.problem.Pending = nil
	batch, err := part.pick(ctx, part.problem)
	if err != nil {
		return err
	}
	size.Kernel, size.Timing = batch.Kernel, batch.Timing
	return nil
}
