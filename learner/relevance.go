package learner

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Relevance returns how much the predictions for these rows depend on each column of the user's table, by name: the
// root mean square of how far they move when the values of the column are shuffled among the rows, over the deviation
// of the predictions, summed over the targets. Columns that hold the same information share it. It is nil where there
// was no table.
func (m *Model) Relevance(ctx context.Context, x matrix.Dense[float32]) (map[string]float64, error) {
	if m.Columns() == nil {
		return nil, nil
	}
	features := map[string][]int{}
	for _, c := range columnsOf(m.Columns()) {
		features[c.Name] = append(features[c.Name], c.features()...)
	}
	order := rng.New(0, "relevance").Perm(x.Rows)
	list := map[string]float64{}
	for k := range m.Targets() {
		target := m.Target(k)
		before, err := target.Predict(ctx, x)
		if err != nil {
			return nil, err
		}
		for name, shuffled := range features {
			after, err := target.Predict(ctx, withShuffled(x, shuffled, order))
			if err != nil {
				return nil, err
			}
			list[name] += moved(before, after)
		}
	}
	return list, nil
}

// features are those of the column, with its mark.
func (c Column) features() (list []int) {
	for j := range c.Width {
		list = append(list, c.First+j)
	}
	if c.Mark > 0 {
		list = append(list, c.Mark)
	}
	return list
}

// withShuffled returns the rows with these features of other rows.
func withShuffled(x matrix.Dense[float32], features, order []int) matrix.Dense[float32] {
	rows := matrix.New[float32](x.Rows, x.Cols)
	for i := range x.Rows {
		copy(rows.Row(i), x.Row(i))
		for _, j := range features {
			rows.Set(i, j, x.At(order[i], j))
		}
	}
	return rows
}

// moved is how far predictions have moved, over their deviation; 0 if they are all equal.
func moved(before, after []float64) float64 {
	sum, mean := 0.0, 0.0
	for i, v := range before {
		sum += (after[i] - v) * (after[i] - v)
		mean += v / float64(len(before))
	}
	spread := 0.0
	for _, v := range before {
		spread += (v - mean) * (v - mean)
	}
	if !(spread > 0) {
		return 0
	}
	return math.Sqrt(sum / spread)
}
