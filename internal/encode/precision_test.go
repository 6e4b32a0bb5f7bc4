package encode

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestRelativeNoise: it is the inverse of the precision, of several targets of their mean where a row has labels.
func TestRelativeNoise(t *testing.T) {
	nan := math.NaN()
	labels := matrix.View(3, 2, []float64{1, 5, 2, nan, 4, 3})
	noise := []float64{0, 1, 1, 0, 2, 1} // equal for the second target
	precision := Precision([]float64{1, 2, 4}, []float64{0, 1, 2})
	want := []float64{2 / (precision[0] + 1), 1 / precision[1], 2 / (precision[2] + 1)}
	if got := RelativeNoise(labels, noise); !slices.Equal(got, want) {
		t.Errorf("the noise is %v, want %v", got, want)
	}
	if got := RelativeNoise(labels, make([]float64, 6)); got != nil || RelativeNoise(labels, nil) != nil {
		t.Errorf("equal noise gives %v", got)
	}
}

// TestPrecision: noisy labels count less, a scale changes nothing, and equal variances give no weights.
func TestPrecision(t *testing.T) {
	labels, noise := []float64{1, 2, math.NaN(), 4, 3}, []float64{0, 1, 0, 4, 1}
	got := Precision(labels, noise)
	if sum := got[0] + got[1] + got[3] + got[4]; math.Abs(sum-4) > 1e-12 || got[2] != 0 {
		t.Errorf("the weights %v are not 1 on average", got)
	}
	if !(got[0] > got[1] && got[1] == got[4] && got[4] > got[3] && got[3] > 0) {
		t.Errorf("the weights are %v", got)
	}
	// The variance of the labels is 1.25, less than that of the noise, so that σ₀² is 0.0125.
	if want := (0.0125 + 4) / 0.0125; math.Abs(got[0]/got[3]-want) > 1e-9*want {
		t.Errorf("the first label counts %v times as much as the noisiest, want %v", got[0]/got[3], want)
	}
	for i := range labels {
		labels[i], noise[i] = 1000*labels[i]+7, 1e6*noise[i]
	}
	for i, w := range Precision(labels, noise) {
		if math.Abs(w-got[i]) > 1e-9 {
			t.Errorf("in another unit label %d counts %v, want %v", i, w, got[i])
		}
	}
	equal := slices.Repeat([]float64{0.3}, 5)
	for _, none := range [][]float64{Precision(labels, nil), Precision(labels, equal),
		Precision(make([]float64, 5), noise), Precision(labels[2:3], noise[2:3])} {
		if none != nil {
			t.Errorf("the weights are %v, want none", none)
		}
	}
}
