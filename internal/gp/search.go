package gp

// The search for the hyperparameters. The best v for a given C is known, and what is left
// to minimise, over x = (log g, log a, log ℓ_1, …), is
//
//	½·((n + 1)·log v + log det C) + penalties

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/minimise"
	"github.com/nextbatch/nextbatch/kernel"
)

const (
	// SearchRows is how many rows the hyperparameters are fitted on, at most.
	SearchRows = 1024
	// firstRows is how many of them the starts are tried on.
	firstRows = 256
	// tries is how many starts are followed to a minimum.
	tries = 2
)

// Variables before the length scales.
const (
	logNoise = iota
	logLinear
	logLengths
)

// search evaluates what is minimised for one sample.
type search struct {
	*likelihood
	shape   kernel.Shape
	owners  []int // of the columns
	beliefs []belief
	columns []float64 // derivatives by column
}

// point is a place in the search.
type point struct {
	x     []float64
	value float64
}

// fitRatios returns the hyperparameters of C for the first rows of a sample that is in
// random order.
func fitRatios(ctx context.Context, shape kernel.Shape, s sample, u *units) (ratios, error) {
	most := min(SearchRows, s.rows.Rows)
	starts := newSearch(ctx, shape, s.first(min(firstRows, most)), u)
	best, err := starts.best()
	if err != nil {
		return ratios{}, err
	}
	if most > firstRows {
		all := newSearch(ctx, shape, s.first(most), u)
		if best, err = all.minimum(best.x); err != nil {
			return ratios{}, err
		}
	}
	return starts.ratios(best.x), nil
}

func newSearch(ctx context.Context, shape kernel.Shape, s sample, u *units) *search {
	r := &search{likelihood: newLikelihood(ctx, s), shape: shape, owners: u.owners,
		columns: make([]float64, len(u.owners)),
		beliefs: []belief{logNoise: noiseBelief, logLinear: linearBelief}}
	for range u.lengths {
		r.beliefs = append(r.beliefs, lengthBelief(u.lengths))
	}
	return r
}

func (s *search) ratios(x []float64) ratios {
	h := ratios{shape: s.shape, noise: leastNoise + math.Exp(x[logNoise]), linear: math.Exp(x[logLinear]),
		lengths: make([]float64, len(s.owners))}
	for j, owner := range s.owners {
		h.lengths[j] = math.Exp(x[logLengths+owner])
	}
	return h
}

// evaluate returns the function to minimise and writes its gradient. Where C cannot be
// factorised, the function is infinite, and the search turns back.
func (s *search) evaluate(gradient, x []float64) (float64, error) {
	h, n := s.ratios(x), len(s.labels)
	q, err := s.at(&h)
	if _, singular := err.(*linalg.PivotError); singular {
		return math.Inf(1), nil
	}
	if err != nil {
		return 0, err
	}
	v := signal(q, n)
	value := (float64(n+1)*math.Log(v) + s.logDet) / 2
	clear(gradient)
	gradient[logNoise], gradient[logLinear] = s.gradient(s.columns, &h, v)
	gradient[logNoise] *= 1 - leastNoise/h.noise
	for j, owner := range s.owners {
		gradient[logLengths+owner] += s.columns[j]
	}
	for i, b := range s.beliefs {
		penalty, slope := b.penalty(x[i])
		value += penalty
		gradient[i] += slope
	}
	return value, nil
}

// starts are points at which all inputs have the same length scale.
func (s *search) starts() (all [][]float64) {
	for _, noise := range []float64{1e-3, 1e-1} {
		for _, length := range []float64{0.5, 1, 2, 4} {
			x := make([]float64, len(s.beliefs))
			x[logNoise], x[logLinear] = math.Log(noise), linearBelief.centre
			for i := range x[logLengths:] {
				x[logLengths+i] = math.Log(length * math.Sqrt(float64(len(x)-logLengths)))
			}
			all = append(all, x)
		}
	}
	return all
}

// best returns the lowest minimum that the best starts lead to.
func (s *search) best() (best point, err error) {
	var points []point
	gradient := make([]float64, len(s.beliefs))
	for _, x := range s.starts() {
		value, err := s.evaluate(gradient, x)
		if err != nil {
			return point{}, err
		}
		points = append(points, point{x, value})
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	for i, p := range points[:tries] {
		p, err := s.minimum(p.x)
		if err != nil {
			return point{}, err
		}
		if i == 0 || p.value < best.value {
			best = p
		}
	}
	return best, nil
}

// minimum returns the minimum to which x leads.
func (s *search) minimum(x []float64) (point, error) {
	x, err := minimise.BFGS(s.evaluate, x)
	if err != nil {
		return point{}, err
	}
	value, err := s.evaluate(make([]float64, len(x)), x)
	return point{x, value}, err
}
