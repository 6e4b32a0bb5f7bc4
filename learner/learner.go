package learner

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Learner is a kind of model that can be fitted: a candidate of the blend.
type Learner interface {
	// Name is a word for messages, such as "gp".
	Name() string
	// Refuses says in a few words why the learner leaves a task of this size to others, such as
	// "more than 8,192 labels"; it is empty where it does not.
	Refuses(rows, inputs int) string
	// CrossFit fits models to the task, such that each labelled row is predicted by one that
	// has not learnt from it. The same task gives the same models, whatever the number of threads.
	CrossFit(ctx context.Context, t *Task) (*CrossFitted, error)
}

// fewForNetworks is how many labels a network needs to be a candidate: with fewer it learns
// little, and so does boosting.
const fewForNetworks = 20

// Candidates returns the learners to blend where nobody has chosen one: a Gaussian process and
// extra trees and, unless labels are very few, gradient boosting and a network.
func Candidates(labels int) []Learner {
	if labels < fewForNetworks {
		return []Learner{Process{}, ExtraTrees{}}
	}
	return []Learner{Process{}, ExtraTrees{}, Boosting{}, smoothNetwork()}
}

// CrossFitted is what a learner has learnt.
type CrossFitted struct {
	Model Model
	Held  []Prediction // of each labelled row, by a model that has not learnt from it
	Notes []string     // what went wrong without ending the fit, such as a network that diverged
}

// Model predicts labels. It does not change, and may be used by several goroutines.
type Model interface {
	Predict(ctx context.Context, rows matrix.Dense[float32]) ([]Prediction, error)
}

// Prediction is a predicted label.
type Prediction struct {
	Mean float64
	// Deviation is what the model takes for the standard deviation of the label; it ranks rows,
	// and blends scale it by the errors that they made.
	Deviation float64
}

// mean is several models, whose mean is the prediction. Its deviation is that of a mixture:
// the mean variance of the models plus the variance of their predictions.
type mean []Model

func (m mean) Predict(ctx context.Context, rows matrix.Dense[float32]) ([]Prediction, error) {
	weights := make([]float64, len(m))
	for i := range weights {
		weights[i] = 1 / float64(len(m))
	}
	return mixture(ctx, m, weights, rows)
}

// mixture returns the weighted mean of models.
func mixture(ctx context.Context, models []Model, weights []float64, rows matrix.Dense[float32]) ([]Prediction, error) {
	all := make([][]Prediction, len(models))
	for k, m := range models {
		var err error
		if all[k], err = m.Predict(ctx, rows); err != nil {
			return nil, err
		}
	}
	return mixed(all, weights, rows.Rows), nil
}

// mixed returns the weighted mean of the predictions of each row.
func mixed(all [][]Prediction, weights []float64, rows int) []Prediction {
	list := make([]Prediction, rows)
	for i := range list {
		mean, square := 0.0, 0.0
		for k, w := range weights {
			mean += w * all[k][i].Mean
		}
		for k, w := range weights {
			off := all[k][i].Mean - mean
			square += w * (all[k][i].Deviation*all[k][i].Deviation + off*off)
		}
		list[i] = Prediction{mean, sqrt(square)}
	}
	return list
}
