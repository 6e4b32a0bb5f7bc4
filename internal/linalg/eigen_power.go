package linalg

import (
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// LargestEigenvalue returns the largest eigenvalue of a positive semidefinite matrix, or of the matrix with
// centred rows and columns. It uses power iteration: the estimate rises with every step, and has converged
// when it no longer does.
func LargestEigenvalue(gram matrix.Dense[float64], centred bool) float64 {
	const steps, tolerance = 1000, 1e-9
	set := simd.For[float64]()
	v, next := make([]float64, gram.Rows), make([]float64, gram.Rows)
	copy(v, gram.Row(0)) // orthogonal to the eigenvector only if the first row is
	value := 0.0
	for range steps {
		if centred {
			centre(v)
		}
		length := math.Sqrt(set.Dot(v, v))
		if !(length > 0) {
			return value
		}
		for i := range v {
			v[i] /= length
		}
		for i := range next {
			next[i] = set.Dot(gram.Row(i), v)
		}
		estimate := set.Dot(v, next)
		v, next = next, v
		if estimate <= value*(1+tolerance) {
			return max(estimate, value)
		}
		value = estimate
	}
	return value
}

func centre(v []float64) {
	mean := 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for i := range v {
		v[i] -= mean
	}
}
