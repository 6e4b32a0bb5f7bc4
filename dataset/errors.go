package dataset

import (
	"errors"
	"fmt"
)

// ColumnError reports what is wrong with a column, or with one value of it.
type ColumnError struct {
	Column  string
	Row     int    // from 0; -1 for the whole column
	Place   string // what messages call the row (Table.Place); empty for its number
	Problem string
}

func (e *ColumnError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("column %q %s", e.Column, e.Problem)
	}
	if e.Place != "" {
		return fmt.Sprintf("column %q, %s: %s", e.Column, e.Place, e.Problem)
	}
	return fmt.Sprintf("column %q, row %d (from 0): %s", e.Column, e.Row, e.Problem)
}

// Placed returns an error about a column of a table, or several that are joined, that says where in its file the row
// is.
func (t *Table) Placed(err error, id string) error {
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, err := range joined.Unwrap() {
			_ = t.Placed(err, id)
		}
		return err
	}
	at := (*ColumnError)(nil)
	if t != nil && errors.As(err, &at) && at.Place == "" && at.Row >= 0 && at.Row < t.rows {
		at.Place = t.Place(at.Row, id)
	}
	return err
}

// SplitError reports that there are too few rows for the parts of a split.
type SplitError struct {
	Rows  int
	Sizes Sizes
}

func (e *SplitError) Error() string {
	return fmt.Sprintf("%d rows are too few for %d train, %d valid and %d test rows",
		e.Rows, e.Sizes.Train, e.Sizes.Valid, e.Sizes.Test)
}

// RangeError reports a number that is missing, infinite or too large to scale.
type RangeError struct {
	Row, Column int // from 0
	Value       float64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("row %d, column %d (from 0): %v cannot be scaled", e.Row, e.Column, e.Value)
}

// TargetError reports the labels of one of several targets.
type TargetError struct {
	Target int // from 0
	Cause  error
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("target %d (from 0): %v", e.Target, e.Cause)
}

func (e *TargetError) Unwrap() error { return e.Cause }
