package learner

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/trees"
	"github.com/nextbatch/nextbatch/matrix"
)

// boostedTrees is gradient boosting (package trees).
type boostedTrees struct{}

// Name implements Learner.
func (boostedTrees) Name() string { return "boosting" }

// Refuses implements Learner.
func (boostedTrees) Refuses(int, int) string { return "" }

// CrossFit implements Learner. The number of trees is that with the lowest error on all held-out rows,
// one number for all folds; then all rows are learnt with as many.
func (boostedTrees) CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error) {
	return t.EachTarget(func(one *Task) (*CrossFitted, error) {
		t.show("boosting", 0)
		data, fold := one.forTrees()
		crossed, err := trees.CrossFitBoosting(ctx, data, one.Folds, trees.BoostingConfig{}, t.Seed)
		if err != nil {
			return nil, err
		}
		models := crossed.Models
		if crossed.Rounds > 0 {
			whole, err := trees.FitBoosting(ctx, data, trees.BoostingConfig{Rounds: crossed.Rounds}, t.Seed)
			if err != nil {
				return nil, err
			}
			models = append(models, whole)
		}
		c := newCrossFitted(one.Rows.Len())
		c.Deviations = nil
		for k, held := range one.Folds {
			c.put(held, crossed.Predictions[k], nil)
		}
		c.Predictor = &forest{fold: fold, models: models}
		return c, nil
	})
}

// extraTrees is extremely randomised trees (package trees).
type extraTrees struct{}

// Name implements Learner.
func (extraTrees) Name() string { return ExtraTreesName }

// Refuses implements Learner.
func (extraTrees) Refuses(int, int) string { return "" }

// CrossFit implements Learner.
func (extraTrees) CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error) {
	return t.EachTarget(func(one *Task) (*CrossFitted, error) {
		data, fold := one.forTrees()
		perFold, inAll := sizesOfTrees(one.Rows.Len())
		c, f := newCrossFitted(one.Rows.Len()), &forest{fold: fold, apart: true}
		for k, held := range one.Folds {
			t.show(ExtraTreesName, k+1)
			m, err := trees.FitExtraTrees(ctx, data.Subset(one.Others(k)), trees.ExtraConfig{Trees: perFold}, t.Seed+uint64(k))
			if err != nil {
				return nil, err
			}
			means, stds, err := (&forest{models: []*trees.Model{m}, apart: true}).predict(ctx,
				data.Inputs.SelectRows(held), true)
			if err != nil {
				return nil, err
			}
			c.put(held, means, stds)
			f.models = append(f.models, m)
		}
		t.show(ExtraTreesName, 0)
		whole, err := trees.FitExtraTrees(ctx, data, trees.ExtraConfig{Trees: inAll}, t.Seed)
		if err != nil {
			return nil, err
		}
		f.models = append(f.models, whole)
		c.Predictor = f
		return c, nil
	})
}

// sizesOfTrees returns the number of extra trees of a fold and of all rows. With the other folds there are
// many; with many rows each takes long, and fewer do.
func sizesOfTrees(rows int) (fold, whole int) {
	if rows > 1024 {
		return 50, 150
	}
	return 100, trees.DefaultExtra
}

// forTrees returns the task as trees take it: a column for each of the user's.
func (t *Task) forTrees() (trees.Data, *folding) {
	f := newFolding(t.Columns, t.Scaling)
	d := trees.Data{Inputs: f.rows(t.Rows.Scaled), Labels: t.Labels.Data, Weights: t.precision()}
	for _, c := range f.columns {
		d.Columns = append(d.Columns, trees.Input{Levels: c.levels()})
	}
	return d, f
}

// forest predicts the mean of what the models of the folds and that of all labels predict.
type forest struct {
	fold   *folding
	models []*trees.Model
	apart  bool // each tree predicts the label; the deviation is how far the trees of the last model are apart
}

func (f *forest) Predict(ctx context.Context, rows Rows, deviations bool) (means, stds []float64, err error) {
	return f.predict(ctx, f.fold.rows(rows.Scaled), deviations)
}

// predict takes folded rows.
func (f *forest) predict(ctx context.Context, rows matrix.Dense[float32],
	deviations bool) (means, stds []float64, err error) {
	means = make([]float64, rows.Rows)
	for _, m := range f.models {
		one, err := m.Predict(ctx, rows)
		if err != nil {
			return nil, nil, err
		}
		for i, v := range one {
			means[i] += v / float64(len(f.models))
		}
	}
	if deviations && f.apart {
		stds, err = treesApart(ctx, f.models[len(f.models)-1], rows)
	}
	return means, stds, err
}

// treesApart returns the standard deviation of what the trees predict for each row.
func treesApart(ctx context.Context, m *trees.Model, rows matrix.Dense[float32]) ([]float64, error) {
	stds, n := make([]float64, rows.Rows), float64(m.Trees())
	const block = 1024 // rows, to bound the memory
	for from := 0; from < rows.Rows; from += block {
		to := min(from+block, rows.Rows)
		c, err := m.Contributions(ctx, rows.Slice(from, to))
		if err != nil {
			return nil, err
		}
		for i := range c.Rows {
			sum, squares := 0.0, 0.0
			for _, v := range c.Row(i) {
				sum, squares = sum+float64(v), squares+float64(v)*float64(v)
			}
			// A contribution is the prediction of a tree over n, less a constant.
			stds[from+i] = n * math.Sqrt(max(0, squares/n-sum/n*(sum/n)))
		}
	}
	return stds, nil
}
