package estimate

import (
	"cmp"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/stats"
)

// The learning curve.
//
// The error is taken to change as a power of the number of labels,
//
//	log error(n') = log error(n) + b·log(n'/n),   -1 ≤ b ≤ 0.2,
//
// with the same slope b for RMSE, MAE and quantile. More labels make no model worse on
// average, but the models of a campaign do not all turn out equally well. Slopes above 0
// allow for that; without them the current error of a campaign that no longer learns
// would be underestimated.
//
// Errors have heavy tails, so the likelihood of b is that of Student's distribution with
// four degrees of freedom, at the best scale for each b: large errors count little.
// Several predictions for one row count in full, since models with different numbers of
// labels are compared best on the same rows. The prior of b is normal with mean and deviation
// of a quarter: the first hundred errors leave the slope no less uncertain than that.
//
// The curve is kept as a grid: slopes b_j with their probabilities, and for each of them
// levels, log error(n) at equally likely normal quantiles, whose deviations below and
// above the middle are those of the interval at the most likely slope b. With another slope the
// errors of old models mean something else, and log error(n) changes by
// -x̄·(b_j − b), x̄ the mean of the log(n_i/n), weighted by the u_i². Each answer of
// the curve is a quantile over this grid.

const (
	freedom          = 4.0 // of the likelihood
	priorSlope       = -0.25
	priorDeviation   = 0.25
	steepest, rising = -1, 0.2
	slopes           = 61
	levels           = 21
	mostSteps        = 50 // of the search for a scale
)

// CurvePoint is the error that one model made on random rows.
type CurvePoint struct {
	Labels int      `json:"labels"` // of the model
	Rows   int      `json:"rows"`   // random rows that it predicted
	RMSE   Interval `json:"rmse"`
}

// Curve is the error of the current model and of those before and after it.
type Curve struct {
	Labels int          `json:"labels"` // of the current model
	Rows   int          `json:"rows"`   // random rows that the curve is based on
	Slope  Interval     `json:"slope"`  // b; -0.5 halves the error with four times the labels
	RMSE   Interval     `json:"rmse"`   // of the current model
	MAE    Interval     `json:"mae"`
	Q95    Interval     `json:"q95"`
	Points []CurvePoint `json:"points" nullable:"true"` // models that predicted enough random rows, in the order of labels

	grids map[Metric][]scenario
	first int // labels of the smallest model
}

// scenario is a curve that may be the true one.
type scenario struct {
	slope, level float64 // level is log error of the current model
	weight       float64 // the probability
}

// FitCurve fits a learning curve to predictions for random rows, and estimates the error
// of the model that has been given that number of labels. Predictions without a label do not
// count. With fewer than LeastAudited rows the error is a *TooFewError.
func FitCurve(audited []Audited, labels int) (*Curve, error) {
	audited = usable(audited)
	each := Latest(audited)
	if len(each) < LeastAudited {
		return nil, &TooFewError{"the error", len(each), LeastAudited}
	}
	c := &Curve{Labels: labels, Rows: len(each), grids: map[Metric][]scenario{}, first: audited[0].Labels}
	belief := slopeBelief(audited, labels)
	best := mostLikely(belief)
	sizes, centre := pooled(each, labels, best)
	for _, m := range metrics {
		found, err := m.errorsOf(sizes)
		if err != nil {
			return nil, err
		}
		c.grids[m] = grid(belief, found, best, centre)
		*c.interval(m) = over(c.grids[m], func(s scenario) float64 { return math.Exp(s.level) })
	}
	c.Slope = over(c.grids[RMSE], func(s scenario) float64 { return s.slope })
	c.Points = points(audited)
	return c, nil
}

// interval returns the field of a metric.
func (c *Curve) interval(m Metric) *Interval {
	switch m {
	case RMSE:
		return &c.RMSE
	case MAE:
		return &c.MAE
	default:
		return &c.Q95
	}
}

// Error returns a metric of the current model.
func (c *Curve) Error(m Metric) Interval { return *c.interval(m) }

// ErrorAt returns a metric of a model with the given number of labels.
func (c *Curve) ErrorAt(m Metric, labels int) Interval {
	x, grid := math.Log(float64(labels)/float64(c.Labels)), c.grids[m]
	if labels > c.Labels {
		grid = c.bent(m)
	}
	return over(grid, func(s scenario) float64 { return math.Exp(s.level + s.slope*x) })
}

// labelsFor returns how many labels in total a model needs for an error. The
// number is infinite where the error may be out of reach.
func (c *Curve) labelsFor(m Metric, wanted float64) Interval {
	return over(c.bent(m), func(s scenario) float64 { return s.labelsFor(wanted, c.Labels) })
}

// labelsFor returns the labels that a curve needs for an error.
func (s scenario) labelsFor(wanted float64, labels int) float64 {
	missing := math.Log(max(wanted, 0)) - s.level
	if s.slope >= 0 && missing >= 0 {
		return float64(labels)
	}
	if s.slope >= 0 {
		return math.Inf(1)
	}
	factor := math.Exp(missing / s.slope)
	if factor > farthest {
		return math.Inf(1)
	}
	return float64(labels) * factor
}

