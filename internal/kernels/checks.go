package kernels

import (
	"context"
	"errors"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// MostMembers is how many networks one kernel may be the sum of: a larger number is a typing error.
const MostMembers = 1000

// Shifted adds the index of the first row of a block to the row that an error
// names.
func Shifted(err error, first int) error {
	var row *kernel.RowError
	if errors.As(err, &row) {
		row.Row += first
	}
	return err
}

// CheckFeatures returns a *RowError for the first feature that is not finite.
func CheckFeatures[T matrix.Float](ctx context.Context, features matrix.Dense[T]) error {
	return checkFinite(ctx, "feature", features)
}

// checkWidth returns a *WidthError if the rows do not have width columns.
func checkWidth[T matrix.Float](rows matrix.Dense[T], width int) error {
	rows.MustBeValid("kernel, rows")
	if rows.Cols != width {
		return &kernel.WidthError{Got: rows.Cols, Want: width}
	}
	return nil
}

// checkFinite returns a *RowError for the first number that is not finite.
func checkFinite[T matrix.Float](ctx context.Context, what string, rows matrix.Dense[T]) error {
	if i, j, found := linalg.FirstNotFinite(linalg.TeamOf(ctx), rows); found {
		return &kernel.RowError{What: what, Row: i, Column: j, Value: float64(rows.At(i, j))}
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
