package nextbatch

// The time of a plan, measured on samples. Package forecast has the formulas.

import (
	"context"
	"time"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/selection"
)

// Forecast measures samples of the plan and sets its Seconds. Read is the time that
// reading the tables took. Nothing else in the plan changes.
func (p *Plan) Forecast(ctx context.Context, read time.Duration) error {
	f := &Seconds{Read: fitted.Float(read.Seconds())}
	sample := *p
	sample.request.Progress, sample.request.Epoch = nil, nil
	var err error
	if p.request.fits() && p.Model() == nil {
		var train float64
		if train, sample.fit, err = fitted.Time(ctx, p.Rows, p.request.Options,
			p.request.Spec.TrainedNetworks()); err != nil {
			return err
		}
		f.Train = fitted.Float(train)
	}
	if p.request.Model != nil && p.fit == nil {
		sample.fit = fitted.Of(p.request.Model, p.Rows, nil)
	}
	most := p.Pool
	if own := ensemble(sample.Model()); own != nil {
		most = forecast.SamplePool(own[0].Architecture(), p.Inputs)
	}
	small, large := forecast.Samples(p.Pool, p.Batch, most)
	for _, size := range []*forecast.Sample{&small, &small, &large} {
		if err := sample.measureSelection(ctx, size); err != nil {
			return err
		}
	}
	_, explicit := forecast.Width(p.request.Spec, p.request.sizes(forecast.Sizes{Train: p.Labelled, Pool: p.Pool,
		Inputs: p.Inputs}, p.Model()))
	kernel, selecting := forecast.Selection(small, large, p.Pool, p.Batch, explicit)
	f.Kernel, f.Select = fitted.Float(kernel), fitted.Float(selecting)
	f.Total = f.Read + f.Train + f.Kernel + f.Select
	p.Seconds = f
	return nil
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
