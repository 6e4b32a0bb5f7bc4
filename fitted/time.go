package fitted

import (
	"context"
	"math"
	"time"

	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// Memory forecasts the bytes that Fit takes, and those that its model keeps: of so many labelled rows, inputs and
// targets, and with at least so many networks for a kernel.
func (c Choices) Memory(labelled, inputs, targets, networks int) (fit, kept int64) {
	config := c.Network
	config.Architecture.Outputs = max(targets, 1)
	if !c.Learner.Blends() {
		return config.Memory(inputs, labelled, max(1, c.Members, networks))
	}
	fit, kept = learner.Memory(c.Learner, config, inputs, labelled)
	if n := max(networks, learner.NetworkFolds(labelled)*(c.Members-1)); n > 0 { // for the kernel, or in each fold
		training, more := config.Memory(inputs, labelled, n)
		fit, kept = max(fit+more, kept+training), kept+more
	}
	return fit, kept
}

// Time forecasts the seconds of Fit from a small fit, which it returns, too: it has all networks that a kernel needs,
// and takes as long to select with.
func Time(ctx context.Context, rows *tables.Rows, o Options,
	networks int) (seconds float64, sample *Fitted, err error) {
	o.Epoch = nil
	if o.Learner.Blends() {
		return timeOfBlend(ctx, rows, o, networks)
	}
	return timeOfNetworks(ctx, rows, o, max(o.Members, networks))
}

// timeOfNetworks trains one network for some epochs, on some of the rows.
func timeOfNetworks(ctx context.Context, all *tables.Rows, o Options,
	members int) (seconds float64, _ *Fitted, err error) {
	epochs, inputs, labelled := o.Network.WithDefaults().Training.Epochs, all.Train.Cols, all.Train.Rows
	how := network.Options{Config: o.Network}
	var most int
	how.Config.Training.Epochs, most = forecast.SampleTraining(how.Config, inputs, labelled)
	warmUp := min(forecast.WarmEpochs, how.Config.Training.Epochs-1)
	var warm time.Time
	perEpoch := math.NaN()
	how.Progress = func(e network.Epoch) {
		if e.Number <= warmUp {
			warm = time.Now()
		} else if !warm.IsZero() {
			perEpoch = time.Since(warm).Seconds() / float64(e.Number-warmUp)
		}
	}
	rows := all.SomeTrain(most)
	begin := time.Now()
	model, _, err := o.fit(ctx, rows, learner.Options{Network: how})
	if err != nil {
		return 0, nil, err
	}
	taken := time.Since(begin).Seconds()
	of := how.Config
	if ratio := of.Work(inputs, labelled, 0) / of.Work(inputs, most, 0); ratio > 1 {
		taken *= ratio
		perEpoch *= ratio
	}
	if left := epochs - how.Config.Training.Epochs; left > 0 {
		taken += perEpoch * float64(left)
	}
	if members > 1 {
		how.Config.Training.Epochs, how.Members, how.Progress = 1, members, nil
		if model, _, err = o.fit(ctx, rows, learner.Options{Network: how}); err != nil {
			return 0, nil, err
		}
	}
	return taken * float64(members), Of(model, rows, nil), nil
}

// A blend is timed on this many labelled rows, with networks for one fold that are trained for this many epochs.
const (
	sampleLabels = 64
	sampleEpochs = 32
)

// timeOfBlend fits a blend to some of the labelled rows. The time of each learner grows in its own way.
func timeOfBlend(ctx context.Context, all *tables.Rows, o Options,
	networks int) (seconds float64, _ *Fitted, err error) {
	labelled, inputs, full := all.Train.Rows, all.Train.Cols, o.Network
	rows, known := all, wholeFold(full, inputs, labelled)
	if !known {
		o.Network.Training.Epochs = min(sampleEpochs, full.WithDefaults().Training.Epochs)
		if len(all.Targets) == 1 { // a sample may lack the labels of another target
			rows = all.SomeTrain(min(sampleLabels, labelled))
		}
	}
	var watch, own learner.Stopwatch
	o.Fitting = watch.Shown
	how := network.Options{Config: o.Network, Members: o.Members, Progress: watch.Epoch}
	model, _, err := o.fit(ctx, rows, learner.Options{Network: how, NetworkFolds: 1})
	if err != nil {
		return 0, nil, err
	}
	watch.Stop()
	f := Of(model, rows, nil)
	own.Shown(learner.NetworkName, 1, 1)
	o.Epoch = own.Epoch
	if err := f.Train(ctx, o, networks); err != nil {
		return 0, nil, err
	}
	own.Stop()
	forecast := func(w learner.Stopwatch, folds float64) float64 {
		return w.Forecast(o.Network, full, inputs, rows.Train.Rows, labelled, folds)
	}
	return forecast(watch, foldsOf(model, labelled, known)) + forecast(own, 1), f, nil
}

// wholeFold reports whether the forecast fits all labels, with networks for one fold: with few labels, they are trained
// for many, and whether they are given up after the first decides how long it takes.
func wholeFold(c network.Config, inputs, labelled int) bool {
	return learner.NetworkFolds(labelled) > 2 && forecast.Affordable(c, inputs, labelled)
}

// foldsOf is the number of folds that networks will be trained for, if they are trained for one in a model. Where that
// does not say whether they will be given up, it is the middle.
func foldsOf(m *learner.Model, labelled int, known bool) float64 {
	folds := float64(learner.NetworkFolds(labelled))
	switch {
	case !known:
		return (1 + folds) / 2
	case m.KeepsNetworks():
		return folds
	}
	return 1
}
