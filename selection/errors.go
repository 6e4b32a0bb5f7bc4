package selection

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/words"
)

// Errors that Select returns. Those about rows come from where the rows are.
type (
	// ProblemError reports what is wrong with a field of a Problem.
	ProblemError = place.ProblemError
	// RowError names a row with a number that cannot be used.
	RowError = place.RowError
	// MethodError reports that a method cannot be used on a problem.
	MethodError = place.MethodError
)

// Stuck is the error of a Next or NextBackward that can prefer no row, for example
// because all scores are lost to rounding. It does not end a selection: it backs off to
// random rows, and the result says so.
type Stuck struct{ Reason string }

func (e *Stuck) Error() string { return e.Reason }

// PrecisionError reports that float64 cannot distinguish the best row: the remaining
// variances are lost to rounding compared with k(x, x). It is returned instead of a
// wrong pick.
type PrecisionError struct {
	Method  string
	Largest float64 // the largest k(x, x)
}

func (e *PrecisionError) Error() string {
	return fmt.Sprintf("selection: %s: the remaining variances are lost to rounding compared with k(x, x) = %.3g; "+
		"scale the features: standardise their columns, or write >scale after the kernel in the spec", e.Method, e.Largest)
}

// ConflictError reports constraints that no batch meets. Fields are the smallest set of them that
// cannot hold together, by the names of their fields (conflict.go). Batch stands for the size of the batch; it and Runs
// always go with Same.
type ConflictError struct{ Fields []string }

func (e *ConflictError) Error() string {
	if len(e.Fields) == 1 {
		return "selection: no batch meets the constraint " + e.Fields[0]
	}
	return "selection: no batch meets the constraints " + words.List(e.Fields) + " together"
}
