package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// suggestRanges adds a note about labels that look as if they had limits, if no range is declared: none of at least
// fewLabels labels is negative, and perhaps none is above 1 or 100. With a model that was fitted before, it is too late.
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
		r.Notes = append(r.Notes, fmt.Sprintf("%s: if none can be, declare it (%s), and predictions and "+
			"intervals stay inside", strings.Join(some, ", "), declared))
	}
}
