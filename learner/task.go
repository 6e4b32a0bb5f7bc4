package learner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Rows are rows of features in two forms: as a encode.Encoder returns them, and as a encode.Scaler
// scales these, which is how kernels see them. A learner reads the one that suits it; to make its predictions a
// kernel, it must do without the raw ones.
type Rows struct{ Raw, Scaled matrix.Dense[float32] }

// Len returns the number of rows.
func (r Rows) Len() int { return r.Scaled.Rows }

// Select returns a copy of some of the rows.
func (r Rows) Select(rows []int) Rows {
	return Rows{r.Raw.SelectRows(rows), r.Scaled.SelectRows(rows)}
}

// scaledBy returns rows in both forms.
func scaledBy(s encode.Scaler, raw matrix.Dense[float32]) Rows {
	scaled := matrix.New[float32](raw.Rows, raw.Cols)
	encode.Scale(scaled, raw, s)
	return Rows{raw, scaled}
}

// Task is labelled rows, and what else is known when models are fitted to them.
type Task struct {
	Rows   Rows
	Labels matrix.Dense[float64] // a column for each target; NaN is a missing label
	// Columns say which features belong together; nil means that each is a number.
	Columns []Column
	Scaling encode.Scaler // of the rows; it was learnt from unlabelled rows, too
	Seed    uint64
	Ranges  dataset.Ranges // of the labels, as declared
	Sides   []int8         // as those of a network.Sample
	Noise   []float64      // likewise
	// Stand is how many rows of the pool each row stands for, 1 on average; nil means that all stand for one.
	Stand []float64
	// Random says which rows were drawn from the pool at random; nil means that this is unknown.
	Random []bool

	// Folds are rows that are held out together. Every row is in one of them.
	Folds [][]int

	shown   func(learner string, fold, folds int)
	crossed [][]*CrossFitted // of earlier candidates, of each target
}

// Targets returns the number of targets.
func (t *Task) Targets() int { return t.Labels.Cols }

// Others returns the rows that are not in a fold, in ascending order.
func (t *Task) Others(fold int) []int {
	rows := make([]int, 0, t.Rows.Len())
	held := t.Folds[fold]
	for row := range t.Rows.Len() {
		if len(held) > 0 && held[0] == row {
			held = held[1:]
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// One returns the task of one target, with the rows that have a label of it, and their numbers
// in this task.
func (t *Task) One(target int) (*Task, []int) {
	known, labels := encode.Labelled(t.Labels, target)
	one := *t
	one.Labels = matrix.View(len(labels), 1, labels)
	one.Ranges = dataset.Ranges{t.Ranges.Of(target)}
	if t.crossed != nil {
		one.crossed = t.crossed[target : target+1]
	}
	if all := t.sides(target); all != nil {
		one.Sides = pick(all, known)
	}
	if all := t.noiseOf(target); all != nil {
		one.Noise = pick(all, known)
	}
	if len(known) == t.Rows.Len() {
		return &one, known
	}
	one.Rows = t.Rows.Select(known)
	if t.Stand != nil {
		one.Stand = pick(t.Stand, known)
	}
	one.Random = nil // read for all targets together
	at := make(map[int]int, len(known))
	for i, row := range known {
		at[row] = i
	}
	one.Folds = make([][]int, len(t.Folds))
	for k, fold := range t.Folds {
		for _, row := range fold {
			if i, ok := at[row]; ok {
				one.Folds[k] = append(one.Folds[k], i)
			}
		}
	}
	return &one, known
}

// sides returns those of the labels of a target, by row; nil if all labels are the true ones.
func (t *Task) sides(target int) []int8 {
	if t.Sides == nil {
		return nil
	}
	list := make([]int8, t.Rows.Len())
	for row := range list {
		list[row] = t.Sides[row*t.Targets()+target]
	}
	return list
}

// EachTarget cross-fits one target after the other, for learners that take one.
func (t *Task) EachTarget(fit func(one *Task) (*CrossFitted, error)) ([]*CrossFitted, error) {
	list := make([]*CrossFitted, t.Targets())
	for k := range list {
		one, known := t.One(k)
		c, err := fit(one)
		if err != nil {
			return nil, err
		}
		c.Means, c.Deviations = spread(c.Means, known, t.Rows.Len()), spread(c.Deviations, known, t.Rows.Len())
		list[k] = c
	}
	return list, nil
}

// spread puts the numbers of some rows where they are among all, and NaN elsewhere.
func spread(some []float64, rows []int, all int) []float64 {
	if some == nil || len(some) == all {
		return some
	}
	list := make([]float64, all)
	for i := range list {
		list[i] = math.NaN()
	}
	for i, row := range rows {
		list[row] = some[i]
	}
	return list
}

// FewestLabels is how many labels of a target cross-fitting needs.
const FewestLabels = 5

func (t *Task) check(names []string) error {
	if t.Rows.Raw.Cols == 0 {
		return errors.New("the rows have no columns to learn from")
	}
	for k := range t.Targets() {
		if known, _ := encode.Labelled(t.Labels, k); len(known) < FewestLabels {
			what := "rows have a label"
			if names != nil && t.Targets() > 1 {
				what = fmt.Sprintf("rows have a label of %q", names[k])
			}
			return fmt.Errorf("%d %s; cross-fitting needs %d", len(known), what, FewestLabels)
		}
	}
	return nil
}

// DefaultFolds is how many folds there are. A learner whose models take long holds out only some of them.
const DefaultFolds = 5

// cutFolds returns n random folds, each with its share of the labels of every target.
func cutFolds(labels matrix.Dense[float64], n int, seed uint64) [][]int {
	folds := make([][]int, min(n, labels.Rows))
	total := encode.CountLabels(labels)
	counts := matrix.New[float64](len(folds), labels.Cols) // labels of each target in each fold
	for _, row := range rng.New(seed, "learner folds").Perm(labels.Rows) {
		rarest := -1 // target that the row has a label of
		for k, n := range total {
			if !math.IsNaN(labels.At(row, k)) && (rarest < 0 || n < total[rarest]) {
				rarest = k
			}
		}
		best := 0
		for i := range folds {
			fewer := rarest >= 0 && counts.At(i, rarest) < counts.At(best, rarest)
			same := rarest < 0 || counts.At(i, rarest) == counts.At(best, rarest)
			if fewer || same && len(folds[i]) < len(folds[best]) {
				best = i
			}
		}
		folds[best] = append(folds[best], row)
		for k := range total {
			if !math.IsNaN(labels.At(row, k)) {
				counts.Set(best, k, counts.At(best, k)+1)
			}
		}
	}
	for _, f := range folds {
		slices.Sort(f)
	}
	return folds
}

// pick returns some of the values.
func pick[T any](all []T, rows []int) []T {
	some := make([]T, len(rows))
	for i, row := range rows {
		some[i] = all[row]
	}
	return some
}
