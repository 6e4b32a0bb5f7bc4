package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/compose"
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

// mostWritten is the largest number of features per row that is written to a file.
const mostWritten = 1 << 16

// streamedBytes bounds the memory of a block of features or inputs, unless it has few rows.
const streamedBytes = 16 << 20

// Features returns the features of the rows under the spec's kernel; its method
// does not matter. The rows must be scaled as those of the problem. A kernel without
// features, or with too many, is an error. The context is checked once per block of
// rows.
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
		n.Double, err = featuresOf(c, spec, k64, matrix.Converted[float64](rows))
	} else {
		n.Single, err = featuresOf(c, spec, k32, matrix.Converted[float32](rows))
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
			return eachBlock(ctx, c, spec, k64, rows, func(block matrix.Dense[float64], warnings []string) error {
				return visit(Numbers{Double: block, Warnings: warnings})
			})
		}
		return eachBlock(ctx, c, spec, k32, rows, func(block matrix.Dense[float32], warnings []string) error {
			return visit(Numbers{Single: block, Warnings: warnings})
		})
	})
}

// eachBlock visits the features of blocks of rows.
func eachBlock[To, From matrix.Float](ctx context.Context, c *compose.Composer, asked spec.Spec, k kernel.Kernel[To],
	rows matrix.Dense[From], visit func(matrix.Dense[To], []string) error) error {
	m, err := featureMap(asked, k)
	if err != nil {
		return err
	}
	each := max(kernel.BlockRows, streamedBytes/(8*max(1, m.Dim(), rows.Cols)))
	return kernel.OverRows(ctx, rows.Rows, each, func(from, to int) error {
		block, err := featuresOf(c, asked, k, matrix.Converted[To](rows.Slice(from, to)))
		if err != nil {
			return err
		}
		var warnings []string
		if to == rows.Rows {
			warnings = c.Warnings
		}
		return visit(block, warnings)
	})
}

// forFeatures returns a spec with the same kernel whose method keeps features
// where there is a choice.
func forFeatures(s spec.Spec) spec.Spec {
	s.Method, s.Mode = "lcmd", spec.P
	if s.DoubleKernel() {
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

// featureMap returns a kernel that has features, and not too many.
func featureMap[T matrix.Float](asked spec.Spec, k kernel.Kernel[T]) (kernel.FeatureMap[T], error) {
	m, ok := k.(kernel.FeatureMap[T])
	if !ok {
		return nil,
			fmt.Errorf("the kernel of %v has no explicit features; add sketch(p) to the spec, or use its kernel matrix", asked)
	}
	if m.Dim() > mostWritten {
		return nil, fmt.Errorf("the kernel of %v has %d features; add sketch(p) to the spec", asked, m.Dim())
	}
	return m, nil
}

func featuresOf[T matrix.Float](c *compose.Composer, asked spec.Spec, k kernel.Kernel[T],
	rows matrix.Dense[T]) (matrix.Dense[T], error) {
	m, err := featureMap(asked, k)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	return compose.FeatureMatrix(c, m, rows)
}

// Gram returns the values of the spec's kernel for the rows of a and b. The method
// matters only because the kernel is in float64 if the method uses σ². The context is checked
// once per block of rows.
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
		n.Double, err = gramOf(ctx, c, k64, matrix.Converted[float64](a), matrix.Converted[float64](b))
	} else {
		n.Single, err = gramOf(ctx, c, k32, matrix.Converted[float32](a), matrix.Converted[float32](b))
	}
	n.Warnings = c.Warnings
	return n, err
}

func gramOf[T matrix.Float](ctx context.Context, c *compose.Composer, k kernel.Kernel[T], a,
	b matrix.Dense[T]) (matrix.Dense[T], error) {
	dst := matrix.New[T](a.Rows, b.Rows)
	prepared, left, right, err := compose.Prepare(c, k, a, b)
	if err != nil {
		return dst, err
	}
	return dst, kernel.OverBlocks(ctx, a.Rows, func(from, to int) error {
		return prepared.Cross(ctx, dst.Slice(from, to), left.Slice(from, to), right)
	})
}

// Numbers of rows in a picture of a batch: those that it shows besides the picks, and those
// from which a Plane is computed.
const (
	ShownCandidates = 2000
	ShownLabelled   = 1000
	PlaneSample     = 512
)

// Spread returns at most most of n rows, evenly spread, such as the sample of a Plane.
func Spread(n, most int) []int {
	rows := make([]int, min(n, most))
	for i := range rows {
		rows[i] = i * n / len(rows)
	}
	return rows
}

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

func distances[T matrix.Float](ctx context.Context, k kernel.Kernel[T], rows,
	known matrix.Dense[T]) ([]float64, error) {
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
