package learner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/incontext"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// contextLearner is a network that has read millions of generated tables and is not trained on this one (package
// incontext).
type contextLearner struct{}

// contextViews is how many views of a table are averaged.
const contextViews = 2

// Name implements Learner.
func (contextLearner) Name() string { return string(InContext) }

// Refuses implements Learner.
func (contextLearner) Refuses(rows, _ int) string {
	if rows > incontext.MostLabels {
		return fmt.Sprintf("it takes at most %s labels", words.Whole(incontext.MostLabels))
	}
	return ""
}

// CrossFit implements Learner. For each fold the network reads the other labelled rows.
func (contextLearner) CrossFit(ctx context.Context, t *Task) ([]*CrossFitted, error) {
	return t.EachTarget(func(one *Task) (*CrossFitted, error) {
		data, fold := one.forTrees()
		if n := len(data.Columns); n > incontext.MostColumns {
			why := fmt.Sprintf("it takes at most %d columns, and there are %d", incontext.MostColumns, n)
			return &CrossFitted{Left: why}, nil
		}
		table := incontext.Table{Rows: data.Inputs, Labels: data.Labels}
		for _, c := range data.Columns {
			table.Levels = append(table.Levels, c.Levels)
		}
		c := newCrossFitted(one.Rows.Len())
		for k, held := range one.Folds {
			t.show(string(InContext), k+1)
			rest := one.Others(k)
			m, err := newContextual(fold, incontext.Table{Rows: table.Rows.SelectRows(rest), Levels: table.Levels,
				Labels: pick(table.Labels, rest)})
			if err != nil {
				return nil, err
			}
			means, stds, err := m.predict(ctx, table.Rows.SelectRows(held))
			if err != nil {
				return nil, err
			}
			c.put(held, means, stds)
		}
		whole, err := newContextual(fold, table)
		c.Predictor = whole
		if one.precision() != nil {
			//warning:in-context-noise
			c.Notes = append(c.Notes, "it counts noisy labels like exact ones")
		}
		return c, err
	})
}

// contextual predicts what the network says after it has read the labelled rows.
type contextual struct {
	fold  *folding
	model *incontext.Model
}

func newContextual(fold *folding, table incontext.Table) (*contextual, error) {
	m, err := incontext.New(table, contextViews)
	return &contextual{fold, m}, err
}

func (c *contextual) Predict(ctx context.Context, rows Rows, _ bool) (means, stds []float64, err error) {
	return c.predict(ctx, c.fold.rows(rows.Scaled))
}

// predict takes folded rows.
func (c *contextual) predict(ctx context.Context, rows matrix.Dense[float32]) (means, stds []float64, err error) {
	d, err := c.model.Predict(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	means, stds = d.Moments()
	return means, stds, nil
}

// fileContext is the labelled rows of a contextual model, and the weights that read them. A missing cell is null.
type fileContext struct {
	Weights string     `json:"weights"`
	Views   int        `json:"views"`
	Levels  []int      `json:"levels"`
	Rows    []*float32 `json:"rows"`
	Labels  []float64  `json:"labels"`
}

// MarshalBinary returns the piece of a file.
func (c *contextual) MarshalBinary() ([]byte, error) {
	t, views := c.model.Table()
	f := fileContext{Weights: incontext.Version(), Views: views, Levels: t.Levels, Labels: t.Labels}
	for _, v := range t.Rows.Data {
		cell := &v
		if v != v {
			cell = nil
		}
		f.Rows = append(f.Rows, cell)
	}
	return json.Marshal(f)
}

// restoreContextual returns what MarshalBinary has described, and nil where there is nothing.
func restoreContextual(pieces [][]byte, fold *folding) (*contextual, error) {
	if len(pieces) == 0 {
		return nil, nil
	}
	var f fileContext
	if err := json.Unmarshal(pieces[0], &f); err != nil {
		return nil, err
	}
	if f.Weights != incontext.Version() {
		return nil, errors.New("the in-context network of this program has other weights than the model's: fit it again")
	}
	if len(f.Levels) != len(fold.columns) || len(f.Rows) != len(f.Levels)*len(f.Labels) {
		return nil, fmt.Errorf("an in-context model has %d columns and %d cells for %d labels, the blend %d columns",
			len(f.Levels), len(f.Rows), len(f.Labels), len(fold.columns))
	}
	rows := matrix.New[float32](len(f.Labels), len(f.Levels))
	for i, v := range f.Rows {
		rows.Data[i] = float32(math.NaN())
		if v != nil {
			rows.Data[i] = *v
		}
	}
	m, err := incontext.New(incontext.Table{Rows: rows, Levels: f.Levels, Labels: f.Labels}, f.Views)
	return &contextual{fold, m}, err
}
