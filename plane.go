package nextbatch

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// Plane projects the rows onto the first two principal directions of the spec's
// kernel, which are computed from the sample; the method does not matter. If it uses
// no kernel, the inputs themselves are projected. The rows must be scaled as those of
// the problem. The context is checked once per block of rows.
func Plane(ctx context.Context, spec spec.Spec, p Problem, sample, rows matrix.Dense[float32]) (kernel.Plane, error) {
	if !spec.UsesKernel() {
		return kernel.PrincipalPlane(ctx, kernel.NewLinear[float32](rows.Cols), sample, rows)
	}
	_, k32, k64, err := kernelOf(ctx, spec, p, sample.Rows+rows.Rows)
	if err != nil {
		return kernel.Plane{}, err
	}
	if k64 != nil {
		return kernel.PrincipalPlane(ctx, k64, matrix.Converted[float64](sample), matrix.Converted[float64](rows))
	}
	return kernel.PrincipalPlane(ctx, k32, sample, rows)
}

// Distances returns the distance of each row from the nearest of some known rows in the
// spec's kernel, √(k(x, x) + k(y, y) − 2·k(x, y)); if it uses no kernel, in the inputs. The
// rows must be scaled as those of the problem. The context is checked once per block of rows.
func Distances(ctx context.Context, spec spec.Spec, p Problem, rows, known matrix.Dense[float32]) ([]float64, error) {
	if !spec.UsesKernel() {
		return distances(ctx, kernel.NewLinear[float32](rows.Cols), rows, known)
	}
	_, k32, k64, err := kernelOf(ctx, spec, p, rows.Rows+known.Rows)
	if err != nil {
		return nil, err
	}
	if k64 != nil {
		return distances(ctx, k64, matrix.Converted[float64](rows), matrix.Converted[float64](known))
	}
	return distances(ctx, k32, rows, known)
}

func distances[T matrix.Float](ctx context.Context, k kernel.Kernel[T], rows, known matrix.Dense[T]) ([]float64, error) {
	prepared, sets, err := kernel.Prepare(ctx, k, rows, known)
	if err != nil {
		return nil, err
	}
	own, theirs := make([]T, rows.Rows), make([]T, known.Rows)
	if err := prepared.Diag(ctx, own, sets[0]); err != nil {
		return nil, err
	}
	if err := prepared.Diag(ctx, theirs, sets[1]); err != nil {
		return nil, err
	}
	nearest := make([]float64, rows.Rows)
	var scratch kernel.Scratch[T]
	return nearest, kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		block := scratch.Matrix(to-from, known.Rows)
		if err := prepared.Cross(ctx, block, sets[0].Slice(from, to), sets[1]); err != nil {
			return err
		}
		for i := range block.Rows {
			least := math.Inf(1)
			for j, v := range block.Row(i) {
				least = min(least, float64(own[from+i])+float64(theirs[j])-2*float64(v))
			}
			nearest[from+i] = math.Sqrt(max(0, least)) // rounding can leave it below 0
		}
		return nil
	})
}
