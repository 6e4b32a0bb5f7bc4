package benchmark

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a number with confidence limits, which are NaN for a single split.
type Interval struct{ Value, Low, High float64 }

// Saving is how many of the labels that random selection needs a method saves:
//
//	gain    mean over rounds and splits of log RMSE(random) − log RMSE(method)
//	needed  the labels with which the method reaches the last error of random selection
//	share   1 − needed/last, where last is the number of labels of random selection then
//
// needed is read off the mean learning curve of the method, linear in log labels
// between rounds. If the curve does not get that low, it is extended with the
// slope of random selection's curve.
type Saving struct {
	Spec    string
	Gain    Interval
	Share   Interval // NaN if the curve of random selection does not fall
	Reached bool     // within the rounds
}

// Savings compares methods with random selection.
type Savings struct {
	Labels  []int    // of each round
	Slope   Interval // by which log RMSE of random selection falls per unit of log labels, by least squares
	Methods []Saving // in the order of the results
	Splits  int
}

// Compare computes the savings of all methods in the results, which must include
// random and differ only in method and split. The limits come from the jackknife
// over splits, with Student's t for one degree of freedom fewer than splits; the
// error probability is divided among the methods (Bonferroni). They cover the
// chance of splits and networks, not that of another table.
func Compare(results Results, confidence float64) (*Savings, error) {
	c, err := newCurves(results)
	if err != nil {
		return nil, err
	}
	s := &Savings{Labels: c.labels, Splits: c.splits}
	methods := slices.DeleteFunc(slices.Clone(c.specs), func(spec string) bool { return spec == randomSpec })
	s.Slope = c.jackknife(confidence, func(splits []int) float64 { return c.slope(splits) })
	each := 1 - (1-confidence)/math.Max(1, float64(len(methods)))
	for _, spec := range methods {
		s.Methods = append(s.Methods, c.saving(spec, each))
	}
	return s, nil
}

// randomSpec is the baseline that methods are compared with.
const randomSpec = "random"

// curves holds learning curves: log RMSE by method, split and round.
type curves struct {
	specs   []string
	labels  []int
	splits  int
	logRMSE map[string][][]float64
}

func newCurves(results Results) (*curves, error) {
	c := &curves{logRMSE: map[string][][]float64{}}
	for _, r := range results {
		of, known := c.logRMSE[r.Spec]
		if !known {
			c.specs = append(c.specs, r.Spec)
		}
		if r.Round == 0 {
			of = append(of, nil)
		}
		if len(of) == 0 {
			return nil, fmt.Errorf("%v: round %d comes before round 0", r.Run, r.Round)
		}
		of[len(of)-1] = append(of[len(of)-1], math.Log(math.Max(r.Test.RMSE, math.SmallestNonzeroFloat64)))
		c.logRMSE[r.Spec] = of
		if r.Round == len(c.labels) {
			c.labels = append(c.labels, r.Labels)
		}
	}
	random := c.logRMSE[randomSpec]
	if len(random) == 0 || len(c.labels) < 2 {
		return nil, errors.New("there is no run of random with a round to compare with")
	}
	c.splits = len(random)
	return c, c.check()
}

// check reports a run that has fewer rounds or splits than others.
func (c *curves) check() error {
	for spec, splits := range c.logRMSE {
		if len(splits) != c.splits {
			return fmt.Errorf("%s has %d splits, random has %d", spec, len(splits), c.splits)
		}
		for _, rounds := range splits {
			if len(rounds) != len(c.labels) {
				return fmt.Errorf("%s: a split has %d rounds, another %d", spec, len(rounds), len(c.labels))
			}
		}
	}
	return nil
}

func (c *curves) saving(spec string, confidence float64) Saving {
	s := Saving{Spec: spec}
	s.Gain = c.jackknife(confidence, func(splits []int) float64 { return c.gain(spec, splits) })
	last := float64(c.labels[len(c.labels)-1])
	needed := c.jackknife(confidence, func(splits []int) float64 { return math.Log(c.needed(spec, splits) / last) })
	s.Share = Interval{-math.Expm1(needed.Value), -math.Expm1(needed.High), -math.Expm1(needed.Low)}
	s.Reached = needed.Value <= 0
	return s
}

// gain is the gain over the given splits. In round 0 all methods are the same.
func (c *curves) gain(spec string, splits []int) float64 {
	method, random := c.mean(spec, splits), c.mean(randomSpec, splits)
	sum := 0.0
	for round := 1; round < len(c.labels); round++ {
		sum += random[round] - method[round]
	}
	return sum / float64(len(c.labels)-1)
}

// slope is the slope over the given splits.
func (c *curves) slope(splits []int) float64 {
	y := c.mean(randomSpec, splits)
	x := make([]float64, len(y))
	for i, n := range c.labels {
		x[i] = math.Log(float64(n))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return -slope
}

// mean is the mean learning curve over the given splits.
func (c *curves) mean(spec string, splits []int) []float64 {
	mean := make([]float64, len(c.labels))
	for _, split := range splits {
		for round, v := range c.logRMSE[spec][split] {
			mean[round] += v / float64(len(splits))
		}
	}
	return mean
}

// needed is how many labels a method needs to reach the last error of random selection.
func (c *curves) needed(spec string, splits []int) float64 {
	last := len(c.labels) - 1
	goal, y := c.mean(randomSpec, splits)[last], c.mean(spec, splits)
	for i, v := range y {
		switch {
		case v > goal:
		case i == 0:
			return float64(c.labels[0])
		default:
			low, high := math.Log(float64(c.labels[i-1])), math.Log(float64(c.labels[i]))
			return math.Exp(low + (y[i-1]-goal)/(y[i-1]-v)*(high-low))
		}
	}
	b := c.slope(splits)
	if !(b > 0) {
		return math.NaN()
	}
	return float64(c.labels[last]) * math.Exp((y[last]-goal)/b)
}

// jackknife returns the value of a function of the splits, with its limits.
func (c *curves) jackknife(confidence float64, of func(splits []int) float64) Interval {
	all := upTo(c.splits)
	at := Interval{Value: of(all), Low: math.NaN(), High: math.NaN()}
	if c.splits < 2 {
		return at
	}
	n := float64(c.splits)
	without := make([]float64, c.splits)
	mean := 0.0
	for i := range without {
		without[i] = of(slices.Delete(slices.Clone(all), i, i+1))
		mean += without[i] / n
	}
	squares := 0.0
	for _, v := range without {
		squares += (v - mean) * (v - mean)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1 + confidence) / 2)
	half := t * math.Sqrt(squares*(n-1)/n)
	at.Low, at.High = at.Value-half, at.Value+half
	return at
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
