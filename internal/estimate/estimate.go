// Package estimate estimates the error of a model from rows that were drawn at random, and what follows from it: the
// learning curve, how many labels a wanted error takes, when to stop, and the gain over random selection.
package estimate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/internal/words"
)

// The error of the current model, from predictions of older ones.
//
// Few rows are drawn at random, and each is predicted by the model of its time, so
// the rows are pooled through a learning curve (curve.go): an error e_i of a
// model with n_i labels suggests that the model with n labels would have made one of
// about
//
//	u_i = e_i · (n/n_i)^b,   b the slope of the curve.
//
// Where a row was predicted several times, the last prediction counts. At the most
// likely slope, RMSE, MAE and 95 % quantile are those of the u_i. The interval of the
// RMSE is that of conformal.EstimateRMSE, which is wider than these errors suggest,
// because a small sample tends to miss the largest errors. That of the MAE m is
// m·exp(±t·d), with the 97.5 % quantile t of Student's distribution and
//
//	d = max(s/m, √(π/2 − 1))/√n,
//
// where s is the deviation of the |u_i| and the second term the value of s/m for normal
// errors. The limits of the quantile are order statistics: the |u_i| in ascending order,
// numbers k and l with P(X < k) ≤ 5 % and P(X ≥ l) ≤ 5 %, where X, the count of errors
// below the quantile, is binomial. Up to 58 rows there is no such l and no upper limit.
//
// The uncertainty of the slope widens every interval, by the grid of curve.go.

// Coverage is the probability, about, with which the intervals of this package hold the
// truth.
const Coverage = 0.9

// Audited is a prediction for a row that was drawn at random from the open rows, by a
// model that had not learnt from the row, and its label. The functions of this package
// are about one target; with several, call them for each.
type Audited struct {
	Row        int64 // of the campaign; of several predictions for a row, the last shows the error, and all show the slope
	Labels     int   // how many the model had been given
	Prediction float64
	Label      float64
}

func (a Audited) size() float64 { return math.Abs(a.Prediction - a.Label) }

// LeastAudited is how many random rows an estimate needs.
const LeastAudited = conformal.LeastErrors

// TooFewError reports that there are too few random rows for an estimate.
type TooFewError struct {
	What       string // the quantity to estimate, such as "the error"
	Rows, Need int    // random rows with a label
}

func (e *TooFewError) Error() string {
	return fmt.Sprintf("too few random rows to tell %s: it takes %d with a label, and there are %d",
		e.What, e.Need, e.Rows)
}

// Interval is an estimate with its confidence interval at level Coverage. If the rows set
// no upper limit, High is infinite; so is Value if the truth may well be, or if the limits are too
// far apart for a number between them. Infinity is null in JSON.
type Interval struct {
	Value float64 `json:"value" nullable:"true"`
	Low   float64 `json:"low" nullable:"true"`
	High  float64 `json:"high" nullable:"true"`
}

// bounded reports whether there is an upper limit.
func (i Interval) bounded() bool { return !math.IsInf(i.High, 1) }

// MarshalJSON writes value, low and high.
func (i Interval) MarshalJSON() ([]byte, error) {
	finite := func(v float64) *float64 {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Value *float64 `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
	}{finite(i.Value), finite(i.Low), finite(i.High)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Interval) UnmarshalJSON(text []byte) error {
	var v struct{ Value, Low, High *float64 }
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	for _, part := range []struct {
		dst *float64
		src *float64
	}{{&i.Value, v.Value}, {&i.Low, v.Low}, {&i.High, v.High}} {
		if *part.dst = math.Inf(1); part.src != nil {
			*part.dst = *part.src
		}
	}
	return nil
}

// String describes the interval, such as "0.62 (0.55 to 0.71)".
func (i Interval) String() string { return i.Text().String() }

// Text is the interval as people write it.
func (i Interval) Text() words.Text {
	value, least := words.Num(words.Number(i.Value)), words.Num(words.Number(i.Low))
	switch {
	case !i.bounded() && math.IsInf(i.Value, 1):
		return words.Textf("unknown (at least %s)", least)
	case !i.bounded():
		return words.Textf("%s (at least %s, no upper limit)", value, least)
	case math.IsInf(i.Value, 1):
		low, high := words.Range(i.Low, i.High)
		return words.Textf("%s to %s", words.Num(low), words.Num(high))
	}
	return words.Estimate(i.Value, i.Low, i.High)
}

// Metric is a measure of the error, in the units of the label.
type Metric string

// The metrics, as stop rules write them.
const (
	RMSE Metric = "rmse" // root of the mean squared error
	MAE  Metric = "mae"  // mean absolute error
	Q95  Metric = "q95"  // 95 % quantile of the absolute error
)

var metrics = []Metric{RMSE, MAE, Q95}

// words names the metric for people.
func (m Metric) words() string {
	switch m {
	case RMSE:
		return "RMSE"
	case MAE:
		return "mean absolute error"
	default:
		return "95 % quantile of the absolute error"
	}
}

// errorsOf estimates a metric from the sizes of errors of random rows.
func (m Metric) errorsOf(sizes []float64) (Interval, error) {
	switch m {
	case Q95:
		return quantileOf(sizes), nil
	case MAE:
		return meanOf(sizes), nil
	}
	e, err := conformal.EstimateRMSE(sizes)
	return Interval{e.RMSE, e.Low, e.High}, err
}

// meanOf estimates the mean size of errors.
func meanOf(sizes []float64) Interval {
	m, s := stats.MeanStdDev(sizes)
	if m == 0 {
		return Interval{}
	}
	n := float64(len(sizes))
	t := stats.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
	reach := t * max(s/m, math.Sqrt(math.Pi/2-1)) / math.Sqrt(n)
	return Interval{m, m * math.Exp(-reach), m * math.Exp(reach)}
}

// quantileOf estimates the 95 % quantile of the sizes of errors.
func quantileOf(sizes []float64) Interval {
	const share, tail = 0.95, (1 - Coverage) / 2
	sorted := slices.Sorted(slices.Values(sizes))
	found := Interval{Value: sorted[len(sorted)*95/100], High: math.Inf(1)}
	for k, size := range sorted { // number k+1
		less := stats.BinomialCDF(k, len(sorted), share) // P(X < k+1)
		if less <= tail {
			found.Low = size
		}
		if 1-less <= tail {
			found.High = size
			break
		}
	}
	return found
}

// Latest returns the last prediction of each row, given all in the order of labels.
func Latest(audited []Audited) []Audited {
	last := map[int64]int{}
	for i, a := range audited {
		last[a.Row] = i
	}
	var kept []Audited
	for i, a := range audited {
		if last[a.Row] == i {
			kept = append(kept, a)
		}
	}
	return kept
}

// usable returns the predictions whose label is there, in the order of labels.
func usable(audited []Audited) []Audited {
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	kept := slices.DeleteFunc(slices.Clone(audited), func(a Audited) bool {
		return !finite(a.Label) || !finite(a.Prediction) || a.Labels < 1
	})
	slices.SortStableFunc(kept, func(a, b Audited) int { return cmp.Compare(a.Labels, b.Labels) })
	return kept
}
