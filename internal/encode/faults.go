package encode

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/dataset"
)

// The least spreads of numbers that are not all equal: inputs are rounded to float32, which has few digits below 1e-38,
// and labels are squared, which leaves float64 few below 1e-154.
const (
	leastInputSpread = 1e-34
	leastLabelSpread = 1e-140
)

// CheckInput reports a column whose numbers differ, but by too little to compute with.
func CheckInput(c *dataset.Numeric) error {
	return checkSpread(c.Name(), c.Len(), c.Float, leastInputSpread)
}

// largestLabel is the largest absolute value that a label may have: the sum of the squares of as many labels as there
// can be is still a finite number, so they can be standardised.
const largestLabel = 1e149

// FaultOfLabel says what is wrong with a label that is there; it is empty if nothing is.
func FaultOfLabel(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "a label must be finite"
	case math.Abs(v) > largestLabel:
		return fmt.Sprintf("the label %v is too large: no label may exceed %v; correct it, or change the unit", v,
			largestLabel)
	}
	return ""
}

// CheckLabels reports labels of a column, NaN where there is none, that are too large, or differ by too little.
func CheckLabels(column string, labels []float64) error {
	for row, v := range labels {
		if fault := FaultOfLabel(v); fault != "" {
			return &dataset.ColumnError{Column: column, Row: row, Problem: fault}
		}
	}
	return checkSpread(column, len(labels), func(i int) float64 { return labels[i] }, leastLabelSpread)
}

func checkSpread(column string, n int, at func(i int) float64, least float64) error {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range n {
		if v := at(i); !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
		if high-low >= least {
			return nil
		}
	}
	if !(high > low) {
		return nil
	}
	return &dataset.ColumnError{Column: column, Row: -1,
		Problem: fmt.Sprintf(
			"has values that differ by %.2g at most, too little to compute with; multiply them by a power of ten", high-low)}
}
