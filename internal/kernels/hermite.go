package kernels

import "math"

// Gauss–Hermite quadrature: E[f(z)] ≈ Σ_i weights[i]·f(nodes[i]) for a standard
// normal z, exact for polynomials up to degree 2n−1. The nodes are the roots of
// the Hermite polynomial of degree n, here orthonormal:
//
//	h_0 = 1,  h_1(z) = z,  √(k+1)·h_{k+1}(z) = z·h_k(z) − √k·h_{k−1}(z)
//
// and the weights are 1/(n·h_{n−1}(node)²).

// hermiteRule returns the rule with n nodes, from the lowest to the highest.
func hermiteRule(n int) (nodes, weights []float64) {
	// The roots lie within ±2√n and at least π/√(4n+2) apart, so a search in
	// smaller steps finds every change of sign.
	edge := 2*math.Sqrt(float64(n)) + 1
	step := math.Pi / math.Sqrt(float64(4*n+2)) / 3
	for z := -edge; z < edge; z += step {
		below, above := hermite(n, z), hermite(n, z+step)
		if below == 0 || (below < 0) == (above < 0) {
			continue
		}
		root := bisect(func(z float64) float64 { return hermite(n, z) }, z, z+step)
		last := hermite(n-1, root)
		nodes, weights = append(nodes, root), append(weights, 1/(float64(n)*last*last))
	}
	return nodes, weights
}

// hermite returns h_n(z).
func hermite(n int, z float64) float64 {
	h, before := 1.0, 0.0
	for k := range n {
		h, before = (z*h-math.Sqrt(float64(k))*before)/math.Sqrt(float64(k+1)), h
	}
	return h
}

// bisect returns a root of f between low and high, where its sign changes.
func bisect(f func(float64) float64, low, high float64) float64 {
	positive := f(low) > 0
	for {
		middle := low + (high-low)/2
		if middle <= low || middle >= high {
			return middle
		}
		if f(middle) > 0 == positive {
			low = middle
		} else {
			high = middle
		}
	}
}
