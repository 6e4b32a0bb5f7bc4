// Package selftest compares products and factors of matrices with plain sums, on the machine where it runs.
package selftest

import (
	"math"
	"time"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Check is a comparison. It fails if the error is larger than the tolerance, or NaN.
type Check struct {
	Name             string
	Error, Tolerance float64 // relative
}

// Run makes all comparisons.
func Run() []Check {
	return []Check{
		{"matrix product, float32", productError(multiply[float32]), 1e-5},
		{"matrix product, float64", productError(multiply[float64]), 1e-13},
		{"large matrix product, float32", productError(multiplySplit), 3e-7},
		{"Cholesky factor", choleskyError(), 1e-11},
	}
}

// Drawn returns random numbers that are the same every time.
func Drawn[T matrix.Float](name string, rows, cols int) matrix.Dense[T] {
	stream := rng.New(1, "doctor "+name)
	m := matrix.New[T](rows, cols)
	for i := range m.Data {
		m.Data[i] = T(stream.NormFloat64())
	}
	return m
}

// GFlops measures products of large matrices in float32, in 10⁹ operations a second.
func GFlops() float64 {
	const n, repeats = 512, 8
	a, b, c := Drawn[float32]("a", n, n), Drawn[float32]("b", n, n), matrix.New[float32](n, n)
	multiplySplit(c, a, b)
	begin := time.Now()
	for range repeats {
		multiplySplit(c, a, b)
	}
	return 2 * n * n * n * repeats / time.Since(begin).Seconds() / 1e9
}

func multiply[T matrix.Float](c, a, b matrix.Dense[T]) {
	linalg.Gemm(nil, c, 1, a, linalg.NoTrans, b, linalg.NoTrans, 0)
}

// multiplySplit multiplies as networks do.
func multiplySplit(c, a, b matrix.Dense[float32]) {
	linalg.GemmSplit(nil, c, 1, a, linalg.NoTrans, b, linalg.NoTrans, 0, nil)
}

// productError compares a product with sums in float64.
func productError[T matrix.Float](multiply func(c, a, b matrix.Dense[T])) float64 {
	const n, k = 131, 133 // multiples of no block size
	a, b, c := Drawn[T]("a", n, k), Drawn[T]("b", k, n), matrix.New[T](n, n)
	multiply(c, a, b)
	worst := 0.0
	for i := range n {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(a.At(i, l)) * float64(b.At(l, j))
			}
			worst = math.Max(worst, math.Abs(sum-float64(c.At(i, j)))/k)
		}
	}
	return worst
}

// choleskyError multiplies the factor of a matrix with itself.
func choleskyError() float64 {
	const n = 70
	a, m := Drawn[float64]("c", n, 2*n), matrix.New[float64](n, n)
	linalg.Gemm(nil, m, 1, a, linalg.NoTrans, a, linalg.Trans, 0)
	l := m.Clone()
	if err := linalg.Cholesky(nil, l); err != nil {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range j + 1 {
				sum += l.At(i, k) * l.At(j, k)
			}
			worst = math.Max(worst, math.Abs(sum-m.At(i, j))/n)
		}
	}
	return worst
}
