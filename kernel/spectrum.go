package kernel

// Effective dimension of a set of rows (paper, section "Results"):
//
//	d_eff = tr k(X, X) / ‖k(X, X)‖₂ = (λ_1 + … + λ_d)/λ_1
//
// with the eigenvalues λ_1 ≥ … ≥ λ_d of φ(X)ᵀφ(X), which are also those of
// k(X, X). The published code first centres the features, as for a principal
// component analysis.

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// EffectiveDimension returns d_eff of the rows, with centred features on
// request. A kernel that is zero on all rows, or, if centred, constant, is an
// error.
func EffectiveDimension[T matrix.Float](ctx context.Context, k Kernel[T], rows matrix.Dense[T], centred bool) (float64, error) {
	spectrum, err := Spectrum(ctx, k, rows, centred)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, v := range spectrum {
		sum += v
	}
	if len(spectrum) == 0 || !(spectrum[0] > 0) {
		return 0, fmt.Errorf("the kernel is degenerate on %d rows: no eigenvalue is positive", rows.Rows)
	}
	return sum / spectrum[0], nil
}

// Spectrum returns the eigenvalues of φ(X)ᵀφ(X), the largest first, with centred
// features on request. There are as many as features or as rows, whichever are
// fewer; the others are zero. The work is cubic in that number, so pass a sample
// of the rows for a kernel with many features.
func Spectrum[T matrix.Float](ctx context.Context, k Kernel[T], rows matrix.Dense[T], centred bool) ([]float64, error) {
	symmetric := gramMatrix[T]
	if m, ok := k.(FeatureMap[T]); ok && m.Dim() <= rows.Rows {
		symmetric = covariance[T]
	}
	matrix, err := symmetric(ctx, k, rows, centred)
	if err != nil {
		return nil, err
	}
	values := make([]float64, matrix.Rows)
	if err := linalg.SymEigen(linalg.TeamOf(ctx), values, matrix, matrix); err != nil {
		return nil, err
	}
	slices.Reverse(values)
	return values, nil
}

// gramMatrix returns k(X, X) or, if centred, H·k(X, X)·H, where H subtracts from
// each vector its mean.
func gramMatrix[T matrix.Float](ctx context.Context, k Kernel[T], rows matrix.Dense[T], centred bool) (matrix.Dense[float64], error) {
	own := matrix.New[T](rows.Rows, rows.Rows)
	if err := k.Cross(ctx, own, rows, rows); err != nil {
		return matrix.Dense[float64]{}, err
	}
	gram := matrix.Converted[float64](own)
	if centred {
		centreGram(ctx, gram)
	}
	return gram, nil
}

func centreGram(ctx context.Context, gram matrix.Dense[float64]) {
	means, mean := make([]float64, gram.Cols), 0.0
	linalg.ColumnMeans(linalg.TeamOf(ctx), means, gram)
	for _, m := range means {
		mean += m / float64(len(means))
	}
	for i := range gram.Rows {
		row := gram.Row(i)
		for j := range row {
			row[j] += mean - means[i] - means[j]
		}
	}
}

// covariance returns φ(X)ᵀφ(X), accumulated over blocks of features.
func covariance[T matrix.Float](ctx context.Context, k Kernel[T], rows matrix.Dense[T], centred bool) (matrix.Dense[float64], error) {
	m := k.(FeatureMap[T])
	c := moments{sum: matrix.New[float64](m.Dim(), m.Dim())}
	var own Scratch[T]
	var double Scratch[float64]
	err := OverBlocks(ctx, rows.Rows, func(from, to int) error {
		block := own.Matrix(to-from, m.Dim())
		if err := m.Features(ctx, block, rows.Slice(from, to)); err != nil {
			return err
		}
		features := double.Matrix(block.Rows, block.Cols)
		convert(ctx, features, block)
		if centred {
			c.centre(ctx, features)
		}
		linalg.Syrk(linalg.TeamOf(ctx), c.sum, 1, features, linalg.Trans, 1)
		return nil
	})
	c.finish()
	return c.sum, err
}

// moments sums up products of features, block by block. It centres in two steps:
// it first subtracts the means of the first block, which avoids cancellation, and
// at the end corrects by the means of the residuals.
type moments struct {
	sum             matrix.Dense[float64]
	first, residual []float64 // means of the first block; sums of the residuals
	n               int       // rows that were centred
}

func (c *moments) centre(ctx context.Context, features matrix.Dense[float64]) {
	means := make([]float64, features.Cols)
	linalg.ColumnMeans(linalg.TeamOf(ctx), means, features)
	if c.first == nil {
		c.first, c.residual = means, make([]float64, features.Cols)
	}
	set := simd.For[float64]()
	for i := range features.Rows {
		set.Axpy(features.Row(i), c.first, -1)
		set.Axpy(c.residual, features.Row(i), 1)
	}
	c.n += features.Rows
}

func (c *moments) finish() {
	set := simd.For[float64]()
	for i, r := range c.residual {
		set.Axpy(c.sum.Row(i), c.residual, -r/float64(c.n))
	}
}
