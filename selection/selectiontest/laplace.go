package selectiontest

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Laplace is exp(−‖x − x'‖), a kernel without features, with only the
// methods that the interface requires.
type Laplace[T matrix.Float] struct{ Width int }

var _ kernel.Kernel[float32] = Laplace[float32]{}

// LaplaceOf is the kernel of two rows.
//
//go:norace
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
			dst.Set(i, j, T(LaplaceOf(inFloat64(a.Row(i)), inFloat64(b.Row(j)))))
		}
	}
	return nil
}

func inFloat64[T matrix.Float](row []T) []float64 {
	converted := make([]float64, len(row))
	for i, v := range row {
		converted[i] = float64(v)
	}
	return converted
}
