package place

import (
	"errors"
	"fmt"
)

// ProblemError reports what is wrong with a field of a Problem.
type ProblemError struct{ Field, Reason string }

func (e *ProblemError) Error() string { return "selection: " + e.Field + ": " + e.Reason }

// RowError names a row with a number that cannot be used: a feature, a value of the
// kernel or a score that is NaN, infinite or out of range.
type RowError struct {
	Set   string // "pool", "train" or "target"
	Row   int    // counted from 0
	What  string // "feature 3", "score"
	Value float64
}

func (e *RowError) Error() string {
	return fmt.Sprintf("selection: %s row %d: %s is %v", e.Set, e.Row, e.What, e.Value)
}

// MethodError reports that a method cannot be used on a problem.
type MethodError struct{ Method, Reason string }

func (e *MethodError) Error() string { return "selection: " + e.Method + ": " + e.Reason }

// DeviceError is a failure of a device: its memory is too small, or it is lost. It is not the
// fault of the rows.
type DeviceError struct {
	Device string
	Cause  error
}

func (e *DeviceError) Error() string { return fmt.Sprintf("on %s: %v", e.Device, e.Cause) }
func (e *DeviceError) Unwrap() error { return e.Cause }

// FailedOn adds to an error which device it comes from; nil stays nil.
func FailedOn(d Device, err error) error {
	if err == nil {
		return nil
	}
	return &DeviceError{d.Name(), err}
}

// RankError is the error of another rank.
type RankError struct {
	Rank int
	Text string
	Row  int // of the pool, if the error is about one; otherwise -1
}

func (e *RankError) Error() string { return fmt.Sprintf("selection: rank %d: %s", e.Rank, e.Text) }

// PoolRow returns the row of the whole pool that an error is about; -1 if there is none.
func PoolRow(err error) int {
	row, other := (*RowError)(nil), (*RankError)(nil)
	switch {
	case errors.As(err, &row) && row.Set == "pool":
		return row.Row
	case errors.As(err, &other):
		return other.Row
	}
	return -1
}
