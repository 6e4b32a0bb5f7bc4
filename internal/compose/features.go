package compose

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// What a kernel says of rows: features, values, distances.

// mostWritten is the largest number of features per row that is written to a file.
const mostWritten = 1 << 16

// streamedBytes bounds the memory of a block of features or inputs, unless it has few rows.
const streamedBytes = 16 << 20

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

// Features returns the features of rows under a kernel of a spec.
func Features[T matrix.Float](c *Composer, asked spec.Spec, k kernel.Kernel[T],
	rows matrix.Dense[T]) (matrix.Dense[T], error) {
	m, err := featureMap(asked, k)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	return featureMatrix(c, m, rows)
}

// EachBlock visits the features of blocks of rows.
func EachBlock[To, From matrix.Float](ctx context.Context, c *Composer, asked spec.Spec, k kernel.Kernel[To],
	rows matrix.Dense[From], visit func(matrix.Dense[To], []string) error) error {
	m, err := featureMap(asked, k)
	if err != nil {
		return err
	}
	each := max(kernel.BlockRows, streamedBytes/(8*max(1, m.Dim(), rows.Cols)))
	return kernel.OverRows(ctx, rows.Rows, each, func(from, to int) error {
		block, err := Features(c, asked, k, matrix.Converted[To](rows.Slice(from, to)))
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

// Gram returns the values of a kernel for the rows of a and b.
func Gram[T matrix.Float](ctx context.Context, c *Composer, k kernel.Kernel[T], a,
	b matrix.Dense[T]) (matrix.Dense[T], error) {
	dst := matrix.New[T](a.Rows, b.Rows)
	prepared, left, right, err := prepare(c, k, a, b)
	if err != nil {
		return dst, err
	}
	return dst, kernel.OverBlocks(ctx, a.Rows, func(from, to int) error {
		return prepared.Cross(ctx, dst.Slice(from, to), left.Slice(from, to), right)
	})
}

// distances returns the distance of each row from the nearest known one.
func distances[T matrix.Float](ctx context.Context, k kernel.Kernel[T], rows,
	known matrix.Dense[T]) ([]float64, error) {
	prepared, sets, err := kernels.Prepare(ctx, k, rows, known)
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
	var scratch kernels.Scratch[T]
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
