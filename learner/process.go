package learner

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// processLearner is a Gaussian process (package gp) on inputs that are scaled as a network's are. A
// category has one length scale. The zero value has the usual prior beliefs.
type processLearner struct{ prior gp.Prior }

// processNames are the names of processes by their prior beliefs.
var processNames = [...]string{gp.Alike: ProcessName, gp.Sparse: "gp-sparse", gp.Stationary: "gp-stationary"}

// fewForSparse is how many labels processes with other beliefs take in a blend: with more, the labels outweigh beliefs.
const fewForSparse = 128

// mostForProcess is how many labels a process takes.
const mostForProcess = gp.MostLabels

// Name implements Learner.
func (p processLearner) Name() string { return processNames[p.prior] }

// Refuses implements Learner.
func (processLearner) Refuses(rows, _ int) string {
	if rows > mostForProcess {
		return fmt.Sprintf("it takes at most %s labels", words.Whole(mostForProcess))
	}
	return ""
}

// fewForOneProcess is how many labels fix the hyperparameters well enough that those of all labels
// may predict held-out rows, which needs one fit instead of six. With fewer, such predictions are
// too good, and so would be the weight of the process.
const fewForOneProcess = 512

// CrossFit implements Learner. With few labels, hyperparameters are fitted again in each fold, and
// the processes of the folds are averaged with that of all labels.
func (p processLearner) CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error) {
	return t.EachTarget(func(one *Task) (*CrossFitted, error) {
		inputs := matrix.Converted[float64](one.Rows.Scaled)
		t.show(p.Name(), 0)
		usual := one.usualProcesses()
		whole, err := p.fit(ctx, one, usual.whole, inputs, upTo(one.Rows.Len()))
		if err != nil {
			return nil, err
		}
		if len(one.Labels.Data) >= fewForOneProcess {
			return p.heldInClosedForm(ctx, one, whole)
		}
		c := newCrossFitted(one.Rows.Len())
		all := processes{prior: p.prior, whole: whole, noise: one.meanNoise()}
		for k, held := range one.Folds {
			t.show(p.Name(), k+1)
			rest := one.Others(k)
			var near *gp.Model
			if usual.folds != nil {
				near = usual.folds[k]
			}
			m, err := p.fit(ctx, one, near, inputs, rest)
			if err != nil {
				return nil, err
			}
			means, variances, err := m.Predict(ctx, inputs.SelectRows(held))
			if err != nil {
				return nil, err
			}
			c.put(held, means, withNoise(variances, m.Noise+one.meanNoise()))
			all.folds = append(all.folds, m)
		}
		c.Predictor = all
		return c, nil
	})
}

// heldInClosedForm predicts held-out rows with the hyperparameters of all.
func (p processLearner) heldInClosedForm(ctx context.Context, t *Task, m *gp.Model) (*CrossFitted, error) {
	folds := make([]int, t.Rows.Len())
	for k, held := range t.Folds {
		for _, row := range held {
			folds[row] = k
		}
	}
	means, variances, err := m.OutOfFold(ctx, folds)
	if err != nil {
		return nil, err
	}
	all := processes{prior: p.prior, whole: m, noise: t.meanNoise()}
	return &CrossFitted{Predictor: all, Means: means, Deviations: withNoise(variances, m.Noise+all.noise)}, nil
}

// usualProcesses returns those with the usual beliefs, if they were fitted before.
func (t *Task) usualProcesses() (usual processes) {
	for _, c := range slices.Concat(t.crossed...) {
		if p, ok := c.Predictor.(processes); ok && p.prior == gp.Alike {
			usual = p
		}
	}
	return usual
}

// fit fits a process to some of the rows.
func (p processLearner) fit(ctx context.Context, t *Task, usual *gp.Model, inputs matrix.Dense[float64],
	rows []int) (*gp.Model, error) {
	units := make([]float64, inputs.Cols)
	for i := range units {
		units[i] = 1
	}
	data := gp.Data{Inputs: inputs.SelectRows(rows), Labels: pick(t.Labels.Data, rows), Groups: t.groups(), Units: units}
	if t.Sides != nil {
		data.Sides = pick(t.Sides, rows)
	}
	if t.Noise != nil {
		data.Noise = pick(t.Noise, rows)
	}
	return gp.Fit(ctx, data, gp.Config{Prior: p.prior, Usual: usual, Seed: t.Seed})
}

// groups returns the features of each category.
func (t *Task) groups() (groups [][]int) {
	for _, c := range t.Columns {
		if !c.Category || c.Width < 2 {
			continue
		}
		group := make([]int, c.Width)
		for i := range group {
			group[i] = c.First + i
		}
		groups = append(groups, group)
	}
	return groups
}

// processes predict the mean of what the processes of the folds and that of all labels predict. The
// deviation is that of the latter.
type processes struct {
	prior gp.Prior
	whole *gp.Model
	folds []*gp.Model
	noise float64 // mean of the known variances of the labels
}

func (p processes) Predict(ctx context.Context, rows Rows, deviations bool) (means, stds []float64, err error) {
	inputs := matrix.Converted[float64](rows.Scaled)
	if deviations {
		var variances []float64
		means, variances, err = p.whole.Predict(ctx, inputs)
		stds = withNoise(variances, p.whole.Noise+p.noise)
	} else {
		means, err = p.whole.PredictMean(ctx, inputs)
	}
	for _, m := range p.folds {
		if err != nil {
			return nil, nil, err
		}
		var more []float64
		more, err = m.PredictMean(ctx, inputs)
		for i, v := range more {
			means[i] += v
		}
	}
	for i := range means {
		means[i] /= float64(1 + len(p.folds))
	}
	return means, stds, err
}

// withNoise returns the deviations of labels from the variances of a function.
func withNoise(variances []float64, noise float64) []float64 {
	list := make([]float64, len(variances))
	for i, v := range variances {
		list[i] = math.Sqrt(max(v, 0) + noise)
	}
	return list
}
