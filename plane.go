package nextbatch

import (
	"context"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// Plane returns where the rows lie in the first two principal directions of the
// spec's kernel, which are computed on the sample; its method does not matter.
// A method without a kernel is shown by the inputs themselves. The rows are
// scaled as those of the problem. The context is looked at once a block of rows.
func Plane(ctx context.Context, spec spec.Spec, p Problem, sample, rows matrix.Dense[float32]) (kernel.Plane, error) {
	if !spec.UsesKernel() {
		return kernel.PrincipalPlane(ctx, kernel.NewLinear[float32](rows.Cols), sample, rows)
	}
	narrow, wide, err := kernelOf(ctx, spec, p, sample.Rows+rows.Rows)
	if err != nil {
		return kernel.Plane{}, err
	}
	if wide != nil {
		return kernel.PrincipalPlane(ctx, wide, matrix.Converted[float64](sample), matrix.Converted[float64](rows))
	}
	return kernel.PrincipalPlane(ctx, narrow, sample, rows)
}
