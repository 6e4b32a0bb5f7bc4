package gp

// The search for the hyperparameters. The best v for a given C is known, and what is left
// to minimise, over x = (log g, log a, log ℓ_1, …), is
//
//	½·((n + 1)·log v + log det C) + penalties
//
// Where some of the noise is known, C depends on v. Then log v is one more variable, the last, and (q + 1)/v - n - 1,
// which is 0 for the best v, one more term.

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/minimise"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
)

const (
	// SearchRows is how many rows the hyperparameters are fitted on, at most.
	SearchRows = 1024
	// firstRows is how many of them the starts are tried on.
	firstRows = 256
	// tries is how many starts are followed to a minimum.
	tries = 2
	// sparseWork over the number of labels, and one more, is how many further starts are followed where lengths may
	// differ widely, which makes many minima.
	sparseWork = 192
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
	prior   Prior
	owners  []int // of the columns
	lengths int   // how many there are
	beliefs []belief
	columns []float64 // derivatives by column
}

// point is a place in the search.
type point struct {
	x, slope []float64
	value    float64
}

// fitRatios returns the hyperparameters of C for the first rows of a sample that is in
// random order. Other beliefs begin with those of the usual ones, unless nil.
func fitRatios(ctx context.Context, shape kernel.Shape, prior Prior, s sample, u *units,
	usual *ratios) (ratios, error) {
	if prior != Alike && usual == nil {
		found, err := fitRatios(ctx, shape, Alike, s, u, nil)
		if err != nil {
			return ratios{}, err
		}
		usual = &found
	}
	most := min(SearchRows, s.rows.Rows)
	starts := newSearch(ctx, shape, prior, s.first(min(firstRows, most)), u)
	best, err := starts.best(usual)
	if err != nil {
		return ratios{}, err
	}
	if most > firstRows {
		all := newSearch(ctx, shape, prior, s.first(most), u)
		if best, err = all.minimum(best.x, minimise.MostSteps); err != nil {
			return ratios{}, err
		}
	}
	return starts.ratios(best.x), nil
}

func newSearch(ctx context.Context, shape kernel.Shape, prior Prior, s sample, u *units) *search {
	r := &search{likelihood: newLikelihood(ctx, s), shape: shape, prior: prior, owners: u.owners, lengths: u.lengths,
		columns: make([]float64, len(u.owners)),
		beliefs: []belief{logNoise: noiseBelief, logLinear: linearBeliefs[prior]}}
	for range u.lengths {
		r.beliefs = append(r.beliefs, prior.lengthBelief(u.lengths))
	}
	if s.known != nil {
		r.beliefs = append(r.beliefs, anything)
	}
	return r
}

