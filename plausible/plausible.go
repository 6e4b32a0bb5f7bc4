// Package plausible gives labels a second look when they arrive: it finds those that lie far outside what
// was expected, and names the slip that may have made them.
package plausible

// A label y of a row is compared with the prediction ŷ that was made before it came, by the width of its interval,
//
//	d = |y − ŷ| / (high − low),
//
// and with the labels so far, by their quartiles. It is doubtful if d is large and y is also far outside of the labels
// that are known, or if undoing a slip (a factor of ten, a sign, two digits) brings it back into the interval.
// Without a prediction, the labels alone decide.

import (
	"math"
	"slices"
)

// Expected is what was predicted for a label before it came.
type Expected struct{ Value, Low, High float64 }

// Doubt is why a label waits for a second look. The range is where a right label was expected.
type Doubt struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Prediction is nil where none was made before the label came.
	Prediction *float64 `json:"prediction,omitempty"`
	// Slip is what may have happened, as a question such as "one digit too many?"; empty where nothing fits.
	Slip string `json:"slip,omitempty"`
}

// Labels is a summary of the labels of one target so far.
type Labels struct {
	count     int
	low, high float64 // quartiles
}

// Fewest is how many labels a look needs.
const Fewest = 20

// Learn summarises labels. Those that are NaN are left out.
func Learn(values []float64) *Labels {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	l := &Labels{count: len(sorted)}
	if l.count == 0 {
		return l
	}
	at := func(share float64) float64 { return sorted[int(share*float64(l.count-1)+0.5)] }
	l.low, l.high = at(0.25), at(0.75)
	return l
}

// Examine returns why a label should get a second look, or nil. What was expected is nil where nothing was predicted.
func (l *Labels) Examine(value float64, expected *Expected) *Doubt {
	if l.count < Fewest || math.IsNaN(value) {
		return nil
	}
	spread := l.high - l.low
	if spread == 0 {
		return nil
	}
	doubt := &Doubt{Low: l.low - 3*spread, High: l.high + 3*spread}
	if expected != nil {
		width := expected.High - expected.Low
		doubt.Low, doubt.High, doubt.Prediction = expected.Low-2*width, expected.High+2*width, &expected.Value
	}
	if value >= doubt.Low && value <= doubt.High {
		return nil
	}
	return doubt
}
