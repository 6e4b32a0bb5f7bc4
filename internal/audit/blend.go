package audit

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
)

// predictByBlend adds what a blend predicts for all rows: held-out predictions for those that it was fitted to,
// and ordinary ones for those that were left out.
func (a *auditor) predictByBlend(ctx context.Context, repeat int, p predictions) error {
	m, kept, err := a.fitBlend(ctx, repeat)
	if err != nil {
		return err
	}
	for k := range a.sample.Targets {
		one := m.Target(k)
		judged := make([]bool, a.sample.X.Rows)
		deviations := one.HeldDeviations()
		for i, r := range one.Residuals() {
			row := kept[r.Row]
			judged[row] = true
			a.add(p, k, row, a.sample.Y[row*a.sample.Targets+k]+r.Error, deviations[i])
		}
		if err := a.predictOthers(ctx, one, k, judged, p); err != nil {
			return err
		}
	}
	a.fitted(m.TrainingNote())
	return nil
}

// fitBlend fits the blend of a repeat, and returns it with the rows that it was fitted to.
func (a *auditor) fitBlend(ctx context.Context, repeat int) (m *learner.Model, kept []int, err error) {
	for row, out := range a.out {
		if !out {
			kept = append(kept, row)
		}
	}
	s := a.sample
	s.X, s.Y = a.sample.X.SelectRows(kept), a.labels(kept)
	s.Sides, s.Noise = a.sides(kept), a.noise(kept)
	o := learner.Options{Kind: a.options.Learner, Network: a.options.Network, Only: a.weighted(), Folds: a.options.Folds,
		NetworkFolds: a.options.Folds}
	if tell := a.options.Fitting; tell != nil {
		o.Shown = func(learner string, fold, folds int) { tell(a.done, a.of(), learner, fold, folds) }
	}
	o.Network.Progress = nil
	o.Network.Config.Seed = rng.New(a.options.Network.Config.Seed, "audit folds", uint64(repeat)).Uint64()
	if m, _, err = fitted.Learn(ctx, s, o); err != nil {
		return nil, nil, err
	}
	for k := range s.Targets {
		if repeat == 0 {
			a.chosen = append(a.chosen, m.Target(k))
		}
	}
	return m, kept, nil
}

// weighted returns the candidates that got a weight in the first repeat of the pass; nil before that.
func (a *auditor) weighted() (names []string) {
	for _, m := range a.chosen {
		for _, c := range m.Candidates() {
			if c.Weight > 0 && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// predictOthers predicts the rows that the model of a target has not learnt from.
func (a *auditor) predictOthers(ctx context.Context, m *learner.Model, target int, judged []bool, p predictions) error {
	var rows []int
	for row, done := range judged {
		if !done {
			rows = append(rows, row)
		}
	}
	u, err := m.PredictStd(ctx, a.sample.X.SelectRows(rows))
	if err != nil {
		return err
	}
	for i, row := range rows {
		a.add(p, target, row, u.Mean[i], u.Std[i])
	}
	return nil
}