func (s *search) ratios(x []float64) ratios {
	h := ratios{shape: s.shape, noise: leastNoise + math.Exp(x[logNoise]), linear: math.Exp(x[logLinear]),
		stretched: s.prior == Sparse, lengths: make([]float64, len(s.owners))}
	for j, owner := range s.owners {
		h.lengths[j] = math.Exp(x[logLengths+owner])
	}
	if s.known != nil {
		h.signal = math.Exp(x[len(x)-1])
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
	if s.known != nil {
		v = h.signal
	}
	value := (float64(n+1)*math.Log(v) + s.logDet) / 2
	clear(gradient)
	gradient[logNoise], gradient[logLinear] = s.gradient(s.columns, &h, v)
	gradient[logNoise] *= 1 - leastNoise/h.noise
	for j, owner := range s.owners {
		gradient[logLengths+owner] += s.columns[j]
	}
	if s.known != nil {
		value += ((q+1)/v - float64(n+1)) / 2
		gradient[len(x)-1] = (float64(n+1) - (q+1)/v - simd.For[float64]().Sum(s.knownSums)/v) / 2
	}
	for i, b := range s.beliefs {
		penalty, slope := b.penalty(x[i])
		value += penalty
		gradient[i] += slope
	}
	return value, nil
}

// starts are points at which all inputs have the same length scale. Where some of the noise is known, the variance of
// the signal is the best one for the C that has that of the labels.
func (s *search) starts() (all [][]float64, err error) {
	for _, noise := range []float64{1e-3, 1e-1} {
		for _, length := range []float64{0.5, 1, 2, 4} {
			x := make([]float64, len(s.beliefs))
			x[logNoise], x[logLinear] = math.Log(noise), s.beliefs[logLinear].centre
			for i := range s.lengths {
				x[logLengths+i] = math.Log(length * math.Sqrt(float64(s.lengths)))
			}
			if s.known != nil {
				h := s.ratios(x)
				q, err := s.at(&h)
				switch err.(type) {
				case nil:
					x[len(x)-1] = math.Log(signal(q, len(s.labels)))
				case *linalg.PivotError: // one that leads nowhere
				default:
					return nil, err
				}
			}
			all = append(all, x)
		}
	}
	return all, nil
}

// sparseStarts are points at which the few first inputs of an order have short lengths: those at x, or these times a
// factor and over the root of how much fewer they are.
func (s *search) sparseStarts(x []float64, order []int, factors ...float64) (all [][]float64) {
	n := len(order)
	for few := 1; few < n; few *= 2 {
		for _, factor := range factors {
			start := slices.Clone(x)
			for rank, i := range order {
				switch {
				case rank >= few:
					start[i] = math.Log(20 * math.Sqrt(float64(n)))
				case factor > 0:
					start[i] += math.Log(factor * math.Sqrt(float64(few)/float64(n)))
				}
			}
			all = append(all, start)
		}
	}
	return all
}

// byRank returns the numbers of the variables of length scales in ascending order of a rank.
func (s *search) byRank(rank func(i int) float64) []int {
	order := make([]int, s.lengths)
	for i := range order {
		order[i] = logLengths + i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// follow returns the points to which these lead in a number of steps, the best first.
func (s *search) follow(starts [][]float64, steps int) (points []point, err error) {
	for _, x := range starts {
		p, err := s.minimum(x, steps)
		if err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	return points, nil
}

// best returns the lowest minimum that the best starts lead to.
func (s *search) best(usual *ratios) (point, error) {
	if s.prior != Alike {
		return s.sparseBest(usual)
	}
	starts, err := s.starts()
	if err != nil {
		return point{}, err
	}
	return s.lowest(nil, starts, tries)
}

// lowest returns the lowest minimum that a first start, unless nil, and the best of others lead to.
func (s *search) lowest(first []float64, others [][]float64, most int) (point, error) {
	points, err := s.follow(others, 0)
	if err != nil {
		return point{}, err
	}
	var starts [][]float64
	if first != nil {
		starts = append(starts, first)
	}
	for _, p := range points[:min(len(points), most)] {
		starts = append(starts, p.x)
	}
	if points, err = s.follow(starts, minimise.MostSteps); err != nil {
		return point{}, err
	}
	return points[0], nil
}

// sparseBest returns the lowest of several minima. One start is what the usual beliefs lead to. The others are the best
// points at which few inputs have short lengths: those that are shortest there, or whose shorter lengths would raise
// the density most where all are equal.
func (s *search) sparseBest(usual *ratios) (point, error) {
	near := make([]float64, len(s.beliefs))
	near[logNoise], near[logLinear] = math.Log(usual.noise), s.beliefs[logLinear].centre
	for j, owner := range s.owners {
		near[logLengths+owner] = math.Log(usual.lengths[j])
	}
	if s.known != nil {
		near[len(near)-1] = math.Log(usual.signal)
	}
	alike, err := s.starts()
	if err != nil {
		return point{}, err
	}
	equal, err := s.minimum(alike[2], 0)
	if err != nil {
		return point{}, err
	}
	starts := append(s.sparseStarts(near, s.byRank(func(i int) float64 { return near[i] }), 0),
		s.sparseStarts(equal.x, s.byRank(func(i int) float64 { return -equal.slope[i] }), 0.5, 1.5)...)
	return s.lowest(near, starts, 1+sparseWork/len(s.labels))
}

// minimum returns the minimum to which x leads, or a point on the way after this many steps.
func (s *search) minimum(x []float64, steps int) (point, error) {
	x, slope, value, err := minimise.BFGS(s.evaluate, x, steps)
	return point{x, slope, value}, err
}
