package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// BlockRows is the largest number of rows that an Embedding or a Map is called
// with: enough for matrix products at full speed, few enough that a block of
// every factor is small compared with the features of a pool.
const BlockRows = 1024

// OverBlocks calls f for consecutive blocks [from, to) of n rows, each of at most
// BlockRows rows. The context is checked once per block. If f returns a *RowError,
// whose row counts from the start of the block, OverBlocks returns it with the row
// counted from the start of all rows.
func OverBlocks(ctx context.Context, n int, f func(from, to int) error) error {
	return OverRows(ctx, n, BlockRows, f)
}

// OverRows is OverBlocks with blocks of at most the given number of rows.
func OverRows(ctx context.Context, n, most int, f func(from, to int) error) error {
	for from := 0; from < n; from += most {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(from, min(from+most, n)); err != nil {
			return Shifted(err, from)
		}
	}
	return nil
}

// CheckRows returns a *WidthError if the rows do not have width columns, or a
// *RowError for the first number that is not finite. An Embedding or Map that reads
// rows itself calls it first.
func CheckRows[T matrix.Float](ctx context.Context, rows matrix.Dense[T], width int) error {
	if err := checkWidth(rows, width); err != nil {
		return err
	}
	return checkFinite(ctx, "input", rows)
}

// CheckFeatures returns a *RowError for the first feature that is not finite.
func CheckFeatures[T matrix.Float](ctx context.Context, features matrix.Dense[T]) error {
	return checkFinite(ctx, "feature", features)
}

func checkWidth[T matrix.Float](rows matrix.Dense[T], width int) error {
	rows.MustBeValid("kernel, rows")
	if rows.Cols != width {
		return &WidthError{Got: rows.Cols, Want: width}
	}
	return nil
}

func checkFinite[T matrix.Float](ctx context.Context, what string, rows matrix.Dense[T]) error {
	if i, j, found := linalg.FirstNotFinite(linalg.TeamOf(ctx), rows); found {
		return &RowError{What: what, Row: i, Column: j, Value: float64(rows.At(i, j))}
	}
	return nil
}

func mustBeRow[T matrix.Float](op string, dst []T, n int) {
	matrix.MustMatch(op, matrix.Shape{Rows: 1, Cols: len(dst)}, matrix.Shape{Rows: 1, Cols: n})
}

func mustBe[T matrix.Float](op string, dst matrix.Dense[T], rows, cols int) {
	dst.MustBeValid(op)
	matrix.MustMatch(op, dst.Shape(), matrix.Shape{Rows: rows, Cols: cols})
}
