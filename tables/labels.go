package tables

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// labels reads the target columns of a table, one column of the result for each. A label
// that is missing is NaN.
func (t Tables) labels(table *dataset.Table) (matrix.Dense[float64], error) {
	if err := t.CheckTargets(); err != nil {
		return matrix.Dense[float64]{}, err
	}
	labels := matrix.New[float64](table.Rows(), len(t.TargetColumns))
	for k, name := range t.TargetColumns {
		column, err := encode.Target{Columns: []string{name}}.Labels(table)
		if err != nil {
			return labels, err
		}
		for row, y := range column {
			if fault := t.Ranges.Of(k).Fault(y); fault != "" {
				return labels, &dataset.ColumnError{Column: name, Row: row, Problem: fault}
			}
			labels.Set(row, k, y)
		}
		if err := encode.CheckLabels(name, column); err != nil {
			return labels, err
		}
	}
	return labels, nil
}

// CheckTargets rejects a target that is named twice, and weights, ranges and columns of noise that do not fit.
func (in Input) CheckTargets() error {
	columns := in.TargetColumns
	seen := map[string]bool{}
	for _, name := range columns {
		if seen[name] {
			return fmt.Errorf("column %q is named twice as a target", name)
		}
		seen[name] = true
	}
	if err := errors.Join(in.Ranges.Check(len(columns)), in.checkLabelSD()); err != nil {
		return err
	}
	weights := in.Weights
	if weights == nil {
		return nil
	}
	if len(weights) != len(columns) {
		return fmt.Errorf("there are %d weights, but %d target columns: %s", len(weights), len(columns),
			words.Some(words.Quoted(columns)))
	}
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("the weight of target %q is %v, but must be positive and finite", columns[i], w)
		}
	}
	return nil
}

// present reports whether a label is not missing.
func present(label float64) bool { return !math.IsNaN(label) }

// TargetText names the target columns in messages.
func TargetText(columns []string) string {
	if len(columns) == 1 {
		return "column " + strconv.Quote(columns[0])
	}
	return "one of the columns " + words.Some(words.Quoted(columns))
}

// AnyLabel returns a function that reports whether a row of a table has a label in any of the
// target columns, and nil if the table has none of them.
func AnyLabel(t *dataset.Table, targets []string) func(row int) bool {
	var columns []dataset.Column
	for _, name := range targets {
		if c, err := t.Column(name); err == nil {
			columns = append(columns, c)
		}
	}
	if columns == nil {
		return nil
	}
	return func(row int) bool {
		return slices.ContainsFunc(columns, func(c dataset.Column) bool { return !c.Missing(row) })
	}
}

// CountLabelled counts the rows that have a label, up to a number. Rows with the same id are one.
func CountLabelled(t *dataset.Table, targets []string, id string, most int) int {
	labelled, ids, counted := AnyLabel(t, targets), IDs{t, id}, map[string]bool{}
	for row := 0; labelled != nil && row < t.Rows() && len(counted) < most; row++ {
		if labelled(row) {
			counted[ids.Name(row)] = true
		}
	}
	return len(counted)
}

// LabelsError reports labels of a target that a network can learn little or nothing from.
type LabelsError struct {
	Target   string // its column, if it is one of several
	Labels   int
	Constant bool    // they are all equal
	Value    float64 // of constant labels
	Two      bool    // there are only two values, as for two classes
	Other    float64 // the second of two values
}

func (e *LabelsError) Error() string {
	of := ""
	if e.Target != "" {
		of = fmt.Sprintf(" in column %q", e.Target)
	}
	if e.Constant {
		//warning:equal-labels
		return fmt.Sprintf("all %d labels%s are %v: a network learns nothing from them", e.Labels, of, e.Value)
	}
	if e.Two {
		//warning:two-values
		return fmt.Sprintf("the labels%s have only two values, %v and %v, and are treated as numbers: this is regression; "+
			"for classes, take the active learning of a classifier", of, e.Value, e.Other)
	}
	//warning:few-labels
	return fmt.Sprintf("only %s a label%s: a network learns little from so few, and its errors and intervals mean "+
		"little; label at least %d", words.Count(e.Labels, "row has", "rows have"), of, fewLabels)
}

// fewLabels is the number below which a fifth of the labels, which is held out, is a
// row or none.
const fewLabels = 10

// CheckLabels returns the targets whose labels are few, all equal, or of two values.
func (r *Rows) CheckLabels() (wrong []*LabelsError) {
	for k := range r.Targets {
		_, labels := r.Labelled(k)
		e := &LabelsError{Labels: len(labels), Constant: len(labels) > 1}
		if len(r.Targets) > 1 {
			e.Target = r.Targets[k]
		}
		values := map[float64]bool{}
		for _, y := range labels {
			if values[y] = true; len(values) > 2 {
				break
			}
		}
		several := slices.Sorted(maps.Keys(values))
		if len(several) > 0 {
			e.Value, e.Other = several[0], several[len(several)-1]
		}
		e.Constant, e.Two = e.Constant && len(several) == 1, e.Labels >= fewLabels && len(several) == 2
		if e.Constant || e.Two || e.Labels < fewLabels {
			wrong = append(wrong, e)
		}
	}
	return wrong
}

// Labelled returns the rows of Train that have a label of a target, counted from 0, and
// these labels.
func (r *Rows) Labelled(target int) (rows []int, labels []float64) {
	return encode.Labelled(r.Labels, target)
}

// ScaledLabels standardises the labels of each target.
func (r *Rows) ScaledLabels() (matrix.Dense[float64], error) {
	scaled, err := encode.StandardiseLabels(r.Labels)
	if of := (*encode.TargetError)(nil); errors.As(err, &of) {
		err = fmt.Errorf("column %q: %w", r.Targets[of.Target], of.Cause)
	}
	return scaled, err
}
