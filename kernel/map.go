package kernel

// A kernel of explicit features: k(x, x') = ⟨φ(x), φ(x')⟩.

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Map computes features. NewFeatureMap turns it into a FeatureMap.
type Map[T matrix.Float] interface {
	// Inputs is the width of a row, Dim the number of features.
	Inputs() int
	Dim() int
	// Features writes the features of a block of rows, at most BlockRows, to
	// dst. Row numbers in errors count from the start of the block.
	Features(ctx context.Context, dst, rows matrix.Dense[T]) error
}

// NewFeatureMap returns the kernel ⟨φ(x), φ(x')⟩ of the features that m computes.
func NewFeatureMap[T matrix.Float](m Map[T]) FeatureMap[T] { return &explicit[T]{of: m} }

// NewLinear returns the linear kernel on rows of the given width, k(x, x') = ⟨x, x'⟩ (paper,
// section "Base Kernels"). It is also the kernel of precomputed features: of the rows of the
// matrix that holds them.
func NewLinear[T matrix.Float](inputs int) FeatureMap[T] {
	return &explicit[T]{of: asIs[T]{inputs}, linear: true}
}

// explicit is the inner product of the features of a map.
type explicit[T matrix.Float] struct {
	of          Map[T]
	linear      bool // the features are the rows themselves
	left, right []T  // features of a block of a and of b
}

// Map returns what computes the features, and whether these are the rows themselves: what
// package kernels takes the kernel apart by.
func (k *explicit[T]) Map() (of Map[T], linear bool) { return k.of, k.linear }

func (k *explicit[T]) Inputs() int { return k.of.Inputs() }
func (k *explicit[T]) Dim() int    { return k.of.Dim() }

func (k *explicit[T]) Diag(ctx context.Context, dst []T, rows matrix.Dense[T]) error {
	matrix.MustMatch("kernel, diagonal", matrix.Shape{Rows: 1, Cols: len(dst)}, matrix.Shape{Rows: 1, Cols: rows.Rows})
	return OverBlocks(ctx, rows.Rows, func(from, to int) error {
		features, err := k.block(ctx, rows.Slice(from, to), &k.right)
		if err != nil {
			return err
		}
		linalg.RowNorms(linalg.TeamOf(ctx), dst[from:to], features)
		return nil
	})
}

func (k *explicit[T]) Cross(ctx context.Context, dst, a, b matrix.Dense[T]) error {
	dst.MustBeValid("kernel, cross matrix")
	matrix.MustMatch("kernel, cross matrix", dst.Shape(), matrix.Shape{Rows: a.Rows, Cols: b.Rows})
	for from := 0; from < a.Rows; from += BlockRows {
		to := min(from+BlockRows, a.Rows)
		left, err := k.block(ctx, a.Slice(from, to), &k.left)
		if err != nil {
			return shifted(err, from)
		}
		err = OverBlocks(ctx, b.Rows, func(first, end int) error {
			right, err := k.block(ctx, b.Slice(first, end), &k.right)
			if err != nil {
				return err
			}
			inner(ctx, dst.Block(from, to, first, end), left, right)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inner writes the inner products of the rows of a and b to dst.
func inner[T matrix.Float](ctx context.Context, dst, a, b matrix.Dense[T]) {
	if a.Rows == 1 {
		linalg.MulVec(linalg.TeamOf(ctx), dst.Row(0), b, a.Row(0))
	} else {
		linalg.Gemm(linalg.TeamOf(ctx), dst, 1, a, linalg.NoTrans, b, linalg.Trans, 0)
	}
}

func (k *explicit[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	dst.MustBeValid("kernel, features")
	matrix.MustMatch("kernel, features", dst.Shape(), matrix.Shape{Rows: rows.Rows, Cols: k.Dim()})
	return OverBlocks(ctx, rows.Rows, func(from, to int) error {
		return k.of.Features(ctx, dst.Slice(from, to), rows.Slice(from, to))
	})
}

// block returns the features of a block of rows, in memory that is reused unless they are the rows themselves.
func (k *explicit[T]) block(ctx context.Context, rows matrix.Dense[T], memory *[]T) (matrix.Dense[T], error) {
	if k.linear {
		return rows, CheckRows(ctx, rows, k.Inputs())
	}
	n := rows.Rows * k.Dim()
	if n > len(*memory) {
		*memory = matrix.Alloc[T](n)
	}
	dst := matrix.View(rows.Rows, k.Dim(), (*memory)[:n])
	return dst, k.of.Features(ctx, dst, rows)
}

// asIs computes features that are the rows themselves.
type asIs[T matrix.Float] struct{ width int }

func (m asIs[T]) Inputs() int { return m.width }
func (m asIs[T]) Dim() int    { return m.width }

func (m asIs[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	if err := CheckRows(ctx, rows, m.width); err != nil {
		return err
	}
	matrix.Copy(dst, rows)
	return nil
}
