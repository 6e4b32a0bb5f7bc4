package estimate

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/words"
)

// farthest limits a forecast to this multiple of the present labels. No curve can be
// trusted beyond it, so more labels count as infinitely many.
const farthest = 100

// Beyond the current model the slope may change. In the middle of campaigns on twenty tables (docs/intervals.md), that
// of the rest of the campaign was 0.9 times the fitted one in the median, between 0.4 and 1.7 times in half of them,
// and below 0.2 or above 2.7 times in one of ten each. So three factors are taken to be equally likely.
var bends = [...]float64{0.3, 0.75, 2}

// bent returns the scenarios of a metric beyond the current model.
func (c *Curve) bent(m Metric) (all []scenario) {
	for _, s := range c.grids[m] {
		for _, bend := range bends {
			all = append(all, scenario{s.slope * bend, s.level, s.weight / float64(len(bends))})
		}
	}
	return all
}

// widest is the ratio of the limits of an interval beyond which no single number between them is named.
const widest = 4

// Forecast is how many labels a wanted error takes. It does not go beyond the rows that the campaign has: a number of
// labels that would is infinite, which is null in JSON. So is the value of an interval whose upper limit is more than
// four times the lower one: then the range is what is known.
type Forecast struct {
	Metric Metric    `json:"metric" enum:"rmse,mae,q95"`
	Wanted float64   `json:"wanted"` // in the units of the label
	Rows   int       `json:"rows" doc:"that can have a label: all but those that failed or were retired"`
	Labels Interval  `json:"labels" doc:"in total; a limit is null where it is more than there are rows, a value also where the limits are more than a factor of four apart"`
	More   Interval  `json:"more"` // than there are; 0 where the error is reached
	Cost   *Interval `json:"cost"` // of More; nil where costs are not known
}

// Forecast returns how many labels, and at what cost, the model needs for an error, in a campaign in which that many
// rows can have a label. A cost per label of 0 means that it is not known.
func (c *Curve) Forecast(m Metric, wanted, costPerLabel float64, rows int) Forecast {
	return c.forecastOf(m, wanted, c.labelsFor(m, wanted), costPerLabel, rows)
}

// lessError is by what share the error is smaller that is forecast where nobody has named one.
const lessError = 0.1

// ForecastLess returns how many labels lower the present RMSE by lessError, whatever it is: the uncertainty of the
// present error has no part in it.
func (c *Curve) ForecastLess(costPerLabel float64, rows int) Forecast {
	labels := over(c.bent(RMSE), func(s scenario) float64 {
		s.level = 0
		return s.labelsFor(1-lessError, c.Labels)
	})
	return c.forecastOf(RMSE, c.RMSE.Value*(1-lessError), labels, costPerLabel, rows)
}

// forecastOf ends a forecast at the rows of the campaign.
func (c *Curve) forecastOf(m Metric, wanted float64, labels Interval, costPerLabel float64, rows int) Forecast {
	f := Forecast{Metric: m, Wanted: wanted, Rows: rows}
	within := func(v float64) float64 {
		if v > float64(rows) {
			return math.Inf(1)
		}
		return max(v, float64(c.Labels))
	}
	f.Labels = Interval{within(labels.Value), within(labels.Low), within(labels.High)}
	if f.Labels.High > max(float64(c.Labels), widest*labels.Low) {
		f.Labels.Value = math.Inf(1)
	}
	more := func(v float64) float64 { return v - float64(c.Labels) }
	f.More = Interval{more(f.Labels.Value), more(f.Labels.Low), more(f.Labels.High)}
	if costPerLabel > 0 {
		f.Cost = &Interval{f.More.Value * costPerLabel, f.More.Low * costPerLabel, f.More.High * costPerLabel}
	}
	return f
}

// String describes the forecast.
func (f Forecast) String() string { return f.Text().String() }

// Text is the forecast in a clause.
func (f Forecast) Text() words.Text {
	number := func(v float64) words.Num {
		digits := math.Pow(10, max(0, math.Floor(math.Log10(max(v, 1)))-2)) // three count
		return words.Num(words.Grouped(math.Round(v/digits) * digits))
	}
	goal, rows := words.Textf("below %s", words.Num(words.Grouped(f.Wanted))), words.Num(words.Whole(f.Rows))
	switch {
	case f.More.High == 0:
		return words.Textf("it is %v", goal)
	case math.IsInf(f.Labels.Low, 1):
		return words.Textf("%v takes more labels than the table has rows, %s", goal, rows)
	case !f.Labels.bounded():
		return words.Textf("%v takes at least %s labels, perhaps more than the table has rows, %s", goal,
			number(f.Labels.Low), rows)
	case math.IsInf(f.Labels.Value, 1):
		return words.Textf("%v takes %s to %s labels", goal, number(f.Labels.Low), number(f.Labels.High))
	}
	return words.Textf("%v takes about %s labels (%s to %s)", goal, number(f.Labels.Value),
		number(f.Labels.Low), number(f.Labels.High))
}
