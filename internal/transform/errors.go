package transform

import (
	"fmt"
	"math"
)

// ParameterError reports a parameter that a transformation cannot work with.
type ParameterError struct {
	Op, Name string
	Value    float64
	Want     string // what it must be
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("%s: %s is %v, but must be %s", e.Op, e.Name, e.Value, e.Want)
}

// EmptyError reports that there are no rows to fit a transformation to.
type EmptyError struct{ Op string }

func (e *EmptyError) Error() string { return e.Op + ": there are no rows to fit to" }

// DegenerateError reports that a kernel is zero, or not a number, on all rows
// that a transformation is fitted to, so that it cannot be scaled: for example
// the kernel of a network whose units are all dead.
type DegenerateError struct {
	Op   string
	Mean float64 // of k(x, x)
}

func (e *DegenerateError) Error() string {
	return fmt.Sprintf("%s: the kernel is degenerate: the mean of k(x, x) is %v", e.Op, e.Mean)
}

func checkRows(op string, n int) error {
	if n == 0 {
		return &EmptyError{Op: op}
	}
	return nil
}

func checkPositive(op, name string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return &ParameterError{Op: op, Name: name, Value: v, Want: "positive and finite"}
	}
	return nil
}

func checkCount(op, name string, n int) error {
	if n < 1 {
		return &ParameterError{Op: op, Name: name, Value: float64(n), Want: "positive"}
	}
	return nil
}
