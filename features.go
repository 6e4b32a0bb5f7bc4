package nextbatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// Numbers is a matrix in the precision that a spec computes in: float64 if it uses σ²,
// float32 otherwise. The other one is empty.
type Numbers struct {
	Single matrix.Dense[float32]
	Double matrix.Dense[float64]
}

// mostWritten is more features than anybody wants in a file.
const mostWritten = 1 << 16

// Features returns the features of the rows under the spec's kernel; its method
// does not matter. The rows must be scaled as those of the problem. A kernel without
// features, or with too many, is an error. The context is checked once per block of
// rows.
func Features[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T]) (Numbers, error) {
	k32, k64, err := kernelOf(ctx, forFeatures(spec), p, rows.Rows)
	if err != nil {
		return Numbers{}, err
	}
	if k64 != nil {
		f, err := featuresOf(ctx, spec, k64, matrix.Converted[float64](rows))
		return Numbers{Double: f}, err
	}
	f, err := featuresOf(ctx, spec, k32, matrix.Converted[float32](rows))
	return Numbers{Single: f}, err
}

// EachFeatures is Features block by block, in order, for features that need not fit into
// memory. A block is valid until visit returns.
func EachFeatures[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T], visit func(Numbers) error) error {
	return rowfile.Guard(func() error {
		k32, k64, err := kernelOf(ctx, forFeatures(spec), p, rows.Rows)
		switch {
		case err != nil:
			return err
		case k64 != nil:
			return eachBlock(ctx, spec, k64, rows, func(block matrix.Dense[float64]) error { return visit(Numbers{Double: block}) })
		}
		return eachBlock(ctx, spec, k32, rows, func(block matrix.Dense[float32]) error { return visit(Numbers{Single: block}) })
	})
}

// eachBlock visits the features of blocks of rows.
func eachBlock[To, From matrix.Float](ctx context.Context, spec spec.Spec, k kernel.Kernel[To], rows matrix.Dense[From], visit func(matrix.Dense[To]) error) error {
	return kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		block, err := featuresOf(ctx, spec, k, matrix.Converted[To](rows.Slice(from, to)))
		if err != nil {
			return err
		}
		return visit(block)
	})
}

// forFeatures returns a spec with the same kernel whose method keeps features
// where there is a choice.
func forFeatures(s spec.Spec) spec.Spec {
	s.Method, s.Mode = spec.LCMD, spec.P
	if s.DoubleKernel() {
		s.Method = spec.BAITForward
	}
	return s
}

// kernelOf returns the kernel of a spec, in one of two precisions, for so many rows.
func kernelOf(ctx context.Context, spec spec.Spec, p Problem, rows int) (kernel.Kernel[float32], kernel.Kernel[float64], error) {
	if !spec.UsesKernel() {
		return nil, nil, fmt.Errorf("%v uses no kernel", spec)
	}
	p.Batch, p.Constraints = 1, selection.Constraints{} // nothing is picked
	if err := errors.Join(spec.Validate(), p.check(spec)); err != nil {
		return nil, nil, err
	}
	c := newComposer(ctx, spec, p)
	k32, k64, err := c.kernel()
	if err != nil {
		return nil, nil, fmt.Errorf("%v: %w", spec, err)
	}
	c.embedding.expect(rows * c.spec.Members())
	return k32, k64, nil
}

func featuresOf[T matrix.Float](ctx context.Context, spec spec.Spec, k kernel.Kernel[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	m, ok := k.(kernel.FeatureMap[T])
	if !ok {
		return matrix.Dense[T]{}, fmt.Errorf("the kernel of %v has no explicit features; add sketch(p) to the spec, or use its kernel matrix", spec)
	}
	if m.Dim() > mostWritten {
		return matrix.Dense[T]{}, fmt.Errorf("the kernel of %v has %d features; add sketch(p) to the spec", spec, m.Dim())
	}
	return kernel.FeatureMatrix(ctx, m, rows)
}

// Gram returns the values of the spec's kernel for the rows of a and b. The method
// matters only in that one that uses σ² computes in float64. The context is checked
// once per block of rows.
func Gram[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, a, b matrix.Dense[T]) (Numbers, error) {
	k32, k64, err := kernelOf(ctx, spec, p, a.Rows+b.Rows)
	if err != nil {
		return Numbers{}, err
	}
	if k64 != nil {
		m, err := gramOf(ctx, k64, matrix.Converted[float64](a), matrix.Converted[float64](b))
		return Numbers{Double: m}, err
	}
	m, err := gramOf(ctx, k32, matrix.Converted[float32](a), matrix.Converted[float32](b))
	return Numbers{Single: m}, err
}

func gramOf[T matrix.Float](ctx context.Context, k kernel.Kernel[T], a, b matrix.Dense[T]) (matrix.Dense[T], error) {
	dst := matrix.New[T](a.Rows, b.Rows)
	prepared, sets, err := kernel.Prepare(ctx, k, a, b)
	if err != nil {
		return dst, err
	}
	return dst, kernel.OverBlocks(ctx, a.Rows, func(from, to int) error {
		return prepared.Cross(ctx, dst.Slice(from, to), sets[0].Slice(from, to), sets[1])
	})
}
