package conformal

import (
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/words"
)

// An interval for the RMSE on a population from the errors e_i on n rows that were
// drawn from it at random. With m the mean and s the standard deviation of the e_i²,
// log m has the standard error
//
//	d = max(s/(m·√n), √(2/n)),
//
// the latter being that of normal errors (n·m/σ² is then χ² with n degrees of freedom),
// which small samples underestimate. The lower limit of the squared RMSE is
// m·exp(-t·d), with the 97.5 % quantile of Student's distribution with n - 1 degrees of
// freedom. Squared errors are skewed, so that this would put the upper limit too low; it
// is the larger of m·exp(t·d) and the studentised bootstrap's (Efron and Tibshirani
// 1993, section 12.5) at 99.5 %. Both limits are set further out than a coverage of 90 %
// would ask, because with heavy tails the largest errors tend to be absent from a small
// sample; TestRMSEIntervalHolds shows that 90 % then hold.

// RMSEEstimate is an estimate of an RMSE with an interval that holds it with a
// probability of about Coverage.
type RMSEEstimate struct {
	Rows     int     `json:"rows"` // random rows that it is based on
	RMSE     float64 `json:"rmse"` // in the units of the labels
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Coverage float64 `json:"coverage"`
}

func (e RMSEEstimate) String() string { return e.Text().String() }

// Text is the estimate with its interval.
func (e RMSEEstimate) Text() words.Text {
	value, low, high := words.Interval(e.RMSE, e.Low, e.High)
	return words.Textf("%s (%.0f %% interval %s to %s)", words.Num(value), 100*e.Coverage, words.Num(low), words.Num(high))
}

// LeastErrors is how many errors an RMSEEstimate needs.
const LeastErrors = 8

const (
	rmseCoverage = 0.9
	resamples    = 1000
	upperTail    = 0.005 // of the bootstrap
)

// EstimateRMSE estimates the RMSE on a population from errors on random rows of it, at
// least LeastErrors. The same errors give the same interval.
func EstimateRMSE(errors []float64) (RMSEEstimate, error) {
	n := len(errors)
	if n < LeastErrors {
		return RMSEEstimate{},
			fmt.Errorf("an interval for the RMSE needs errors on %d random rows; there are %d", LeastErrors, n)
	}
	squares := make([]float64, n)
	for i, e := range errors {
		squares[i] = e * e
	}
	m, deviation := logMean(squares)
	found := RMSEEstimate{Rows: n, RMSE: math.Sqrt(m), Low: math.Sqrt(m), High: math.Sqrt(m), Coverage: rmseCoverage}
	if m == 0 {
		return found, nil
	}
	reach := studentQuantile(n-1) * max(deviation, math.Sqrt(2/float64(n)))
	found.Low = math.Sqrt(m * math.Exp(-reach))
	found.High = math.Sqrt(m * math.Exp(max(reach, bootstrapReach(squares, m)*deviation)))
	return found, nil
}

// logMean returns the mean of numbers and the standard error of its logarithm.
func logMean(v []float64) (m, deviation float64) {
	m = mean(v)
	squares := 0.0
	for _, x := range v {
		squares += (x - m) * (x - m)
	}
	n := float64(len(v))
	return m, math.Sqrt(squares/(n-1)/n) / m
}

// bootstrapReach returns how many standard errors the logarithm of the mean is, except for
// the upper tail, at most below that of the population, as resamples are below m.
func bootstrapReach(squares []float64, m float64) float64 {
	stream := rng.New(0, "RMSE interval")
	drawn, below := make([]float64, len(squares)), make([]float64, resamples)
	for b := range below {
		for i := range drawn {
			drawn[i] = squares[stream.IntN(len(squares))]
		}
		if again, deviation := logMean(drawn); again > 0 && deviation > 0 {
			below[b] = (math.Log(m) - math.Log(again)) / deviation
		}
	}
	slices.Sort(below)
	return below[resamples-1-int(upperTail*resamples)]
}

// studentQuantile returns the 97.5 % quantile of Student's distribution, by the
// expansion of Abramowitz and Stegun, 26.7.5; from 7 degrees of freedom on it is right
// to three digits.
func studentQuantile(freedom int) float64 {
	const z = 1.959963984540054
	v := float64(freedom)
	z2 := z * z
	g1 := z * (z2 + 1) / 4
	g2 := z * ((5*z2+16)*z2 + 3) / 96
	g3 := z * (((3*z2+19)*z2+17)*z2 - 15) / 384
	return z + (g1+(g2+g3/v)/v)/v
}
