package learner

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Stopwatch measures how long each learner of a blend takes, to forecast how long it would take with more labels.
type Stopwatch struct {
	seconds map[string]float64 // of each learner
	models  map[string]int
	now     string
	since   time.Time

	epoch    time.Time // the end of the last one of a network
	training float64   // seconds of the epochs after the warm-up
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

// Epoch is for network.Options. With it, the epochs of networks grow in the forecast, and what else they take does not:
// in a sample of a few epochs, that is most of the time.
func (w *Stopwatch) Epoch(e network.Epoch) {
	now := time.Now()
	if e.Number > warmEpochs {
		w.training += now.Sub(w.epoch).Seconds()
	}
	w.epoch = now
}

const warmEpochs = 2 // that are not measured

// Stop ends the time of the last learner.
func (w *Stopwatch) Stop() {
	if w.now != "" {
		w.seconds[w.now] += time.Since(w.since).Seconds()
		w.now = ""
	}
}

// Forecast returns the seconds that the learners would take with to labels and the networks of a configuration, if
// they were measured with from labels and the networks of a sample. Networks are trained for networkFolds of the folds,
// on average; 0 means that there are none.
func (w *Stopwatch) Forecast(sample, c network.Config, inputs, from, to int, networkFolds float64) (seconds float64) {
	for name, taken := range w.seconds {
		if name == NetworkName {
			seconds += networkFolds / float64(w.models[name]) * w.fold(taken, sample, c, inputs, others(from), others(to))
		} else {
			seconds += taken * growth(name, from, to)
		}
	}
	return seconds
}

// fold returns the seconds of networks that took some in a sample: their epochs grow with the work, the rest does not.
func (w *Stopwatch) fold(taken float64, sample, c network.Config, inputs, from, to int) float64 {
	ratio := trainingWork(c, inputs, to) / trainingWork(sample, inputs, from)
	if w.training == 0 {
		return taken * ratio
	}
	epochs := float64(sample.WithDefaults().Training.Epochs)
	training := min(taken, w.training*epochs/(epochs-warmEpochs))
	return taken - training + training*ratio
}

// trainingWork is the work of a training: that of the products, and that of the steps, which change each parameter
// whatever the number of rows. In measurements with 32 to 256 rows, a step took as long as the products of stepRows
// rows.
func trainingWork(c network.Config, inputs, rows int) float64 {
	batch := float64(max(1, min(c.WithDefaults().Training.Batch, rows)))
	return c.Work(inputs, rows, 0) * (1 + stepRows/batch)
}

const stepRows = 44

// growth returns how much longer a learner other than a network takes with to labels than it has taken with from.
func growth(name string, from, to int) float64 {
	switch i := slices.Index(processNames[:], name); {
	case i < 0:
		return float64(to) / float64(from)
	case to > mostForProcess, gp.Prior(i) != gp.Alike && to > fewForSparse:
		return 0
	}
	return processWork(to) / processWork(from)
}

// others returns how many of the labels are not in a fold.
func others(labels int) int { return labels - labels/DefaultFolds }

// processWork returns the work of cross-fitting a process, without a unit. That of the length scales has grown with
// the square of the labels in measurements. The posterior of all labels takes their cube.
func processWork(labels int) float64 {
	search := func(n int) float64 { return math.Pow(float64(min(n, gp.SearchRows)), 2) }
	if labels < fewForOneProcess {
		return search(labels) + DefaultFolds*search(others(labels))
	}
	return search(labels) + search(gp.SearchRows)/100*math.Pow(float64(labels)/gp.SearchRows, 3)
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
	paceEpochs = 16
)

// Measure fits a model to some of the rows, and returns the pace; nil if too few of them have all labels.
func Measure(ctx context.Context, s network.Sample, o Options) (*Pace, error) {
	p := &Pace{config: o.Network.Config, inputs: s.X.Cols}
	o.Network.Progress, o.NetworkFolds = p.watch.Epoch, 1
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
	s.Sides, s.Noise = nil, nil // which take little time
	s.X, s.Y, s.Random, s.Unlabelled = s.X.SelectRows(kept), matrix.View(s.X.Rows, s.Targets, s.Y).SelectRows(kept).Data,
		nil, matrix.Dense[network.Real]{}
	o.Network.Config.Training.Epochs = min(paceEpochs, p.config.WithDefaults().Training.Epochs)
	p.sample = o.Network.Config
	o.Shown = p.watch.Shown
	if !o.Kind.Blends() {
		p.watch.Shown(NetworkName, 0, 0)
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
// means for none.
func (p *Pace) Seconds(labels, networkFolds int) float64 {
	return p.watch.Forecast(p.sample, p.config, p.inputs, p.rows, labels, float64(networkFolds))
}
