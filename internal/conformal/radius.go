package conformal

import (
	"fmt"
	"math"
	"slices"
)

// Split-conformal prediction (Vovk and others, 2005; Lei and others, 2018): of n
// absolute errors on rows that were held out, in ascending order, number
//
//	k = ⌈(n + 1)·coverage⌉
//
// is exceeded by the error on a new row with a probability of at most
// 1 - coverage, whatever the distribution, if new and held-out rows are drawn
// alike. If k > n, no observed error is large enough.

// CoverageError reports that too few rows were held out for the coverage.
type CoverageError struct {
	Coverage   float64
	Rows, Need int
}

func (e *CoverageError) Error() string {
	//warning:no-intervals
	return fmt.Sprintf("intervals with a coverage of %v need %d held-out rows; there are %d", e.Coverage, e.Need, e.Rows)
}

// RadiusOf returns half the length of intervals that contain the label of a new row with
// the given probability, from the errors that predictions made on rows like it, which the
// model had not learnt from. With too few errors the error is a *CoverageError.
func RadiusOf(errors []float64, coverage float64) (float64, error) {
	sizes := make([]float64, len(errors))
	for i, e := range errors {
		sizes[i] = math.Abs(e)
	}
	slices.Sort(sizes)
	return Radius(sizes, coverage)
}

// Radius returns half the length of an interval with the given coverage. The
// errors are sorted.
func Radius(errors []float64, coverage float64) (float64, error) {
	if !(coverage > 0 && coverage < 1) {
		return 0, fmt.Errorf("the coverage is %v, but must be between 0 and 1", coverage)
	}
	n := len(errors)
	k := rank(n, coverage)
	if k > n {
		return 0, &CoverageError{Coverage: coverage, Rows: n, Need: rowsFor(coverage)}
	}
	return errors[k-1], nil
}

// WeightedRadius is Radius where error i stands for weights[i] rows like those to come, one on average (Tibshirani,
// Foygel Barber, Candès and Ramdas 2019). A quantile is then the first error up to which the weights sum to the
// coverage of all, with a weight of 1 for the new row. Since a few rows with large weights decide it, the radius is the
// geometric mean of four quantiles, at a coverage of 0.9 those with 7, 10, 13 and 16 % of misses. Rows that a method
// picked are harder than those to come whatever their weights, so that the mean does not cover too few
// (docs/intervals.md). Nil weights are all 1, and Radius serves.
func WeightedRadius(errors, weights []float64, coverage float64) (float64, error) {
	r, err := Radius(errors, coverage)
	if weights == nil || err != nil {
		return r, err
	}
	const quantiles = 4
	log, step := 0.0, 0.3*min(1-coverage, 1-DefaultCoverage)
	for i := range quantiles {
		log += math.Log(weightedQuantile(errors, weights, coverage-float64(i-1)*step)) / quantiles
	}
	return math.Exp(log), nil
}

// weightedQuantile returns the first error up to which the weights sum to a share of all.
func weightedQuantile(errors, weights []float64, share float64) float64 {
	sum := 1.0
	for _, w := range weights {
		sum += w
	}
	need := share * sum * (1 - 1e-9)
	for i, w := range weights {
		if need -= w; need <= 0 {
			return errors[i]
		}
	}
	return errors[len(errors)-1]
}

// rank returns ⌈(n + 1)·coverage⌉. The product is rounded: 10·0.9 is 9, although
// the nearest float64 to 0.9 is a little larger.
func rank(n int, coverage float64) int {
	exact := float64(n+1) * coverage
	if nearest := math.Round(exact); math.Abs(exact-nearest) < 1e-9*nearest {
		return int(nearest)
	}
	return int(math.Ceil(exact))
}

// rowsFor returns the least n with rank(n, coverage) ≤ n: coverage/(1 - coverage),
// rounded up.
func rowsFor(coverage float64) int {
	n := max(1, int(coverage/(1-coverage))-1)
	for rank(n, coverage) > n {
		n++
	}
	return n
}
