package space

// Sets of rows, with k(x, x) of each.

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// set is a matrix of rows with k(x, x) of each.
type set[T matrix.Float] struct {
	name   string
	rows   matrix.Dense[T]
	single matrix.Dense[float32]   // if it has rows, they are those of the set, and rows has no data but their shape
	inFile bool                    // the rows are in a file
	placed place.DeviceFeatures[T] // where the numbers of rows are, unless nil: rows only has their shape
	diag   []T

	// Of rows in a file:
	inDouble     *rowsInFloat64 // made on first use
	needsMoments bool
	moments      matrix.Dense[float64] // Σ w(x)·φ(x)φ(x)ᵀ over all rows, if they are needed
}

// slice returns the rows from from to to-1, as a view or as a copy of those in float32.
func (one *set[T]) slice(from, to int) matrix.Dense[T] {
	if one.single.Rows > 0 {
		return matrix.Converted[T](one.single.Slice(from, to))
	}
	return one.rows.Slice(from, to)
}

// check finds the first row whose k(x, x) is not finite, negative or too large. A
// feature that is not finite shows there. Squared distances, up to four times as large,
// must be in range, too.
func (one *set[T]) check(features bool) error {
	limit := largest[T]() / 16
	for i, v := range one.diag {
		if v >= 0 && float64(v) <= limit {
			continue
		}
		if features {
			row, err := one.row(i)
			if err != nil {
				return err
			}
			for j, x := range row {
				if x-x != 0 {
					return &place.RowError{Set: one.name, Row: i, What: fmt.Sprintf("feature %d", j), Value: float64(x)}
				}
			}
		}
		return &place.RowError{Set: one.name, Row: i, What: "k(x, x)", Value: float64(v)}
	}
	return nil
}

// row returns the numbers of a row, wherever they are.
func (one *set[T]) row(i int) ([]T, error) {
	if one.placed == nil {
		return one.slice(i, i+1).Row(0), nil
	}
	row := matrix.New[T](1, one.rows.Cols)
	return row.Row(0), place.FailedOn(one.placed.On(), one.placed.Fetch(row, i))
}

func largest[T matrix.Float]() float64 {
	if isFloat32[T]() {
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

func isFloat32[T matrix.Float]() bool {
	var zero T
	return unsafe.Sizeof(zero) == 4
}

// inSet adds the set of rows to an error of the kernel.
func inSet(err error, name string) error {
	var row *kernel.RowError
	if errors.As(err, &row) {
		return &place.RowError{Set: name, Row: row.Row, What: fmt.Sprintf("%s %d", row.What, row.Column), Value: row.Value}
	}
	return fmt.Errorf("selection: %s rows: %w", name, err)
}

// checkValues finds a value of the kernel that is not finite.
func (one *set[T]) checkValues(values []T) error {
	for i, v := range values {
		if v-v != 0 {
			return &place.RowError{Set: one.name, Row: i, What: "k(x, y)", Value: float64(v)}
		}
	}
	return nil
}
