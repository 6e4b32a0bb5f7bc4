package selectiontest

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Laplace is exp(−‖x − x'‖), a kernel without features, and nothing but the
// methods that an interface asks for.
type Laplace[T matrix.Float] struct{ Width int }

var _ kernel.Kernel[float32] = Laplace[float32]{}

// LaplaceOf is the kernel of two rows.
func LaplaceOf(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Exp(-math.Sqrt(sum))
}

// Inputs returns the width of a row.
func (k Laplace[T]) Inputs() int { return k.Width }

// Diag writes ones.
func (k Laplace[T]) Diag(_ context.Context, dst []T, _ matrix.Dense[T]) error {
	for i := range dst {
		dst[i] = 1
	}
	return nil
}

// Cross writes the kernel of all pairs.
func (k Laplace[T]) Cross(_ context.Context, dst, a, b matrix.Dense[T]) error {
	for i := range a.Rows {
		for j := range b.Rows {
			dst.Set(i, j, T(LaplaceOf(widen(a.Row(i)), widen(b.Row(j)))))
		}
	}
	return nil
}

func widen[T matrix.Float](row []T) []float64 {
	wide := make([]float64, len(row))
	for i, v := range row {
		wide[i] = float64(v)
	}
	return wide
}
