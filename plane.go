package nextbatch

import (
	"context"

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
	k32, k64, err := kernelOf(ctx, spec, p, sample.Rows+rows.Rows)
	if err != nil {
		return kernel.Plane{}, err
	}
	if k64 != nil {
		return kernel.PrincipalPlane(ctx, k64, matrix.Converted[float64](sample), matrix.Converted[float64](rows))
	}
	return kernel.PrincipalPlane(ctx, k32, sample, rows)
}
