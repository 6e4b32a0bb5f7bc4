package dataset

import "fmt"

// ColumnError says what is wrong with a column, or with one value of it.
type ColumnError struct {
	Column  string
	Row     int // from 0; -1 where the whole column is meant
	Problem string
}

func (e *ColumnError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("column %q %s", e.Column, e.Problem)
	}
	return fmt.Sprintf("column %q, row %d: %s", e.Column, e.Row, e.Problem)
}

// SplitError says that the rows do not suffice for the parts of a split.
type SplitError struct {
	Rows  int
	Sizes Sizes
}

func (e *SplitError) Error() string {
	return fmt.Sprintf("%d rows do not hold %d for train, %d for valid and %d for test",
		e.Rows, e.Sizes.Train, e.Sizes.Valid, e.Sizes.Test)
}

// RangeError says which number is missing, infinite or too large to be scaled.
type RangeError struct {
	Row, Column int // from 0
	Value       float64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("row %d, column %d (from 0): %v cannot be scaled", e.Row, e.Column, e.Value)
}
