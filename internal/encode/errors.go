package encode

import "fmt"

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
