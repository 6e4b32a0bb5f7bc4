package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// sides returns on which side of the labels the true ones lie, row by row, with one for each target; nil if all are the
// true ones. The mean of replicates is a limit if one of them is, and none of the others is one on the other side.
func (t Tables) sides(labelled *dataset.Table, r *Rows) (list []int8) {
	some := false
	for _, row := range r.TrainRows {
		group := r.merged[row]
		if group == nil {
			group = []int{row}
		}
		for _, target := range t.TargetColumns {
			below, above := int8(0), int8(0)
			for _, one := range group {
				side := labelled.Side(target, one)
				below, above = min(below, side), max(above, side)
			}
			side := below + above // 0 for limits on both sides
			list, some = append(list, side), some || side != 0
		}
	}
	if !some {
		return nil
	}
	return list
}

// suggestRanges adds a note about labels that look as if they had limits, if no range is declared: none of at least
// fewLabels labels is negative, and perhaps none is above 1 or 100. With a model that was fitted before, it is too
// late.
func (t Tables) suggestRanges(r *Rows) {
	if t.Ranges != nil || t.Encoder != nil {
		return
	}
	ranges, some := make(dataset.Ranges, len(r.Targets)), []string(nil)
	for k, target := range r.Targets {
		ranges[k] = dataset.Ranges(nil).Of(k)
		_, labels := r.Labelled(k)
		if len(labels) < fewLabels || slices.Min(labels) < 0 {
			continue
		}
		ranges[k].Low = 0
		//warning:undeclared-range
		text := fmt.Sprintf("no label of %q is negative", target)
		for _, most := range []float64{1, 100} {
			if slices.Max(labels) <= most {
				ranges[k].High = most
				text += fmt.Sprintf(" or above %v", most)
				break
			}
		}
		some = append(some, text)
	}
	if some != nil {
		declared := t.Named("Ranges", ranges.String())
		//warning:undeclared-range
		r.Notes = append(r.Notes, fmt.Sprintf("%s: if none can be, declare it (%s), and predictions and "+
			"intervals stay inside", strings.Join(some, ", "), declared))
	}
}
