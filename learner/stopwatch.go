package learner

import (
	"math"
	"time"

	"github.com/nextbatch/nextbatch/gp"
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

// Forecast returns the seconds that the learners would take with to labels, if they were measured with from. The
// networks are those of a configuration.
func (w *Stopwatch) Forecast(c network.Config, inputs, from, to int) (seconds float64) {
	for name, taken := range w.seconds {
		if to > from {
			taken *= w.growth(name, c, inputs, from, to)
		}
		seconds += taken
	}
	return seconds
}

// growth returns how much longer a learner takes with to labels than it has taken with from.
func (w *Stopwatch) growth(name string, c network.Config, inputs, from, to int) float64 {
	switch name {
	case Network{}.Name():
		folds := float64(NetworkFolds(to)) / float64(w.models[name])
		return folds * c.Work(inputs, others(to), 0) / c.Work(inputs, others(from), 0)
	case Process{}.Name():
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
