package learner

import (
	"math"

	"github.com/nextbatch/nextbatch/dataset"
)

// scale is a function g of labels with a declared limit, on which they may be easier to learn. With t the distance from
// the limit in units of the mean one, or the share of the way between two limits,
//
//	root   g = √t
//	log    g = log(t + ε)                   of one limit,   ε = 0.3
//	logit  g = log((t + ε)/(1 - t + ε))     of two limits,  ε = 0.03
//
// so labels at a limit, of which there may be many, are finite. The inverse takes t to its limits at most.
type scale struct {
	Name  string  `json:"scale"`
	Limit float64 `json:"limit"` // at which t is 0
	Unit  float64 `json:"unit"`  // of t; negative for an upper limit
	Two   bool    `json:"two,omitempty"`
	// Low and High are the ends of what is taken for a label on this scale: a quarter of the labels' range beyond them.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	rootScale  = "root"
	logScale   = "log"
	logitScale = "logit"

	logOffset   = 0.3
	logitOffset = 0.03
)

// limited reports whether a range has a limit.
func limited(r dataset.Range) bool { return !math.IsInf(r.Low, 0) || !math.IsInf(r.High, 0) }

// scalesOf returns the scales that labels with a range may be learnt on; none without a limit, or if no label is away
// from it.
func scalesOf(r dataset.Range, labels []float64) (list []scale) {
	low, high := !math.IsInf(r.Low, 0), !math.IsInf(r.High, 0)
	one, second := scale{Limit: r.Low}, logScale
	switch {
	case low && high:
		one.Unit, one.Two, second = r.High-r.Low, true, logitScale
	case low || high:
		if high {
			one.Limit = r.High
		}
		for _, y := range labels {
			one.Unit += (y - one.Limit) / float64(len(labels))
		}
	}
	if one.Unit == 0 || one.Unit-one.Unit != 0 {
		return nil
	}
	for _, name := range []string{rootScale, second} {
		s := one
		s.Name, s.Low, s.High = name, math.Inf(1), math.Inf(-1)
		for _, y := range labels {
			g := s.of(y)
			s.Low, s.High = min(s.Low, g), max(s.High, g)
		}
		beyond := (s.High - s.Low) / 4
		s.Low, s.High = s.Low-beyond, s.High+beyond
		list = append(list, s)
	}
	return list
}

// check reports whether there is such a scale.
func (s scale) check() bool {
	switch s.Name {
	case rootScale:
	case logScale:
		if s.Two {
			return false
		}
	case logitScale:
		if !s.Two {
			return false
		}
	default:
		return false
	}
	return s.Unit != 0 && allFinite([]float64{s.Limit, s.Unit, s.Low, s.High})
}

// most is the largest t.
func (s scale) most() float64 {
	if s.Two {
		return 1
	}
	return math.Inf(1)
}

// of is g.
func (s scale) of(label float64) float64 {
	t := min(max((label-s.Limit)/s.Unit, 0), s.most())
	switch s.Name {
	case rootScale:
		return math.Sqrt(t)
	case logScale:
		return math.Log(t + logOffset)
	}
	return math.Log((t + logitOffset) / (1 - t + logitOffset))
}

// label is the inverse of g.
func (s scale) label(g float64) float64 {
	g = min(max(g, s.Low), s.High)
	var t float64
	switch s.Name {
	case rootScale:
		t = max(g, 0) * max(g, 0)
	case logScale:
		t = math.Exp(g) - logOffset
	case logitScale:
		odds := math.Exp(g)
		t = ((1+logitOffset)*odds - logitOffset) / (1 + odds)
	}
	return s.Limit + s.Unit*min(max(t, 0), s.most())
}
