package kernel

import (
	"math"
	"sync"
)

// series are the expectations of any activation function. With the Hermite
// coefficients c_k(a) = E[φ(√a·z)·h_k(z)] of a standard normal z, by
// Gauss–Hermite quadrature, and u = b/√(ac),
//
//	E[φ(u)φ(v)] = Σ_k u^k·c_k(a)·c_k(c)
//
// and likewise for φ' with its own coefficients. Each term is positive
// semi-definite, so the kernel is, wherever the sum is cut. A quadrature per
// pair of rows would cost thousands of evaluations of φ; this takes a
// multiplication for each term.
type series struct {
	activation Activation
	tangent    bool
}

const (
	seriesTerms = 64
	seriesNodes = 192
)

// seriesRule is the quadrature: nodes, and for each node the polynomials there
// times its weight.
type seriesRule struct {
	nodes []float64
	terms [][]float64
}

// theSeriesRule takes some milliseconds to find, so it waits for a first use.
var theSeriesRule = sync.OnceValue(newSeriesRule)

func newSeriesRule() seriesRule {
	var r seriesRule
	var weights []float64
	r.nodes, weights = hermiteRule(seriesNodes)
	for i, z := range r.nodes {
		terms := make([]float64, seriesTerms)
		h, before := 1.0, 0.0
		for k := range terms {
			terms[k] = weights[i] * h
			h, before = (z*h-math.Sqrt(float64(k))*before)/math.Sqrt(float64(k+1)), h
		}
		r.terms = append(r.terms, terms)
	}
	return r
}

func newSeries(activation Activation, tangent bool) series { return series{activation, tangent} }

// size is the variance, and the coefficients of φ and, where they are needed, of
// φ'.
func (s series) size() int {
	if s.tangent {
		return 1 + 2*seriesTerms
	}
	return 1 + seriesTerms
}

func (s series) prepare(state []float64, a float64) float64 {
	clear(state)
	state[0] = a
	values, slopes := s.coefficients(state)
	rule, root := theSeriesRule(), math.Sqrt(a)
	for i, z := range rule.nodes {
		value, slope := s.activation(root * z)
		for k, t := range rule.terms[i] {
			values[k] += value * t
			if s.tangent {
				slopes[k] += slope * t
			}
		}
	}
	return power(values, values, 1)
}

func (s series) coefficients(state []float64) (values, slopes []float64) {
	return state[1 : 1+seriesTerms], state[1+seriesTerms:]
}

func (s series) expect(x, y []float64, b float64) (value, slope float64) {
	u := correlation(b, math.Sqrt(x[0]*y[0]))
	xValues, xSlopes := s.coefficients(x)
	yValues, ySlopes := s.coefficients(y)
	value = power(xValues, yValues, u)
	if s.tangent {
		slope = power(xSlopes, ySlopes, u)
	}
	return value, slope
}

// power returns Σ_k u^k·p_k·q_k.
func power(p, q []float64, u float64) float64 {
	sum := 0.0
	for k := len(p) - 1; k >= 0; k-- {
		sum = sum*u + p[k]*q[k]
	}
	return sum
}
