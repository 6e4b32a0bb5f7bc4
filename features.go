package nextbatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/compose"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// Numbers is a matrix in the precision that a spec computes in: float64 if it uses σ²,
// float32 otherwise. The other one is empty.
type Numbers struct {
	Single   matrix.Dense[float32]
	Double   matrix.Dense[float64]
	Warnings []string // about how they were computed
}

// Features returns the features of the rows under the spec's kernel; its method does not matter. The rows must be
// scaled as those of the problem. A kernel without features, or with too many, is an error. The context is checked once
// per block of rows.
func Features[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T]) (Numbers, error) {
	if rows, single := any(rows).(matrix.Dense[float32]); single {
		return features32(ctx, spec, p, rows)
	}
	return features64(ctx, spec, p, any(rows).(matrix.Dense[float64]))
}

// The functions that others call, for each precision. These are variables, so that the packages that call them do not
// compile the engine once more.
var (
	features32, features64         = features[float32], features[float64]
	eachFeatures32, eachFeatures64 = eachFeatures[float32], eachFeatures[float64]
	gram32, gram64                 = gram[float32], gram[float64]
)

func features[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T]) (Numbers, error) {
	c, k32, k64, err := kernelOf(ctx, forFeatures(spec), p, rows.Rows)
	if err != nil {
		return Numbers{}, err
	}
	n := Numbers{}
	if k64 != nil {
		n.Double, err = compose.Features(c, spec, k64, matrix.Converted[float64](rows))
	} else {
		n.Single, err = compose.Features(c, spec, k32, matrix.Converted[float32](rows))
	}
	n.Warnings = c.Warnings
	return n, err
}

// EachFeatures is Features block by block, in order, for features that need not fit into
// memory. A block is valid until visit returns. Warnings come with the last block.
func EachFeatures[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T],
	visit func(Numbers) error) error {
	if rows, single := any(rows).(matrix.Dense[float32]); single {
		return eachFeatures32(ctx, spec, p, rows, visit)
	}
	return eachFeatures64(ctx, spec, p, any(rows).(matrix.Dense[float64]), visit)
}

func eachFeatures[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T],
	visit func(Numbers) error) error {
	return rowfile.Guard(func() error {
		c, k32, k64, err := kernelOf(ctx, forFeatures(spec), p, rows.Rows)
		switch {
		case err != nil:
			return err
		case k64 != nil:
			return compose.EachBlock(ctx, c, spec, k64, rows, func(block matrix.Dense[float64], warnings []string) error {
				return visit(Numbers{Double: block, Warnings: warnings})
			})
		}
		return compose.EachBlock(ctx, c, spec, k32, rows, func(block matrix.Dense[float32], warnings []string) error {
			return visit(Numbers{Single: block, Warnings: warnings})
		})
	})
}

// forFeatures returns a spec with the same kernel whose method keeps features where there is a choice.
func forFeatures(s spec.Spec) spec.Spec {
	s.Method, s.Mode = "lcmd", spec.P
	if needs.DoubleKernel(s) {
		s.Method = "bait-f"
	}
	return s
}

// kernelOf returns the kernel of a spec, in one of two precisions, for a number of rows.
func kernelOf(ctx context.Context, spec spec.Spec, p Problem,
	rows int) (*compose.Composer, kernel.Kernel[float32], kernel.Kernel[float64], error) {
	if !spec.UsesKernel() {
		return nil, nil, nil, fmt.Errorf("%v uses no kernel", spec)
	}
	p.Batch, p.Constraints = 1, selection.Constraints{} // nothing is picked
	if err := errors.Join(spec.Validate(), p.check(spec)); err != nil {
		return nil, nil, nil, err
	}
	c := compose.New(ctx, partsOf(&p, spec))
	k32, k64, err := c.Kernel()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%v: %w", spec, err)
	}
	c.Expect(rows)
	return c, k32, k64, nil
}

// Gram returns the values of the spec's kernel for the rows of a and b. The method matters only because the kernel is
// in float64 if the method uses σ². The context is checked once per block of rows.
func Gram[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, a, b matrix.Dense[T]) (Numbers, error) {
	if a, single := any(a).(matrix.Dense[float32]); single {
		return gram32(ctx, spec, p, a, any(b).(matrix.Dense[float32]))
	}
	return gram64(ctx, spec, p, any(a).(matrix.Dense[float64]), any(b).(matrix.Dense[float64]))
}

func gram[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, a, b matrix.Dense[T]) (Numbers, error) {
	c, k32, k64, err := kernelOf(ctx, spec, p, a.Rows+b.Rows)
	if err != nil {
		return Numbers{}, err
	}
	n := Numbers{}
	if k64 != nil {
		n.Double, err = compose.Gram(ctx, c, k64, matrix.Converted[float64](a), matrix.Converted[float64](b))
	} else {
		n.Single, err = compose.Gram(ctx, c, k32, matrix.Converted[float32](a), matrix.Converted[float32](b))
	}
	n.Warnings = c.Warnings
	return n, err
}

// KernelOf returns the kernel of a spec for so many rows, which must be scaled as those of the problem; the method does
// not matter. If it uses no kernel, that of the inputs themselves is returned.
func KernelOf(ctx context.Context, spec spec.Spec, p Problem, rows int) (k compose.Both, err error) {
	if !spec.UsesKernel() {
		return compose.Both{Single: kernel.NewLinear[float32](p.Pool.Cols)}, nil
	}
	_, k.Single, k.Double, err = kernelOf(ctx, spec, p, rows)
	return k, err
}
