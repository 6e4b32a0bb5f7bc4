package learner

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// newCrossFitted returns a result without predictions.
func newCrossFitted(rows int) *CrossFitted {
	c := &CrossFitted{Means: make([]float64, rows), Deviations: make([]float64, rows)}
	for i := range rows {
		c.Means[i], c.Deviations[i] = math.NaN(), math.NaN()
	}
	return c
}

// put records predictions for held-out rows.
func (c *CrossFitted) put(rows []int, means, deviations []float64) {
	for i, row := range rows {
		c.Means[row] = means[i]
		if deviations != nil {
			c.Deviations[row] = deviations[i]
		}
	}
}

// folds returns how many folds were held out.
func (c *CrossFitted) folds(all int) int {
	if c.Folds == 0 {
		return all
	}
	return c.Folds
}

// errorsOf returns the errors of candidates (across) on rows (down). The sides say which labels are limits, unless they
// are nil.
func errorsOf(candidates []*CrossFitted, rows []int, labels []float64, sides []int8) matrix.Dense[float64] {
	list := matrix.New[float64](len(rows), len(candidates))
	for i, row := range rows {
		for k, c := range candidates {
			list.Set(i, k, errorOf(c.Means[row], labels[row], row, sides))
		}
	}
	return list
}

// errorOf returns the error of a prediction for a row: none if the label is a limit that the prediction keeps to.
func errorOf(prediction, label float64, row int, sides []int8) float64 {
	e := prediction - label
	if sides != nil && float64(sides[row])*e > 0 {
		return 0
	}
	return e
}

// show reports what is being fitted; fold 0 is the model of all rows.
func (t *Task) show(learner string, fold int) {
	if t.shown != nil {
		t.shown(learner, fold, len(t.Folds))
	}
}
