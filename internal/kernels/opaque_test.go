package kernels_test

import (
	"context"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// opaque hides the features of a kernel, and everything else that it is made of.
type opaque struct{ of kernel.Kernel[float64] }

func (o opaque) Inputs() int { return o.of.Inputs() }
func (o opaque) Diag(ctx context.Context, dst []float64, x matrix.Dense[float64]) error {
	return o.of.Diag(ctx, dst, x)
}
func (o opaque) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	return o.of.Cross(ctx, dst, a, b)
}

func TestConformOpaque(t *testing.T) {
	t.Parallel()
	net := someNetwork[float64](kerneltest.ReLU, 4, 6, 1)
	rows := someRows[float64](20, 4)
	kerneltest.Conform[float64](t, opaque{kernels.NewGrad(net)}, rows, 1e-12)
}
