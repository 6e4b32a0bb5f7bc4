package compose

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Both is a kernel in the precision that its spec computes in; the other one is nil.
type Both struct {
	Single kernel.Kernel[float32]
	Double kernel.Kernel[float64]
}

// Plane projects the rows onto the first two principal directions of the kernel, which are computed from the sample.
// The context is checked once per block of rows.
func (k Both) Plane(ctx context.Context, sample, rows matrix.Dense[float32]) (kernels.Plane, error) {
	if k.Double != nil {
		return kernels.PrincipalPlane(ctx, k.Double, matrix.Converted[float64](sample), matrix.Converted[float64](rows))
	}
	return kernels.PrincipalPlane(ctx, k.Single, sample, rows)
}

// Distances returns the distance of each row from the nearest of some known rows in the kernel,
// √(k(x, x) + k(y, y) − 2·k(x, y)). The context is checked once per block of rows.
func (k Both) Distances(ctx context.Context, rows, known matrix.Dense[float32]) ([]float64, error) {
	if k.Double != nil {
		return distances(ctx, k.Double, matrix.Converted[float64](rows), matrix.Converted[float64](known))
	}
	return distances(ctx, k.Single, rows, known)
}
