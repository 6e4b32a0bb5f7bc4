package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// radial is a kernel of the distance of two rows. It has infinitely many features.
// Distances are computed from differences, so that for equal rows they are exactly
// 0 and the kernel is exactly its value there.
type radial[T matrix.Float] struct {
	NoFeatures[T]
	atZero T // k(x, x)
	// rate and freedom describe its waves (Spectrum): rate times the distance is what k
	// depends on.
	rate, freedom float64
	// values turns squared distances into kernel values, in place.
	values func(set *simd.Set[T], squared []T)
}

func (k radial[T]) Parts() int { return 1 }

func (k radial[T]) Diag(ctx context.Context, dst []T, _ []matrix.Dense[T]) error {
	for i := range dst {
		dst[i] = k.atZero
	}
	return nil
}

func (k radial[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if b[0].Rows > 0 {
		linalg.TeamOf(ctx).Run(dst.Rows, &radialJob[T]{k, dst, a[0], b[0]})
	}
	return nil
}

// radialJob computes rows of a cross matrix. Each of its parts is one row.
type radialJob[T matrix.Float] struct {
	kernel    radial[T]
	dst, a, b matrix.Dense[T]
}

func (j *radialJob[T]) Do(i, _ int) {
	set, dst := simd.For[T](), j.dst.Row(i)
	set.SqDistRows(dst, j.a.Row(i), j.b.Data, j.b.Stride)
	j.kernel.values(set, dst)
}
