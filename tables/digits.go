package tables

import (
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
)

// warnOfDigits warns of inputs and labels whose digits are lost because they lie far from zero
// (dataset.Coarse): before they came here, or because a network takes raw numbers in float32.
// Labels are those of the given table, which may be nil.
func (t Tables) warnOfDigits(labelled, all *dataset.Table, r *Rows) {
	warn := func(table *dataset.Table, name string, raw bool) {
		c, err := table.Numeric(name)
		if err != nil {
			return // reported where the numbers are needed
		}
		if lost, found := c.Coarse(raw, 0); found {
			r.Warnings = append(r.Warnings, coarseText(lost, raw))
		}
	}
	for _, name := range r.Encoder.Numeric {
		warn(all, name, r.Encoder.Centres == nil)
	}
	for _, name := range t.TargetColumns {
		if labelled != nil {
			warn(labelled, name, false)
		}
	}
}

func coarseText(c dataset.Coarse, raw bool) string {
	switch {
	case c.Single && raw:
		//warning:raw-digits
		return fmt.Sprintf("column %q loses digits: %v, which the network takes; train it on the column less an offset, "+
			"such as %.4g, or, if it is a network of this program, fit it again", c.Column, c, c.Around)
	case c.Single:
		//warning:lost-digits
		return fmt.Sprintf("column %q may have lost digits: %v, as which it was saved; save it as float64, or subtract an "+
			"offset before that, such as %.4g", c.Column, c, c.Around)
	}
	//warning:lost-digits
	return fmt.Sprintf("column %q may have lost digits: %v; subtract an offset before the column is saved, such as %.4g",
		c.Column, c, c.Around)
}
