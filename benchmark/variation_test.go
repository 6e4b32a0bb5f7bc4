package benchmark

import (
	"math"
	"testing"
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
