package linalg

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// dotAbs returns Σ x[i]·y[i] and Σ |x[i]·y[i]|: a result and the scale of its
// rounding errors. The tests spend most of their time here, and the race detector
// would make it ten times as long.
//
//go:norace
func dotAbs(x, y []float64) (sum, size float64) {
	for i, v := range x {
		term := v * y[i]
		sum += term
		size += math.Abs(term)
	}
	return sum, size
}

// toFloat64 returns op(m) in float64.
func toFloat64[T matrix.Float](m matrix.Dense[T], op Op) matrix.Dense[float64] {
	s := op.shape(m.Rows, m.Cols)
	w := matrix.New[float64](s.Rows, s.Cols)
	for i := range m.Rows {
		for j, v := range m.Row(i) {
			if op == Trans {
				w.Set(j, i, float64(v))
			} else {
				w.Set(i, j, float64(v))
			}
		}
	}
	return w
}

// lowerOf returns op(m) in float64, with zero for the strict upper triangle of m.
func lowerOf[T matrix.Float](m matrix.Dense[T], op Op) matrix.Dense[float64] {
	m = m.Clone()
	for i := range m.Rows {
		clear(m.Row(i)[i+1:])
	}
	return toFloat64(m, op)
}