// pooled returns what the errors would be with the given number of labels, and the mean of
// log(n_i/n), weighted by their squares.
func pooled(audited []Audited, labels int, slope float64) (sizes []float64, centre float64) {
	squares := 0.0
	for _, a := range audited {
		x := math.Log(float64(a.Labels) / float64(labels))
		u := a.size() * math.Exp(-slope*x)
		sizes = append(sizes, u)
		centre += u * u * x
		squares += u * u
	}
	if squares == 0 {
		return sizes, 0
	}
	return sizes, centre / squares
}

// slopeBelief returns the probabilities of the slopes of the grid.
func slopeBelief(audited []Audited, labels int) []scenario {
	var x, squares []float64
	sum := 0.0
	for _, a := range audited {
		x = append(x, math.Log(float64(a.Labels)/float64(labels)))
		squares = append(squares, a.size()*a.size())
		sum += x[len(x)-1]
	}
	belief, highest := make([]scenario, slopes), math.Inf(-1)
	scaled, scale := make([]float64, len(x)), stats.Mean(squares)
	for j := range belief {
		b := steepest + (rising-steepest)*float64(j)/(slopes-1)
		for i, square := range squares {
			scaled[i] = square * math.Exp(-2*b*x[i])
		}
		var likelihood float64
		likelihood, scale = scaleLikelihood(scaled, scale)
		z := (b - priorSlope) / priorDeviation
		belief[j] = scenario{slope: b, weight: likelihood - b*sum - z*z/2}
		highest = max(highest, belief[j].weight)
	}
	total := 0.0
	for j := range belief {
		belief[j].weight = math.Exp(belief[j].weight - highest)
		total += belief[j].weight
	}
	for j := range belief {
		belief[j].weight /= total
	}
	return belief
}

// scaleLikelihood returns the highest log-likelihood, up to a constant, of Student's
// distribution over its squared scale, and that scale, which is searched from the
// given one on: it is a weighted mean of the squares, where large errors weigh less.
func scaleLikelihood(squares []float64, scale float64) (likelihood, best float64) {
	if scale == 0 {
		return 0, 0 // no errors at all
	}
	for step, n := 0, float64(len(squares)); step < mostSteps; step++ {
		next := 0.0
		for _, u := range squares {
			next += (freedom + 1) / (freedom + u/scale) * u / n
		}
		done := math.Abs(next-scale) < 1e-4*scale
		if scale = next; done {
			break
		}
	}
	for _, u := range squares {
		likelihood -= math.Log(scale)/2 + (freedom+1)/2*math.Log1p(u/scale/freedom)
	}
	return likelihood, scale
}

func mostLikely(belief []scenario) float64 {
	return slices.MaxFunc(belief, func(a, b scenario) int { return cmp.Compare(a.weight, b.weight) }).slope
}

// grid combines slopes with levels.
func grid(belief []scenario, at Interval, best, centre float64) []scenario {
	reach := stats.NormalQuantile((1 + Coverage) / 2)
	var all []scenario
	for _, s := range belief {
		for k := range levels {
			z := stats.NormalQuantile((float64(k) + 0.5) / levels)
			side := at.High
			if z < 0 {
				side = at.Low
			}
			level := math.Log(at.Value) - centre*(s.slope-best)
			if z != 0 && at.Value > 0 {
				level += math.Abs(z) / reach * math.Log(side/at.Value)
			}
			all = append(all, scenario{s.slope, level, s.weight / levels})
		}
	}
	return all
}

// over returns median and limits of a number over the grid.
func over(grid []scenario, number func(scenario) float64) Interval {
	at := quantilesAt(grid, number, (1-Coverage)/2, 0.5, (1+Coverage)/2)
	return Interval{Low: at[0], Value: at[1], High: at[2]}
}

// quantilesAt returns the quantiles of a number over the grid at ascending shares.
func quantilesAt(grid []scenario, number func(scenario) float64, shares ...float64) []float64 {
	type entry struct{ v, weight float64 }
	entries := make([]entry, len(grid))
	for i, s := range grid {
		entries[i] = entry{number(s), s.weight}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.v, b.v) })
	found, sum, i := make([]float64, len(shares)), 0.0, 0
	for k, share := range shares {
		for ; sum+entries[i].weight < share && i < len(entries)-1; i++ {
			sum += entries[i].weight
		}
		found[k] = entries[i].v
	}
	return found
}

// points estimates the RMSE of each model that predicted enough random rows.
func points(audited []Audited) (found []CurvePoint) {
	for len(audited) > 0 {
		labels, n := audited[0].Labels, 0
		for n < len(audited) && audited[n].Labels == labels {
			n++
		}
		sizes, _ := pooled(audited[:n], labels, 0)
		if e, err := RMSE.errorsOf(sizes); err == nil {
			found = append(found, CurvePoint{labels, n, e})
		}
		audited = audited[n:]
	}
	return found
}
