package kernels

import (
	"math"
	"sync"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
)

// series are the expectations of any activation function. With the Hermite
// coefficients c_k(a) = E[φ(√a·z)·h_k(z)] of a standard normal z, by
// Gauss–Hermite quadrature, and u = b/√(ac),
//
//	E[φ(u)φ(v)] = Σ_k u^k·c_k(a)·c_k(c)
//
// and likewise for φ' with its own coefficients. Each term is positive
// semi-definite, so the kernel is too, wherever the sum is truncated. A
// quadrature for every pair of rows would cost thousands of evaluations of φ;
// this costs one multiplication per term.
type series struct {
	activation kernel.Activation
	tangent    bool
}

const (
	seriesTerms = 64 // a multiple of four
	seriesNodes = 192
)

// seriesRule is the quadrature: its nodes and, for each node, the values of the
// polynomials there times its weight.
type seriesRule struct {
	nodes []float64
	terms [][]float64
}

// theSeriesRule takes a few milliseconds to compute, so it is computed on first
// use.
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

func newSeries(activation kernel.Activation, tangent bool) series { return series{activation, tangent} }

// size counts the variance, the coefficients of φ and, where they are needed,
// those of φ'.
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
	rule, root, set := theSeriesRule(), math.Sqrt(a), simd.For[float64]()
	for i, z := range rule.nodes {
		value, slope := s.activation(root * z)
		set.Axpy(values, rule.terms[i], value)
		if s.tangent {
			set.Axpy(slopes, rule.terms[i], slope)
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

// power returns Σ_k u^k·p_k·q_k. Four independent sums in powers of u⁴ hide the
// latency that a single one would wait for.
func power(p, q []float64, u float64) float64 {
	var s0, s1, s2, s3 float64
	fourth := u * u * u * u
	for k := seriesTerms - 4; k >= 0; k -= 4 {
		s0 = s0*fourth + p[k]*q[k]
		s1 = s1*fourth + p[k+1]*q[k+1]
		s2 = s2*fourth + p[k+2]*q[k+2]
		s3 = s3*fourth + p[k+3]*q[k+3]
	}
	return s0 + u*(s1+u*(s2+u*s3))
}
