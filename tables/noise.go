package tables

import (
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
)

// checkLabelSD rejects columns of noise that are not one for each target, or are targets.
func (in Input) checkLabelSD() error {
	targets := in.TargetColumns
	if len(in.LabelSD) == 0 {
		return nil
	}
	if len(in.LabelSD) != len(targets) {
		return fmt.Errorf("%s for the noise of the labels, but %s: %s",
			words.Count(len(in.LabelSD), "column is named", "columns are named"),
			words.Count(len(targets), "target column", "target columns"), words.Some(words.Quoted(targets)))
	}
	for _, name := range in.LabelSD {
		if slices.Contains(targets, name) {
			return fmt.Errorf("column %q is named as a target and for the noise of the labels", name)
		}
	}
	return nil
}

// noise returns the variances of the noise of the labels, row by row, with one for each target; nil if no columns say
// them. The variance of the mean of replicates is the sum of theirs over the square of their number.
func (t Tables) noise(labelled *dataset.Table, r *Rows) (list []float64, err error) {
	if len(t.LabelSD) == 0 {
		return nil, nil
	}
	var labels, deviations []*dataset.Numeric
	for k, target := range t.TargetColumns {
		y, err := labelled.Numeric(target)
		if err != nil {
			return nil, err
		}
		sd, err := labelled.Numeric(t.LabelSD[k])
		if err != nil {
			return nil, err
		}
		if of, unit := y.Unit().Name, sd.Unit().Name; unit != "" && of != "" && unit != of {
			return nil, fmt.Errorf("column %q is in %s, the labels in column %q are in %s", t.LabelSD[k], unit, target, of)
		}
		labels, deviations = append(labels, y), append(deviations, sd)
	}
	for _, row := range r.TrainRows {
		group := r.merged[row]
		if group == nil {
			group = []int{row}
		}
		for k := range t.TargetColumns {
			sum, n := 0.0, 0.0
			for _, one := range group {
				if labels[k].Missing(one) {
					continue
				}
				sd := deviations[k].Float(one)
				if fault := encode.FaultOfSD(sd); fault != nil {
					return nil, &dataset.ColumnError{Column: t.LabelSD[k], Row: one, Problem: fault.Error()}
				}
				sum, n = sum+sd*sd, n+1
			}
			list = append(list, sum/max(n*n, 1))
		}
	}
	return list, nil
}
