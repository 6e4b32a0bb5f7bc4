package learner

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/trees"
)

// Boosting is gradient boosting (package trees).
type Boosting struct{}

// Name implements Learner.
func (Boosting) Name() string { return "boosting" }

// Refuses implements Learner.
func (Boosting) Refuses(int, int) string { return "" }

// CrossFit implements Learner. The number of trees is that with the lowest error on all held-out rows,
// one number for all folds; then all rows are learnt with as many.
func (Boosting) CrossFit(ctx context.Context, t *Task) (*CrossFitted, error) {
	data := t.forTrees()
	crossed, err := trees.CrossFitBoosting(ctx, data, t.folds, trees.BoostingConfig{}, t.Seed)
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
	return t.ofTrees(models, crossed.Predictions), nil
}

// ExtraTrees is extremely randomised trees (package trees).
type ExtraTrees struct{}

// Name implements Learner.
func (ExtraTrees) Name() string { return "extra-trees" }

// Refuses implements Learner.
func (ExtraTrees) Refuses(int, int) string { return "" }

// CrossFit implements Learner.
func (ExtraTrees) CrossFit(ctx context.Context, t *Task) (*CrossFitted, error) {
	data := t.forTrees()
	models, predictions := make([]*trees.Model, len(t.folds)), make([][]float64, len(t.folds))
	for k, held := range t.folds {
		var err error
		if models[k], err = trees.FitExtraTrees(ctx, data.Subset(t.others(k)), trees.ExtraConfig{Trees: treesPerFold}, t.Seed+uint64(k)); err != nil {
			return nil, err
		}
		if predictions[k], err = models[k].Predict(ctx, data.Inputs.SelectRows(held)); err != nil {
			return nil, err
		}
	}
	whole, err := trees.FitExtraTrees(ctx, data, trees.ExtraConfig{}, t.Seed)
	if err != nil {
		return nil, err
	}
	return t.ofTrees(append(models, whole), predictions), nil
}

// treesPerFold is the number of extra trees of a fold: with the other folds there are many.
const treesPerFold = 100

// ofTrees returns models of trees as what has been cross-fitted.
func (t *Task) ofTrees(models []*trees.Model, predictions [][]float64) *CrossFitted {
	c := &CrossFitted{Held: make([]Prediction, t.X.Rows)}
	var list mean
	for _, m := range models {
		list = append(list, forest{m, t.Columns})
	}
	for k, held := range t.folds {
		for i, row := range held {
			c.Held[row].Mean = predictions[k][i]
		}
	}
	c.Model = list
	return c
}

// forest is fitted trees. They predict no deviation; that of several is how far they are apart.
type forest struct {
	model   *trees.Model
	columns []Column
}

func (f forest) Predict(ctx context.Context, rows matrix.Dense[float32]) ([]Prediction, error) {
	means, err := f.model.Predict(ctx, folded(rows, f.columns))
	if err != nil {
		return nil, err
	}
	list := make([]Prediction, len(means))
	for i, v := range means {
		list[i].Mean = v
	}
	return list, nil
}

// forTrees returns the task as trees take it: a column for each of the user's, codes for
// categories, NaN where a value is missing.
func (t *Task) forTrees() trees.Data {
	d := trees.Data{Inputs: folded(t.X, t.Columns), Labels: t.Labels}
	for _, c := range t.Columns {
		levels := 0
		if c.Category {
			levels = c.Width
			if c.Width == 1 {
				levels = 2
			}
		}
		d.Columns = append(d.Columns, trees.Column{Levels: levels})
	}
	return d
}

// folded returns encoded rows with one column for each of the user's.
func folded(rows matrix.Dense[float32], columns []Column) matrix.Dense[float32] {
	if columns == nil {
		return rows
	}
	list := matrix.New[float32](rows.Rows, len(columns))
	for i := range rows.Rows {
		from, to := rows.Row(i), list.Row(i)
		for j, c := range columns {
			to[j] = c.value(from)
		}
	}
	return list
}

var missing = float32(math.NaN())

// value returns the value of a column in an encoded row: a number, or the code of a level.
func (c Column) value(row []float32) float32 {
	if c.Mark > 0 && row[c.Mark] != 0 {
		return missing
	}
	if !c.Category {
		return row[c.First]
	}
	if c.Width == 1 {
		if v := row[c.First]; v == 0 || v == 1 {
			return v
		}
		return missing // an encoder puts it between the two levels
	}
	for k, v := range row[c.First : c.First+c.Width] {
		if v == 1 {
			return float32(k)
		}
	}
	return missing
}
