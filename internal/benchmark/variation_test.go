package benchmark

import (
	"maps"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/nextbatch/nextbatch/spec"
)

// TestImprovementLine: the constants of the line follow from the paper's tables and
// the measured numbers.
func TestImprovementLine(t *testing.T) {
	t.Parallel()
	slope, intercept := improvementLine()
	if math.Abs(slope-lineSlope) > 5e-4 || math.Abs(intercept-lineIntercept) > 5e-4 {
		t.Errorf("slope %.4f, intercept %.4f; the constants are %v and %v", slope, intercept, lineSlope, lineIntercept)
	}
	improvements := paperImprovements()
	if len(improvements) != 15 {
		t.Fatalf("%d data sets", len(improvements))
	}
	if !(improvements["ct_slices"] > 0.5 && improvements["fried"] < 0.1 && improvements["road"] < 0) {
		t.Errorf("%v", improvements)
	}
}

func TestPowerLaw(t *testing.T) {
	t.Parallel()
	for _, b := range []float64{0.05, 0.3, 0.9} {
		mean := 0.0
		for n := 2; n <= paperSteps+1; n++ {
			mean += math.Pow(float64(n)/(paperSteps+1), -b) / paperSteps
		}
		if got := powerLaw(mean); math.Abs(got-b) > 1e-9 {
			t.Errorf("%v, want %v", got, b)
		}
	}
}

// The paper prints the figure, but not its numbers. measured holds what its
// tables lack, for the data sets that were available: over ten of the published
// splits with 256 labels, the mean RMSE of the paper's network on the test rows
// and its variation, mean log RMSE − mean log MAE; and the mean variation on one
// split with 1024, 2304 and 4352 random rows.
var measured = map[string]struct{ start, variation, later float64 }{
	"diamonds": {0.2293, 0.6212, 0.6326},
	"fried":    {0.3470, 0.2567, 0.2264},
	"poker":    {1.0062, 0.2339, 0.4160}, // generated hands, labelled by the rule of the data set
	"protein":  {0.8517, 0.2158, 0.2833},
	"sgemm":    {0.4271, 0.2755, 0.2827},
}

// improvementLine fits the line to the paper's tables by least squares: one point
// per measured set, and one for the mean of the others, weighted by their number.
// The paper prints the mean variation over all sets and steps; subtracting the
// measured sets gives that of the others, which is then shifted to the start by
// as much as for the measured sets.
func improvementLine() (slope, intercept float64) {
	var x, y, weight []float64
	improvements := paperImprovements()
	others, left, later, shift := 0.0, 0.0, 0.0, 0.0
	for _, set := range slices.Sorted(maps.Keys(improvements)) {
		m, known := measured[set]
		if !known {
			others += improvements[set]
			left++
			continue
		}
		x, y, weight = append(x, m.variation), append(y, improvements[set]), append(weight, 1)
		later += m.later
		shift += (m.variation - m.later) / float64(len(measured))
	}
	x = append(x, (float64(len(improvements))*paperVariation()-later)/left+shift)
	y, weight = append(y, others/left), append(weight, left)
	intercept, slope = stat.LinearRegression(x, y, weight, false)
	return slope, intercept
}

// paperVariation is mean log RMSE − mean log MAE of random selection over all data
// sets and steps.
func paperVariation() float64 {
	methods := PaperMethods()
	random := methods[slices.IndexFunc(methods, func(m PaperMethod) bool {
		return m.Spec == randomSpec &&
			m.Activation == "relu"
	})]
	return random.Log[RMSE] - random.Log[MAE]
}

// paperImprovements returns the improvement in sample efficiency on each data
// set, with logarithms of the mean RMSEs that the paper prints. An unmeasured
// start comes from the power law in the number of labels that matches the mean and
// the last RMSE of random selection.
func paperImprovements() map[string]float64 {
	random, lcmd := map[string]PaperRMSE{}, map[string]PaperRMSE{}
	for _, r := range PaperRMSEs() {
		switch r.Spec {
		case randomSpec:
			random[r.DataSet] = r
		case spec.Default:
			lcmd[r.DataSet] = r
		}
	}
	improvements := map[string]float64{}
	for set, r := range random {
		start := measured[set].start
		if start == 0 {
			start = r.Last * math.Pow(paperSteps+1, powerLaw(r.Mean/r.Last))
		}
		improvements[set] = math.Log(lcmd[set].Mean/r.Mean) / math.Log(r.Mean/start)
	}
	return improvements
}

// paperSteps is the number of batches of 256 rows, from 256 labels on.
const paperSteps = 16

// powerLaw finds by bisection the b for which (n/17)^−b has the given mean over
// n = 2 … 17, namely mean RMSE / last RMSE.
func powerLaw(ratio float64) float64 {
	low, high := 0.0, 4.0
	for range 60 {
		b, mean := (low+high)/2, 0.0
		for n := 2; n <= paperSteps+1; n++ {
			mean += math.Pow(float64(n)/(paperSteps+1), -b) / paperSteps
		}
		if mean < ratio {
			low = b
		} else {
			high = b
		}
	}
	return low
}
