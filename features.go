package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/place"
	"github.com/nextbatch/nextbatch/spec"
)

// Numbers is a matrix in the precision that a spec computes in: float64 if it uses σ²,
// float32 otherwise. The other one is empty.
type Numbers struct {
	Single   matrix.Dense[float32]
	Double   matrix.Dense[float64]
	Warnings []string // about how they were computed
}

// mostWritten is more features than anybody wants in a file.
const mostWritten = 1 << 16

// streamedBytes bounds the memory of a block of features or inputs, unless it has few rows.
const streamedBytes = 16 << 20

// Features returns the features of the rows under the spec's kernel; its method
// does not matter. The rows must be scaled as those of the problem. A kernel without
// features, or with too many, is an error. The context is checked once per block of
// rows.
func Features[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T]) (Numbers, error) {
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
	n.Warnings = c.warnings
	return n, err
}

// EachFeatures is Features block by block, in order, for features that need not fit into
// memory. A block is valid until visit returns. Warnings come with the last block.
func EachFeatures[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, rows matrix.Dense[T], visit func(Numbers) error) error {
	return rowfile.Guard(func() error {
		c, k32, k64, err := kernelOf(ctx, forFeatures(spec), p, rows.Rows)
		switch {
		case err != nil:
			return err
		case k64 != nil:
			return eachBlock(c, spec, k64, rows, func(block matrix.Dense[float64], warnings []string) error {
				return visit(Numbers{Double: block, Warnings: warnings})
			})
		}
		return eachBlock(c, spec, k32, rows, func(block matrix.Dense[float32], warnings []string) error {
			return visit(Numbers{Single: block, Warnings: warnings})
		})
	})
}

