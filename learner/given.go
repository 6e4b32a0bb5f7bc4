package learner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/matrix"
)

// givenLearner is a candidate whose models were fitted elsewhere.
type givenLearner struct {
	title string
	held  matrix.Dense[float64]
}

// Given returns a learner whose models were fitted elsewhere, such as an estimator of another library. It brings
// its predictions: those for the labelled rows here, and those for other rows through Model.With. Held has a row for
// each labelled row of the task, and a column for each target. Each number must come from a model that has not learnt
// from the row. Where a row has no label of a target, it has no meaning.
func Given(title string, held matrix.Dense[float64]) Learner { return givenLearner{title, held} }

// Name implements Learner.
func (g givenLearner) Name() string { return g.title }

// Refuses implements Learner.
func (givenLearner) Refuses(int, int) string { return "" }

// CrossFit implements Learner.
func (g givenLearner) CrossFit(_ context.Context, t *Task) ([]*CrossFitted, error) {
	if g.held.Rows != t.Rows.Len() || g.held.Cols != t.Targets() {
		return nil, fmt.Errorf("there are %d×%d predictions for %d labelled rows and %d targets", g.held.Rows, g.held.Cols,
			t.Rows.Len(), t.Targets())
	}
	list := make([]*CrossFitted, t.Targets())
	for k := range list {
		list[k] = &CrossFitted{Predictor: given{name: g.title, target: k}, Means: column(g.held, k)}
	}
	return list, nil
}

// given predicts what it was given for the rows.
type given struct {
	name   string
	target int
	rows   []float64 // nil before Model.With
}

func (g given) Predict(_ context.Context, rows Rows, _ bool) (means, stds []float64, err error) {
	switch {
	case g.rows == nil:
		return nil, nil, errors.New("it was fitted elsewhere, and its predictions for these rows are not given")
	case len(g.rows) != rows.Len():
		return nil, nil, fmt.Errorf("it was fitted elsewhere, and there are %d of its predictions for %d rows",
			len(g.rows), rows.Len())
	}
	return g.rows, nil, nil
}

// With returns the model for certain rows, of which candidates that were fitted elsewhere (Given) predict this, by
// name: a column for each target. A candidate without a weight is not needed.
func (m *Model) With(predictions map[string]matrix.Dense[float64]) (*Model, error) {
	if m.blended == nil {
		return m, nil
	}
	all, with := *m.blended, *m
	with.blended, all.targets = &all, slices.Clone(m.blended.targets)
	for k := range all.targets {
		b := *all.targets[k].blend
		b.parts = slices.Clone(b.parts)
		for i, p := range b.parts {
			g, elsewhere := p.predictor.(given)
			from, known := predictions[p.name]
			if !elsewhere || !known {
				continue
			}
			if from.Cols != len(all.targets) {
				return nil, fmt.Errorf("%s predicts %d targets, the model %d", p.name, from.Cols, len(all.targets))
			}
			g.rows = column(from, k)
			if !allFinite(g.rows) {
				return nil, fmt.Errorf("%s: its predictions are not finite", p.name)
			}
			b.parts[i].predictor = g
		}
		all.targets[k].blend = &b
	}
	return &with, nil
}

// column returns a copy of a column.
func column(m matrix.Dense[float64], j int) []float64 {
	list := make([]float64, m.Rows)
	for i := range list {
		list[i] = m.At(i, j)
	}
	return list
}

// repeated returns the first name that two learners have, and an empty one if there is none.
func repeated(learners []Learner) string {
	for i, l := range learners {
		if slices.ContainsFunc(learners[:i], func(other Learner) bool { return other.Name() == l.Name() }) {
			return l.Name()
		}
	}
	return ""
}
