package campaign

import (
	"fmt"
	"math"
)

// farthest limits a forecast to this multiple of the present labels. No curve can be
// trusted beyond it, so more labels count as infinitely many.
const farthest = 100

// Forecast is how many labels a wanted error takes.
type Forecast struct {
	Metric Metric    `json:"metric" enum:"rmse,mae,q95"`
	Wanted float64   `json:"wanted"` // in the units of the label
	Labels Interval  `json:"labels"` // in total; infinite where the error may be out of reach
	More   Interval  `json:"more"`   // than there are; 0 where the error is reached
	Cost   *Interval `json:"cost"`   // of More; nil where costs are not known
}

// forecast returns how many labels, and at what cost, the model needs for an error.
// A cost per label of 0 means that it is not known.
func (c *Curve) forecast(m Metric, wanted, costPerLabel float64) Forecast {
	f := Forecast{Metric: m, Wanted: wanted, Labels: c.labelsFor(m, wanted)}
	more := func(v float64) float64 { return max(0, v-float64(c.Labels)) }
	f.More = Interval{more(f.Labels.Value), more(f.Labels.Low), more(f.Labels.High)}
	if costPerLabel > 0 {
		f.Cost = &Interval{f.More.Value * costPerLabel, f.More.Low * costPerLabel, f.More.High * costPerLabel}
	}
	return f
}

// String describes the forecast.
func (f Forecast) String() string {
	number := func(v float64) string {
		digits := math.Pow(10, max(0, math.Floor(math.Log10(max(v, 1)))-2)) // three count
		return fmt.Sprintf("%.0f", math.Round(v/digits)*digits)
	}
	goal := fmt.Sprintf("below %v", f.Wanted)
	switch {
	case f.More.Value == 0 && f.More.High == 0:
		return "it is " + goal
	case math.IsInf(f.Labels.Low, 1):
		return fmt.Sprintf("%s is out of reach as far as these rows show", goal)
	case math.IsInf(f.Labels.Value, 1):
		return fmt.Sprintf("%s takes at least %s labels and may be out of reach", goal, number(f.Labels.Low))
	case !f.Labels.bounded():
		return fmt.Sprintf("%s takes about %s labels, at least %s, and may be out of reach", goal, number(f.Labels.Value), number(f.Labels.Low))
	}
	return fmt.Sprintf("%s takes about %s labels (%s to %s)", goal, number(f.Labels.Value), number(f.Labels.Low), number(f.Labels.High))
}
