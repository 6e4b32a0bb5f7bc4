package selection

// How far rounding may have moved the variances that MaxDet and BAIT compare.
//
// A variance that falls by differences keeps the absolute error that it had while
// it was large. Once that error may decide between rows, the variances are recomputed
// from all selected rows. A Cholesky factor in float64 squares the condition number of
// these rows, so its variances are compared with exact ones of a few rows
// (posterior.Covariance.Variance); if they are off, the factor is computed with twice as many
// digits (internal/double). The variance is then the squared norm of a short vector, not a
// difference of large numbers, and its error is a share of itself.

import (
	"math"
	"slices"
)

const (
	unitRoundoff = 1.0 / (1 << 53)
	// tolerance is the share of the best score by which rounding may move a score.
	tolerance = 2.5e-7
	// A sample of rows may miss the worst one, so the error is assumed to be this many
	// times the largest in the sample.
	sampleMargin  = 4
	comparedRows  = 4
	roundingsEach = 4 // rounding errors that a product of vectors counts as
)

// accuracy bounds the errors of variances. Errors of single steps are independent, so
// their squares add up.
type accuracy struct {
	start float64 // error of the variances when they were computed from scratch
	each  float64 // error of a step
	steps float64
}

func (a *accuracy) lost(best float64) bool {
	return !(a.start+a.each*math.Sqrt(a.steps) <= tolerance*best)
}

// step counts one more row. The error grows with the largest variance at that time
// divided by that of the row with the noise, a ratio of less than 1 for the best row.
func (a *accuracy) step(largest, gamma2 float64) { a.steps += max(1, largest/gamma2) }

// sampleOf returns a row and some open rows spread over the pool.
func sampleOf(first int, open []bool) []int {
	list := []int{first}
	for i := range comparedRows - 1 {
		from := (2*i + 1) * len(open) / (2*comparedRows - 2)
		if next := slices.Index(open[from:], true); next >= 0 {
			list = append(list, from+next)
		}
	}
	return list
}
