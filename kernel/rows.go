package kernel

import (
	"context"
	"errors"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// BlockRows is the largest number of rows that a Map or Taps are called with: enough for
// matrix products at full speed, few enough that a block of every layer is small compared
// with the features of a pool.
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
			return shifted(err, from)
		}
	}
	return nil
}

// shifted adds the index of the first row of a block to the row that an error names.
func shifted(err error, first int) error {
	if row := (*RowError)(nil); errors.As(err, &row) {
		row.Row += first
	}
	return err
}

// CheckRows returns a *WidthError if the rows do not have width columns, or a
// *RowError for the first number that is not finite. A Map that reads rows itself
// calls it first.
func CheckRows[T matrix.Float](ctx context.Context, rows matrix.Dense[T], width int) error {
	rows.MustBeValid("kernel, rows")
	if rows.Cols != width {
		return &WidthError{Got: rows.Cols, Want: width}
	}
	if i, j, found := linalg.FirstNotFinite(linalg.TeamOf(ctx), rows); found {
		return &RowError{What: "input", Row: i, Column: j, Value: float64(rows.At(i, j))}
	}
	return nil
}
