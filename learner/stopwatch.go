package learner

import (
	"context"
	"math"
	"time"

	"github.com/nextbatch/nextbatch/gp"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Stopwatch measures how long each learner of a blend takes, to forecast how long it would take with more labels.
type Stopwatch struct {
	seconds map[string]float64 // of each learner
	models  map[string]int
	now     string
	since   time.Time
}

// Shown is for Options.
func (w *Stopwatch) Shown(learner string, _, _ int) {
	w.Stop()
	if w.seconds == nil {
		w.seconds, w.models = map[string]float64{}, map[string]int{}
	}
	w.now, w.since = learner, time.Now()
	w.models[learner]++
}

// Stop ends the time of the last learner.
func (w *Stopwatch) Stop() {
	if w.now != "" {
		w.seconds[w.now] += time.Since(w.since).Seconds()
		w.now = ""
	}
}

// Forecast returns the seconds that the learners would take with to labels and the networks of a configuration, if
// they were measured with from labels and the networks of a sample.
func (w *Stopwatch) Forecast(sample, c network.Config, inputs, from, to int) (seconds float64) {
	for name, taken := range w.seconds {
		seconds += taken * w.growth(name, sample, c, inputs, from, to, NetworkFolds(to))
	}
	return seconds
}

// growth returns how much longer a learner takes with to labels than it has taken with from. Networks are trained
// for networkFolds of the folds.
func (w *Stopwatch) growth(name string, sample, c network.Config, inputs, from, to, networkFolds int) float64 {
	switch name {
	case Network{}.Name():
		folds := float64(networkFolds) / float64(w.models[name])
		return folds * c.Work(inputs, others(to), 0) / sample.Work(inputs, others(from), 0)
	case Process{}.Name():
		if to > MostForProcess {
			return 0
		}
		return processWork(to) / processWork(from)
	}
	return math.Pow(float64(to)/float64(from), 1.15) // nearly proportional
}

// others returns how many of the labels are not in a fold.
func others(labels int) int { return labels - labels/DefaultFolds }

// processWork returns the work of cross-fitting a process, without a unit. That of the length scales has grown with
// the power 2.25 of the labels in measurements. The posterior of all labels takes their cube.
func processWork(labels int) float64 {
	search := func(n int) float64 { return math.Pow(float64(min(n, gp.SearchRows)), 2.25) }
	if labels < fewForOneProcess {
		return search(labels) + DefaultFolds*search(others(labels))
	}
	return search(labels) + search(gp.SearchRows)/200*math.Pow(float64(labels)/gp.SearchRows, 3)
}

// Pace is how long fits take, measured on a few rows. A nil pace is unknown.
type Pace struct {
	watch          Stopwatch
	sample, config network.Config // of networks in what was measured, and of those asked for
	inputs, rows   int
}

// A pace is measured on this many labels, and with this many epochs.
const (
	paceLabels = 64
	paceEpochs = 8
)

// Measure fits a model to some of the rows, and returns the pace; nil if too few of them have all labels.
func Measure(ctx context.Context, s network.Sample, o Options) (*Pace, error) {
	o.Network.Progress, o.NetworkFolds = nil, 1
	p := &Pace{config: o.Network.Config, inputs: s.X.Cols}
	s.Targets = max(s.Targets, 1)
	var kept []int
	for row := 0; row < s.X.Rows && len(kept) < paceLabels; row++ {
		if complete(s.Y[row*s.Targets : (row+1)*s.Targets]) {
			kept = append(kept, row)
		}
	}
	if p.rows = len(kept); p.rows < 2*DefaultFolds {
		return nil, nil
	}
	s.X, s.Y, s.Random, s.Unlabelled = s.X.SelectRows(kept), matrix.View(s.X.Rows, s.Targets, s.Y).SelectRows(kept).Data, nil, matrix.Dense[network.Real]{}
	o.Network.Config.Training.Epochs = min(paceEpochs, p.config.WithDefaults().Training.Epochs)
	p.sample = o.Network.Config
	o.Shown = p.watch.Shown
	if !o.Kind.Blends() {
		p.watch.Shown(Network{}.Name(), 0, 0)
	}
	_, err := Fit(ctx, s, o)
	p.watch.Stop()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil // the fit itself will say what is wrong
	}
	return p, nil
}

func complete(labels []float64) bool {
	for _, y := range labels {
		if math.IsNaN(y) {
			return false
		}
	}
	return true
}

// Seconds returns how long a fit to this many labels takes. Networks of a blend are trained for this many folds; 0
// means the usual number.
func (p *Pace) Seconds(labels, networkFolds int) (seconds float64) {
	if networkFolds == 0 {
		networkFolds = NetworkFolds(labels)
	}
	for name, taken := range p.watch.seconds {
		seconds += taken * p.watch.growth(name, p.sample, p.config, p.inputs, p.rows, labels, networkFolds)
	}
	return seconds
}
