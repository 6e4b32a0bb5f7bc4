package linalg

import (
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/matrix"
)

// PivotError reports a pivot that a factorisation or a solve cannot go on with:
// not positive in a Cholesky factorisation, zero or not finite in a triangular
// matrix.
type PivotError struct {
	Op    string
	Index int     // row and column of the pivot
	Value float64 // what it came to
}

func (e *PivotError) Error() string {
	return fmt.Sprintf("%s: pivot %d is %v", e.Op, e.Index, e.Value)
}

// WorkerPanic is what Run panics with if a part of the job panicked on another
// goroutine than the caller's.
type WorkerPanic struct {
	Value any    // of the panic
	Stack []byte // of the goroutine on which it happened
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

// mustMatch is matrix.MustMatch for an operand of an operation. It puts the two
// names together only when it needs them: that allocates.
func mustMatch(op, operand string, got, want matrix.Shape) {
	if got != want {
		panic(matrix.ShapeError{Op: op + ", " + operand, Got: got, Want: want})
	}
}