// eachBlock visits the features of blocks of rows.
func eachBlock[To, From matrix.Float](c *composer, asked spec.Spec, k kernel.Kernel[To], rows matrix.Dense[From], visit func(matrix.Dense[To], []string) error) error {
	m, err := featureMap(asked, k)
	if err != nil {
		return err
	}
	each := max(kernel.BlockRows, streamedBytes/(8*max(1, m.Dim(), rows.Cols)))
	return kernel.OverRows(c.ctx, rows.Rows, each, func(from, to int) error {
		block, err := featuresOf(c, asked, k, matrix.Converted[To](rows.Slice(from, to)))
		if err != nil {
			return err
		}
		var warnings []string
		if to == rows.Rows {
			warnings = c.warnings
		}
		return visit(block, warnings)
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
func kernelOf(ctx context.Context, spec spec.Spec, p Problem, rows int) (*composer, kernel.Kernel[float32], kernel.Kernel[float64], error) {
	if !spec.UsesKernel() {
		return nil, nil, nil, fmt.Errorf("%v uses no kernel", spec)
	}
	p.Batch, p.Constraints = 1, selection.Constraints{} // nothing is picked
	if err := errors.Join(spec.Validate(), p.check(spec)); err != nil {
		return nil, nil, nil, err
	}
	c := newComposer(ctx, spec, p)
	k32, k64, err := c.kernel()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%v: %w", spec, err)
	}
	c.embedding.expect(rows * c.spec.Members())
	return c, k32, k64, nil
}

// featureMap returns a kernel that has features, and not too many.
func featureMap[T matrix.Float](asked spec.Spec, k kernel.Kernel[T]) (kernel.FeatureMap[T], error) {
	m, ok := k.(kernel.FeatureMap[T])
	if !ok {
		return nil, fmt.Errorf("the kernel of %v has no explicit features; add sketch(p) to the spec, or use its kernel matrix", asked)
	}
	if m.Dim() > mostWritten {
		return nil, fmt.Errorf("the kernel of %v has %d features; add sketch(p) to the spec", asked, m.Dim())
	}
	return m, nil
}

func featuresOf[T matrix.Float](c *composer, asked spec.Spec, k kernel.Kernel[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	m, err := featureMap(asked, k)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	f, done, err := fetched(c, k, rows)
	if done || err != nil {
		return f, err
	}
	if !kernel.IsLinear(k) {
		c.warnOfCPU("they are too many; add sketch(p) to the spec")
	}
	return kernel.FeatureMatrix(c.ctx, m, rows)
}

// fetched returns the features of rows from the device of the context, and false if there is
// none or the CPU has to compute them.
func fetched[T matrix.Float](c *composer, k kernel.Kernel[T], rows matrix.Dense[T]) (matrix.Dense[T], bool, error) {
	f, err := embedOn(c, k, rows)
	if f == nil || err != nil {
		return matrix.Dense[T]{}, false, err
	}
	defer f.Close()
	features, err := place.Fetched(f)
	if err == nil {
		err = kernel.CheckFeatures(c.ctx, features)
	}
	return features, true, err
}

// fetchedToo is fetched for rows that belong to others which the device has computed.
func fetchedToo[T matrix.Float](c *composer, k kernel.Kernel[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	features, done, err := fetched(c, k, rows)
	if err == nil && !done {
		err = errors.New("the device computed the features of some rows, but not of all")
	}
	return features, err
}

// embedOn computes the features of rows on the device of the context and leaves them there,
// and returns nil where the CPU has to compute them.
func embedOn[T matrix.Float](c *composer, k kernel.Kernel[T], rows matrix.Dense[T]) (place.DeviceFeatures[T], error) {
	f, note, err := place.Embed(c.ctx, k, rows)
	if note != "" && !slices.Contains(c.warnings, note) {
		c.warnings = append(c.warnings, note)
	}
	if f != nil {
		c.embedding.passed(rows.Rows * c.spec.Members())
	}
	return f, err
}

// warnOfCPU warns that the CPU computes features, if the context has a device and no warning
// says so yet.
func (c *composer) warnOfCPU(why string) {
	const words = "the features were computed on the CPU, not on "
	d := network.DeviceOf(c.ctx)
	if d != nil && !slices.ContainsFunc(c.warnings, func(w string) bool { return strings.HasPrefix(w, words) }) {
		c.warnings = append(c.warnings, words+d.Name()+": "+why)
	}
}

// Gram returns the values of the spec's kernel for the rows of a and b. The method
// matters only in that one that uses σ² computes in float64. The context is checked
// once per block of rows.
func Gram[T matrix.Float](ctx context.Context, spec spec.Spec, p Problem, a, b matrix.Dense[T]) (Numbers, error) {
	c, k32, k64, err := kernelOf(ctx, spec, p, a.Rows+b.Rows)
	if err != nil {
		return Numbers{}, err
	}
	n := Numbers{}
	if k64 != nil {
		n.Double, err = gramOf(c, k64, matrix.Converted[float64](a), matrix.Converted[float64](b))
	} else {
		n.Single, err = gramOf(c, k32, matrix.Converted[float32](a), matrix.Converted[float32](b))
	}
	n.Warnings = c.warnings
	return n, err
}

func gramOf[T matrix.Float](c *composer, k kernel.Kernel[T], a, b matrix.Dense[T]) (matrix.Dense[T], error) {
	dst := matrix.New[T](a.Rows, b.Rows)
	prepared, left, right, err := prepare(c, k, a, b)
	if err != nil {
		return dst, err
	}
	return dst, kernel.OverBlocks(c.ctx, a.Rows, func(from, to int) error {
		return prepared.Cross(c.ctx, dst.Slice(from, to), left.Slice(from, to), right)
	})
}

// prepare is kernel.Prepare for two sets of rows, on the device of the context where that
// computes their features.
func prepare[T matrix.Float](c *composer, k kernel.Kernel[T], a, b matrix.Dense[T]) (prepared kernel.Kernel[T], left, right matrix.Dense[T], err error) {
	left, done, err := fetched(c, k, a)
	if err == nil && done {
		right, err = fetchedToo(c, k, b)
		return kernel.NewLinear[T](left.Cols), left, right, err
	}
	if err != nil {
		return nil, left, right, err
	}
	if !kernel.IsLinear(k) {
		c.warnOfCPU("the kernel has no explicit features")
	}
	prepared, sets, err := kernel.Prepare(c.ctx, k, a, b)
	if err != nil {
		return nil, left, right, err
	}
	return prepared, sets[0], sets[1], nil
}
