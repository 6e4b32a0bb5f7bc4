package benchmark

import (
	"errors"
	"fmt"
	"math"
)

// Gain compares a method with random selection. Its intervals hold for all methods of a
// Comparison together.
type Gain struct {
	Spec string

	// Reduction is by how much the method lowers log RMSE: that of random selection
	// minus that of the method, the mean over the rounds after the start, where all
	// methods are the same.
	Reduction Interval

	// Labels is with how many labels the method reaches the last error of random
	// selection. Between measured sizes its learning curve, and the limits around it,
	// are straight lines in log error over log labels; beyond them nothing is assumed,
	// and a number is NaN where its line does not reach that error for good.
	Labels Interval
}

// Comparison compares methods with random selection, on the same splits.
type Comparison struct {
	Confidence float64
	Labels     []int // of each round
	Splits     int   // over which differences are paired
	Sizes      SplitSizes
	Fall       Interval // log RMSE of random selection at the start minus that at the end
	Methods    []Gain   // in the order of the results
}

// Compare compares all methods in the results with random, which must be among them.
// The runs may differ only in method and split, and must be in the order of splits. The
// intervals are those of pairedInterval; they cover the chance of splits, networks and
// of the rows that happen to be labelled, not that of another table.
func Compare(results Results, sizes SplitSizes, confidence float64) (*Comparison, error) {
	curves, err := newCurves(results)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Confidence: confidence, Labels: curves.labels, Splits: curves.splits, Sizes: sizes}
	last := len(c.Labels) - 1
	fall := curves.differences(func(split int) float64 {
		random := curves.logRMSE[randomSpec][split]
		return random[0] - random[last]
	})
	c.Fall = pairedInterval(fall, sizes, confidence)
	each := eachOf(confidence, max(1, len(curves.specs)-1))
	for _, spec := range curves.specs {
		if spec == randomSpec {
			continue
		}
		reductions := curves.differences(func(split int) float64 { return curves.reduction(spec, split) })
		c.Methods = append(c.Methods, Gain{spec, pairedInterval(reductions, sizes, each),
			curves.labelsToReach(spec, sizes, each)})
	}
	return c, nil
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
		if math.IsNaN(r.Test.RMSE) || math.IsInf(r.Test.RMSE, 0) {
			return nil, fmt.Errorf("%v: the RMSE after round %d is %v, so methods cannot be compared",
				r.Run, r.Round, r.Test.RMSE)
		}
		of[len(of)-1] = append(of[len(of)-1], math.Log(max(r.Test.RMSE, smallestError)))
		c.logRMSE[r.Spec] = of
		if r.Round == len(c.labels) {
			c.labels = append(c.labels, r.Labels)
		}
	}
	random := c.logRMSE[randomSpec]
	if len(random) == 0 || len(c.labels) < 2 {
		return nil, errors.New("there is no run of random with a round to compare with")
	}
	if len(random) < 2 || len(c.specs) < 2 {
		return nil,
			fmt.Errorf("there are %d splits and %d methods; a comparison with random needs two splits and another method",
				len(random), len(c.specs))
	}
	c.splits = len(random)
	return c, c.check()
}

// smallestError is the error below which differences are rounding: labels have
// deviation 1, and float32 holds seven digits.
const smallestError = 1e-7

// check reports a run that has fewer rounds or splits than others.
func (c *curves) check() error {
	for _, spec := range c.specs {
		if n := len(c.logRMSE[spec]); n != c.splits {
			return fmt.Errorf("%s has %d splits, random has %d", spec, n, c.splits)
		}
		for _, rounds := range c.logRMSE[spec] {
			if len(rounds) != len(c.labels) {
				return fmt.Errorf("%s: a split has %d rounds, another %d", spec, len(rounds), len(c.labels))
			}
		}
	}
	return nil
}

// differences evaluates a difference on every split.
func (c *curves) differences(of func(split int) float64) []float64 {
	list := make([]float64, c.splits)
	for split := range list {
		list[split] = of(split)
	}
	return list
}

func (c *curves) reduction(spec string, split int) float64 {
	method, random := c.logRMSE[spec][split], c.logRMSE[randomSpec][split]
	sum := 0.0
	for round := 1; round < len(c.labels); round++ {
		sum += random[round] - method[round]
	}
	return sum / float64(len(c.labels)-1)
}

// labelsToReach is the Labels of a Gain. At each size it takes the interval of the
// difference between the method's error there and the last error of random selection;
// the limits are where the limits of these differences cross zero.
func (c *curves) labelsToReach(spec string, sizes SplitSizes, confidence float64) Interval {
	last := len(c.labels) - 1
	var value, low, high []float64
	for round := range c.labels {
		above := pairedInterval(c.differences(func(split int) float64 {
			return c.logRMSE[spec][split][round] - c.logRMSE[randomSpec][split][last]
		}), sizes, confidence)
		value, low, high = append(value, above.Value), append(low, above.Low), append(high, above.High)
	}
	if value[0] <= 0 { // the error of random selection has not fallen
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	return Interval{c.crossing(value), c.crossing(low), c.crossing(high)}
}

// crossing is the number of labels from which on a line is at most zero: the first size
// if it always is, NaN if it is above zero at the last one.
func (c *curves) crossing(above []float64) float64 {
	before := len(above) - 1
	for before >= 0 && above[before] <= 0 {
		before--
	}
	switch before {
	case -1:
		return float64(c.labels[0])
	case len(above) - 1:
		return math.NaN()
	}
	from, to := math.Log(float64(c.labels[before])), math.Log(float64(c.labels[before+1]))
	return math.Exp(from + above[before]/(above[before]-above[before+1])*(to-from))
}
