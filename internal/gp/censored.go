package gp

// Labels of which only a limit L is known. What has been measured, y = f(x) + x·b + m + noise, lies below L, or above
// it: a likelihood that is a step. Expectation propagation (Minka 2001) replaces each step by a normal density, that
// of a label m̃ whose noise has the variance τ̃ in addition to that of all labels. Given the other labels, y has mean μ
// and variance s². Below L, with z = (L − μ)/s and λ = φ(z)/Φ(z), its mean is μ − s·λ and its variance s²·(1 − δ),
// δ = λ·(λ + z), which are those given the other labels and
//
//	m̃ = μ − s/(λ + z),  τ̃ = s²·(1 − δ)/δ
//
// Above L, signs change. All m̃ and τ̃ are found in turns, and in turns with the hyperparameters.

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
)

const (
	// mostCensored is how many labels there may be for limits to be more than labels themselves: each turn takes as long
	// as two factorisations.
	mostCensored = SearchRows
	refits       = 3    // of the hyperparameters
	turns        = 30   // with the same hyperparameters, at most
	settled      = 1e-3 // a change of means, in deviations of the labels, that ends them
	step         = 0.7  // of the way to the new density in a turn
	mostUnknown  = 1e6  // of τ̃, in variances of the labels
)

// censored reports whether limits take part as such.
func (d *Data) censored() bool {
	if len(d.Labels) > mostCensored {
		return false
	}
	for _, side := range d.Sides {
		if side != 0 {
			return true
		}
	}
	return false
}

// fitCensored finds hyperparameters and, for each limit, m̃ and τ̃.
func (m *Model) fitCensored(ctx context.Context, shape kernel.Shape, config Config) (err error) {
	var sites []*site
	labels, noise := append([]float64(nil), m.data.Labels...), make([]float64, len(m.data.Labels))
	alone := make([]int, len(labels))
	copy(noise, m.data.Noise)
	for i, side := range m.data.Sides {
		if alone[i] = i; side != 0 {
			sites = append(sites, &site{row: i, limit: labels[i], side: float64(side), own: noise[i]})
		}
	}
	m.teach(labels, noise)
	for range refits {
		sample := m.sample.shuffled(config.Seed)
		if m.ratios, err = fitRatios(ctx, shape, config.Prior, sample, m.units, nil); err != nil {
			return err
		}
		for moved, turn := math.Inf(1), 0; moved > settled*m.deviation && turn < turns; turn++ {
			if err := m.condition(ctx); err != nil {
				return err
			}
			means, variances, err := m.OutOfFold(ctx, alone)
			if err != nil {
				return err
			}
			moved = 0
			for _, s := range sites {
				before := labels[s.row]
				labels[s.row], noise[s.row] = s.turn(means[s.row], variances[s.row]+m.Noise*m.sample.noises[s.row],
					mostUnknown*square(m.deviation))
				moved = max(moved, math.Abs(labels[s.row]-before)*m.deviation/math.Sqrt(square(m.deviation)+noise[s.row]))
			}
			m.teach(labels, noise)
		}
	}
	return m.condition(ctx)
}

// teach replaces the labels and the variances of their noise, but not the unit of the labels.
func (m *Model) teach(labels, noise []float64) {
	m.data.Labels, m.data.Noise = append([]float64(nil), labels...), append([]float64(nil), noise...)
	m.sample.known = make([]float64, len(labels))
	for i, y := range labels {
		m.sample.labels[i], m.sample.known[i] = (y-m.mean)/m.deviation, noise[i]/square(m.deviation)
	}
}

// site is a limit: below it if side is -1, above it if it is 1.
type site struct {
	row              int
	limit, side      float64
	own              float64 // variance of its noise that is known
	precision, shift float64 // 1/τ̃ and m̃/τ̃; both are 0 before the first turn
}

// turn moves the site towards what the other labels say of it, the mean and the variance of what has been measured but
// for the noise that is known, and returns m̃ and the variance of the noise.
func (s *site) turn(mean, variance, most float64) (label, noise float64) {
	deviation := math.Sqrt(variance + s.own)
	z := s.side * (mean - s.limit) / deviation
	ratio := hazard(z)
	share := ratio * (ratio + z) // δ
	precision := max(share/(1-share)/square(deviation), 1/most)
	shift := precision * (mean + s.side*deviation/(ratio+z))
	if s.precision > 0 {
		precision = s.precision + step*(precision-s.precision)
		shift = s.shift + step*(shift-s.shift)
	}
	s.precision, s.shift = precision, shift
	return shift / precision, 1/precision + s.own
}

// hazard is φ(z)/Φ(z).
func hazard(z float64) float64 {
	if z < -25 { // where both underflow
		return -z - 1/z
	}
	return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / (math.Erfc(-z/math.Sqrt2) / 2)
}
