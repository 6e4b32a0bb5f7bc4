package learner

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/gp"
	"github.com/nextbatch/nextbatch/matrix"
)

// Process is a Gaussian process (package gp) on inputs that are scaled as a network's are. A
// category has one length scale.
type Process struct{}

// Name implements Learner.
func (Process) Name() string { return "gp" }

// Refuses implements Learner.
func (Process) Refuses(rows, _ int) string {
	if rows > gp.MostLabels {
		return fmt.Sprintf("it takes at most %d labels", gp.MostLabels)
	}
	return ""
}

// CrossFit implements Learner. Hyperparameters are fitted anew in each fold: predictions for
// held-out rows with those of all labels would be too good, and the weight of the process too large.
func (Process) CrossFit(ctx context.Context, t *Task) (*CrossFitted, error) {
	scaler, err := t.scaler()
	if err != nil {
		return nil, err
	}
	inputs := scaled(t.X, scaler)
	c := &CrossFitted{Held: make([]Prediction, t.X.Rows)}
	var list mean
	for k, held := range t.folds {
		rest := t.others(k)
		m, err := t.fitProcess(ctx, inputs.SelectRows(rest), pick(t.Labels, rest))
		if err != nil {
			return nil, err
		}
		predicted, err := predictProcess(ctx, m, inputs.SelectRows(held))
		if err != nil {
			return nil, err
		}
		for i, row := range held {
			c.Held[row] = predicted[i]
		}
		list = append(list, process{m, scaler})
	}
	whole, err := t.fitProcess(ctx, inputs, t.Labels)
	if err != nil {
		return nil, err
	}
	c.Model = append(list, process{whole, scaler})
	return c, nil
}

func (t *Task) fitProcess(ctx context.Context, inputs matrix.Dense[float64], labels []float64) (*gp.Model, error) {
	units := make([]float64, inputs.Cols)
	for i := range units {
		units[i] = 1
	}
	return gp.Fit(ctx, gp.Data{Inputs: inputs, Labels: labels, Groups: t.groups(), Units: units}, gp.Config{Seed: t.Seed})
}

// process is a fitted Gaussian process.
type process struct {
	model  *gp.Model
	scaler dataset.Scaler
}

func (p process) Predict(ctx context.Context, rows matrix.Dense[float32]) ([]Prediction, error) {
	return predictProcess(ctx, p.model, scaled(rows, p.scaler))
}

func predictProcess(ctx context.Context, m *gp.Model, inputs matrix.Dense[float64]) ([]Prediction, error) {
	means, variances, err := m.Predict(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return withNoise(means, variances, m.Noise), nil
}

// withNoise returns predictions of labels from those of a function.
func withNoise(means, variances []float64, noise float64) []Prediction {
	list := make([]Prediction, len(means))
	for i := range list {
		list[i] = Prediction{means[i], sqrt(variances[i] + noise)}
	}
	return list
}

// scaler learns the scaling of the inputs from all rows, as that of networks is learnt.
func (t *Task) scaler() (dataset.Scaler, error) {
	return dataset.FitScalerAll(dataset.Population, t.X, matrix.Dense[float32]{}, t.Unlabelled)
}

// scaled returns rows as a scaler scales them.
func scaled(rows matrix.Dense[float32], s dataset.Scaler) matrix.Dense[float64] {
	single := matrix.New[float32](rows.Rows, rows.Cols)
	dataset.Scale(single, rows, s)
	return matrix.Converted[float64](single)
}

// groups returns the columns of each category.
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
