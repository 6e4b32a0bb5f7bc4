package trees

import (
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// Input describes one column of the inputs. The zero value is a numeric column.
type Input struct {
	// Levels is the number of levels of a categorical column, whose values are the
	// codes 0 to Levels-1; 0 means that the column is numeric.
	Levels int
}

// Data is a table with labels to learn from.
type Data struct {
	Inputs  matrix.Dense[float32] // NaN means that a value is missing
	Columns []Input               // one for each column of Inputs; nil means that all are numeric
	Labels  []float64
	// Weights are how much each row counts relative to the others; nil means that all
	// count equally. A row with weight 0 is ignored.
	Weights []float64
}

// Subset returns the given rows, as a copy.
func (d Data) Subset(rows []int) Data {
	s := Data{Inputs: d.Inputs.SelectRows(rows), Columns: d.Columns, Labels: pick(d.Labels, rows)}
	if d.Weights != nil {
		s.Weights = pick(d.Weights, rows)
	}
	return s
}

func pick[T any](all []T, rows []int) []T {
	some := make([]T, len(rows))
	for i, r := range rows {
		some[i] = all[r]
	}
	return some
}

// maxLevels and maxColumns keep codes and numbers of columns exact in float32 and int32.
const (
	maxLevels  = 1 << 24
	maxColumns = 1 << 24
	maxRows    = 1 << 30
)

// check reports everything that is wrong with the table, one error per part of it.
func (d Data) check() error {
	if d.Inputs.Rows == 0 || d.Inputs.Cols == 0 {
		return fmt.Errorf("trees: the inputs have the shape %v; at least one row and one column are needed", d.Inputs.Shape())
	}
	if d.Inputs.Rows > maxRows || d.Inputs.Cols > maxColumns {
		return fmt.Errorf("trees: the inputs have the shape %v; at most %d rows and %d columns are supported",
			d.Inputs.Shape(), maxRows, maxColumns)
	}
	return errors.Join(d.checkInputs(), d.checkLabels(), d.checkWeights())
}

func (d Data) checkInputs() error {
	if d.Columns != nil && len(d.Columns) != d.Inputs.Cols {
		return fmt.Errorf("trees: %d columns are described, but the inputs have %d", len(d.Columns), d.Inputs.Cols)
	}
	for j, c := range d.Columns {
		if c.Levels < 0 || c.Levels > maxLevels {
			return fmt.Errorf("trees: column %d has %d levels, but the number must be from 0 to %d", j, c.Levels, maxLevels)
		}
	}
	for i := range d.Inputs.Rows {
		for j, v := range d.Inputs.Row(i) {
			if err := d.checkInput(i, j, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d Data) checkInput(i, j int, v float32) error {
	if math.IsInf(float64(v), 0) {
		return fmt.Errorf("trees: the input in row %d, column %d is infinite", i, j)
	}
	if d.Columns == nil || d.Columns[j].Levels == 0 || v != v {
		return nil
	}
	if code := int(v); v < 0 || float32(code) != v || code >= d.Columns[j].Levels {
		return fmt.Errorf("trees: the input in row %d, column %d is %v, which is not a code of one of its %d levels", i, j,
			v, d.Columns[j].Levels)
	}
	return nil
}

func (d Data) checkLabels() error {
	if len(d.Labels) != d.Inputs.Rows {
		return fmt.Errorf("trees: there are %d labels for %d rows", len(d.Labels), d.Inputs.Rows)
	}
	for i, y := range d.Labels {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("trees: the label of row %d is %v, but it must be finite", i, y)
		}
	}
	return nil
}

func (d Data) checkWeights() error {
	if d.Weights == nil {
		return nil
	}
	if len(d.Weights) != d.Inputs.Rows {
		return fmt.Errorf("trees: there are %d weights for %d rows", len(d.Weights), d.Inputs.Rows)
	}
	sum := 0.0
	for i, w := range d.Weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("trees: the weight of row %d is %v, but it must be finite and not negative", i, w)
		}
		sum += w
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return fmt.Errorf("trees: the weights sum to %v, but the sum must be positive and finite", sum)
	}
	return nil
}
