package learner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Task is the labelled rows of one target, and what else is known when a model is fitted to
// them.
type Task struct {
	X      matrix.Dense[float32] // labelled rows, as a dataset.Encoder encodes them
	Labels []float64
	// Unlabelled are rows without a label, such as candidates: inputs are scaled by them, too.
	Unlabelled matrix.Dense[float32]
	// Columns say which columns of X belong together; nil means that each is a number.
	Columns []Column
	Seed    uint64

	folds [][]int // rows that are held out together; every row is in one fold
}

// Column is a column of the user's table among those of encoded rows.
type Column struct {
	First, Width int  // its columns of X
	Category     bool // these are the levels of a category, one-hot; a single one is 1 for the second of two levels
	Mark         int  // the column of X that is 1 where the value is missing; 0 or less means none (Width is then not 0)
}

// fewestRows is how many labels cross-fitting needs.
const fewestRows = 4

func (t *Task) check() error {
	var found []error
	if t.X.Rows != len(t.Labels) {
		found = append(found, fmt.Errorf("there are %d rows and %d labels", t.X.Rows, len(t.Labels)))
	}
	if t.X.Rows < fewestRows {
		found = append(found, fmt.Errorf("%d rows have a label; cross-fitting needs %d", t.X.Rows, fewestRows))
	}
	if t.X.Cols == 0 {
		found = append(found, errors.New("the rows have no columns to learn from"))
	}
	if t.Unlabelled.Rows > 0 && t.Unlabelled.Cols != t.X.Cols {
		found = append(found, fmt.Errorf("unlabelled rows have %d columns, the others %d", t.Unlabelled.Cols, t.X.Cols))
	}
	for i, y := range t.Labels {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			found = append(found, fmt.Errorf("the label of row %d is %v, but must be finite", i, y))
			break
		}
	}
	for _, c := range t.Columns {
		if c.First < 0 || c.Width < 1 || c.First+c.Width > t.X.Cols || c.Mark >= t.X.Cols {
			found = append(found, fmt.Errorf("a column has %d features from %d on, but rows have %d", c.Width, c.First, t.X.Cols))
			break
		}
	}
	return errors.Join(found...)
}

// mostFolds is how many folds there are where labels are few. With many labels fewer folds
// lose little, and each takes long.
const mostFolds = 5

// cutFolds returns random folds.
func cutFolds(rows int, seed uint64) [][]int {
	folds := make([][]int, min(mostFolds, rows))
	for i, row := range rng.New(seed, "learner folds").Perm(rows) {
		folds[i%len(folds)] = append(folds[i%len(folds)], row)
	}
	for _, f := range folds {
		slices.Sort(f)
	}
	return folds
}

// others returns the rows that are not in a fold, in ascending order.
func (t *Task) others(fold int) []int {
	rows := make([]int, 0, t.X.Rows)
	held := t.folds[fold]
	for row := range t.X.Rows {
		if len(held) > 0 && held[0] == row {
			held = held[1:]
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// pick returns some of the numbers.
func pick(all []float64, rows []int) []float64 {
	some := make([]float64, len(rows))
	for i, row := range rows {
		some[i] = all[row]
	}
	return some
}
