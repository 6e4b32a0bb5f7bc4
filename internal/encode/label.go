package encode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/median"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
)

// FewestToLearn is how many labels learning takes: one to train on, one for validation.
const FewestToLearn = 2

// Target names the target columns and how they become the label: the median of
// their values in each row, or its logarithm.
type Target struct {
	Columns []string
	Log     bool
}

// Labels returns the label of each row, NaN where a column's value is missing.
// An infinite value and the logarithm of a number that is not positive are errors; one error tells all of them.
func (g Target) Labels(t *dataset.Table) ([]float64, error) {
	columns, err := g.columns(t)
	if err != nil {
		return nil, err
	}
	labels := make([]float64, t.Rows())
	values := make([]float64, len(columns))
	wrong := (*dataset.ColumnError)(nil)
	var others []int
	for row := range labels {
		for i, c := range columns {
			values[i] = c.Float(row)
		}
		labels[row], err = g.label(values)
		switch {
		case err == nil:
		case wrong == nil:
			wrong = &dataset.ColumnError{Column: g.Columns[0], Row: row, Problem: err.Error()}
		default:
			others = append(others, row)
		}
	}
	if others != nil {
		wrong.Problem += fmt.Sprintf("; so %s: %s", words.Count(len(others), "is that of another row",
			"are those of other rows"), strings.Join(t.Places(others, ""), ", "))
	}
	if wrong != nil {
		return nil, wrong
	}
	return labels, nil
}

func (g Target) columns(t *dataset.Table) ([]*dataset.Numeric, error) {
	if len(g.Columns) == 0 {
		return nil, errors.New("no target column is named")
	}
	columns := make([]*dataset.Numeric, len(g.Columns))
	for i, name := range g.Columns {
		c, err := t.Numeric(name)
		if err != nil {
			return nil, err
		}
		columns[i] = c
	}
	return columns, nil
}

func (g Target) label(values []float64) (float64, error) {
	if slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN(), nil
	}
	y := median.Of(values)
	if math.IsInf(y, 0) || math.IsNaN(y) { // NaN: the mean of two opposite infinities
		return 0, errors.New("the label is infinite")
	}
	if !g.Log {
		return y, nil
	}
	if y <= 0 {
		return 0, fmt.Errorf("the label %v has no logarithm", y)
	}
	return math.Log(y), nil
}

// LabelScaler standardises labels to mean 0 and population deviation 1.
type LabelScaler struct {
	Mean, Deviation float64
}

// FitLabelScaler computes mean and deviation of the labels. If all labels are
// equal, Deviation is 1, so that they can be scaled back.
func FitLabelScaler[T matrix.Float](labels []T) (LabelScaler, error) {
	fit, err := FitScaler(matrix.View(len(labels), 1, labels), Population)
	if err != nil {
		return LabelScaler{}, fmt.Errorf("labels: %w", err)
	}
	s := LabelScaler{Mean: fit.Mean[0], Deviation: fit.Deviation[0]}
	if s.Deviation == 0 {
		s.Deviation = 1
	}
	return s, nil
}

// StandardiseLabels returns labels, a column for each target, with each column scaled by
// its own mean and deviation. A label that is missing is NaN and stays so. The error of
// labels that cannot be scaled is a *TargetError.
func StandardiseLabels(labels matrix.Dense[float64]) (matrix.Dense[float64], error) {
	scaled := matrix.New[float64](labels.Rows, labels.Cols)
	for target := range labels.Cols {
		_, own := Labelled(labels, target)
		s, err := FitLabelScaler(own)
		if err != nil {
			return scaled, &TargetError{target, err}
		}
		for i := range labels.Rows {
			scaled.Set(i, target, (labels.At(i, target)-s.Mean)/s.Deviation)
		}
	}
	return scaled, nil
}

// Labelled returns the rows that have a label of a target, counted from 0, and these
// labels. A label that is missing is NaN.
func Labelled(labels matrix.Dense[float64], target int) (rows []int, own []float64) {
	for i := range labels.Rows {
		if y := labels.At(i, target); !math.IsNaN(y) {
			rows, own = append(rows, i), append(own, y)
		}
	}
	return rows, own
}

// CountLabels returns how many labels each target has.
func CountLabels(labels matrix.Dense[float64]) []int {
	counts := make([]int, labels.Cols)
	for target := range counts {
		rows, _ := Labelled(labels, target)
		counts[target] = len(rows)
	}
	return counts
}

// ScaleLabels writes (y - mean)/deviation to dst, which may be src itself.
func ScaleLabels[T matrix.Float](dst, src []T, s LabelScaler) {
	mustMatchLabels("dataset.ScaleLabels", dst, src)
	for i, y := range src {
		dst[i] = T((float64(y) - s.Mean) / s.Deviation)
	}
}

// UnscaleLabels converts scaled labels back to their units; dst may be src itself.
func UnscaleLabels[T matrix.Float](dst, src []T, s LabelScaler) {
	mustMatchLabels("dataset.UnscaleLabels", dst, src)
	for i, y := range src {
		dst[i] = T(float64(y)*s.Deviation + s.Mean)
	}
}

func mustMatchLabels[T matrix.Float](op string, dst, src []T) {
	matrix.MustMatch(op, matrix.Shape{Rows: len(dst), Cols: 1}, matrix.Shape{Rows: len(src), Cols: 1})
}

// fewestForRange is how many labels tell what is ordinary.
const fewestForRange = 20

// OrdinaryLabels returns the lowest and the highest of the labels that lie no farther beyond the middle four fifths of
// them than reach times the range of these. Labels outside may be mistakes that would set the scale of all others.
// Limits are infinite where there are too few labels to tell, or the middle ones are all equal. A label that is missing
// is NaN.
func OrdinaryLabels(labels []float64, reach float64) (low, high float64) {
	sorted := slices.DeleteFunc(slices.Clone(labels), math.IsNaN)
	slices.Sort(sorted)
	n := len(sorted)
	if n < fewestForRange {
		return math.Inf(-1), math.Inf(1)
	}
	low, high = sorted[n/10], sorted[n-1-n/10]
	room := reach * (high - low)
	if !(room > 0) || math.IsInf(room, 1) {
		return math.Inf(-1), math.Inf(1)
	}
	first, _ := slices.BinarySearch(sorted, low-room)
	end, _ := slices.BinarySearch(sorted, math.Nextafter(high+room, math.Inf(1)))
	return sorted[first], sorted[end-1]
}
