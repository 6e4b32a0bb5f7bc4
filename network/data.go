package network

import (
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Data is what a network is trained on: inputs, scaled as the network will see
// them, and labels, one row for each row of the inputs and one column for each
// output. With several outputs, NaN is a label that is missing: the row is used for
// the outputs whose labels it has. Validation rows are optional. Training
// only reads it.
type Data struct {
	X, Y           matrix.Dense[Real]
	ValidX, ValidY matrix.Dense[Real]
	// Weights are how much each label counts, 1 on average; empty means that all count alike. Validation labels do.
	Weights matrix.Dense[Real]
}

// check reports everything that is wrong with the data for a network with the given number of outputs.
func (d Data) check(team *linalg.Team, outputs int) error {
	var found complaints
	found.unless(d.X.Rows > 0, "there are no rows to train on")
	found.unless(d.ValidX.Rows == 0 || d.ValidX.Cols == d.X.Cols,
		"validation inputs have %d columns, training inputs %d", d.ValidX.Cols, d.X.Cols)
	found.unless(d.Weights.Rows == 0 || d.Weights.Shape() == d.Y.Shape(), "weights have the shape %v, training labels %v",
		d.Weights.Shape(), d.Y.Shape())
	return errors.Join(errors.Join(found...),
		checkPart(team, "training", d.X, d.Y, outputs), checkPart(team, "validation", d.ValidX, d.ValidY, outputs))
}

func checkPart(team *linalg.Team, part string, x, y matrix.Dense[Real], outputs int) error {
	if x.Rows != y.Rows {
		return fmt.Errorf("there are %d %s inputs and %d labels", x.Rows, part, y.Rows)
	}
	if x.Rows == 0 {
		return nil
	}
	var found complaints
	found.unless(y.Cols == outputs, "%s labels have %d columns, the network has %d outputs", part, y.Cols, outputs)
	if at := unusable(team, x); at != nil {
		found = append(found, fmt.Errorf("%s inputs: %w", part, at))
	}
	check := unusable
	if outputs > 1 {
		check = unusableLabels
	}
	if at := check(team, y); at != nil {
		found = append(found, fmt.Errorf("%s labels: %w", part, at))
	}
	return errors.Join(found...)
}

// unusableLabels reports labels of several outputs: one that is infinite, or a row
// that has none.
func unusableLabels[T matrix.Float](_ *linalg.Team, y matrix.Dense[T]) error {
	for i := range y.Rows {
		missing := 0
		for j, v := range y.Row(i) {
			if math.IsInf(float64(v), 0) {
				return &ValueError{Row: i, Column: j, Value: float64(v)}
			}
			if v != v {
				missing++
			}
		}
		if missing == y.Cols {
			return fmt.Errorf("row %d (from 0) has none", i)
		}
	}
	return nil
}

// ValueError names a number of a matrix that is NaN or infinite.
type ValueError struct {
	Row, Column int // from 0
	Value       float64
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("row %d, column %d (from 0) is %v", e.Row, e.Column, e.Value)
}

// unusable returns a ValueError for the first number that is not finite.
func unusable(team *linalg.Team, m matrix.Dense[Real]) error {
	if i, j, found := linalg.FirstNotFinite(team, m); found {
		return &ValueError{Row: i, Column: j, Value: float64(m.At(i, j))}
	}
	return nil
}
