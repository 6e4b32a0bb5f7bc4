package linalg

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/matrix"
)

// PivotError reports a pivot at which a factorisation or a solve must stop: one
// that is not positive in a Cholesky factorisation, or zero or not finite in a
// triangular matrix.
type PivotError struct {
	Op    string
	Index int // row and column of the pivot
	Value float64
}

func (e *PivotError) Error() string {
	return fmt.Sprintf("%s: pivot %d is %v", e.Op, e.Index, e.Value)
}

// WorkerPanic is the panic value of Run if a part of the job panicked on a
// goroutine other than the caller's.
type WorkerPanic struct {
	Value any    // the original panic value
	Stack []byte // of the goroutine that panicked
}

func (w *WorkerPanic) Error() string {
	return fmt.Sprintf("%v\n\non a worker:\n%s", w.Value, w.Stack)
}

// Unwrap returns the value of the panic, if it is an error.
func (w *WorkerPanic) Unwrap() error {
	err, _ := w.Value.(error)
	return err
}

var errGoexit = errors.New("a part of a job called runtime.Goexit")

// mustMatch is matrix.MustMatch for an operand of an operation. It joins the two
// names only on failure, because joining them allocates.
func mustMatch(op, operand string, got, want matrix.Shape) {
	if got != want {
		panic(matrix.ShapeError{Op: op + ", " + operand, Got: got, Want: want})
	}
}
