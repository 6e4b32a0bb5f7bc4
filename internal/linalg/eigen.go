package linalg

// The eigenvalues and eigenvectors of a symmetric matrix,
//
//	A = Σ_k λ[k]·v[k]·v[k]ᵀ,  v[i]·v[k] = 1 if i = k, else 0.
//
// A = Q·T·Qᵀ with T tridiagonal (eigen_reduce.go), then T = S·Λ·Sᵀ (eigen_ql.go).
// The vectors are rows throughout, so that every inner loop reads contiguous
// memory.

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// NotFiniteError reports an element that is NaN or infinite.
type NotFiniteError struct {
	Op       string
	Row, Col int
	Value    float64
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("%s: element [%d,%d] is %v", e.Op, e.Row, e.Col, e.Value)
}

// ConvergenceError reports an iteration that did not converge.
type ConvergenceError struct {
	Op    string
	Index int // of the eigenvalue that did not converge
}

func (e *ConvergenceError) Error() string {
	return fmt.Sprintf("%s: eigenvalue %d did not converge", e.Op, e.Index)
}

// SymEigen writes the eigenvalues of the symmetric a to values, in ascending
// order, and the eigenvector of values[k], with norm 1, to row k of vectors. The
// element of a vector with the largest magnitude, the first in case of a tie, is
// positive. Only the lower triangle of a is read. vectors may be a itself.
//
// An element that is not finite is a *NotFiniteError. The iteration converges
// unless the arithmetic is broken; in that case the error is a *ConvergenceError.
// After either error the destinations are unchanged.
func SymEigen[T matrix.Float](team *Team, values []T, vectors, a matrix.Dense[T]) error {
	const op = "linalg.SymEigen"
	mustBeSquare(op, a)
	vectors.MustBeValid(op + ", vectors")
	matrix.MustMatch(op+", vectors", vectors.Shape(), a.Shape())
	matrix.MustMatch(op+", values", matrix.Shape{Rows: len(values), Cols: 1}, matrix.Shape{Rows: a.Rows, Cols: 1})
	largest, err := largestLower(op, a)
	if err != nil {
		return err
	}
	list := listOf[eigenJob[T]](eigenJobs)
	j := list.get()
	j.team = team
	defer j.release(list)
	_, exponent := math.Frexp(largest)
	j.load(a, exponent)
	j.reduce()
	j.accumulate()
	if at := j.iterate(); at >= 0 {
		return &ConvergenceError{Op: op, Index: at}
	}
	j.unload(values, vectors, exponent)
	return nil
}

// release returns the job to the list, unless its scratch is too large to keep: a
// large decomposition takes far longer than allocating its memory.
func (j *eigenJob[T]) release(list *freeList[eigenJob[T]]) {
	j.team = nil
	if j.n <= keptOrder {
		list.put(j)
	}
}

// keptOrder is the largest order of a matrix whose scratch is kept.
const keptOrder = 512

// largestLower returns the largest magnitude in the lower triangle.
func largestLower[T matrix.Float](op string, a matrix.Dense[T]) (float64, error) {
	var largest T
	for i := range a.Rows {
		for k, v := range a.Row(i)[:i+1] {
			if v-v != 0 {
				return 0, &NotFiniteError{Op: op, Row: i, Col: k, Value: float64(v)}
			}
			largest = max(largest, v, -v)
		}
	}
	return float64(largest), nil
}

// eigenJob is one decomposition.
type eigenJob[T matrix.Float] struct {
	team *Team
	set  *simd.Set[T]
	n    int

	m       matrix.Dense[T] // A, then the reflectors: row k holds vector k from column k+1 on
	z       matrix.Dense[T] // Qᵀ, then the eigenvectors
	w       matrix.Dense[T] // the second vectors of the updates of a block
	stack   matrix.Dense[T] // operands of products, stacked
	tau     []T
	t, gram []T // small squares of accumulate
	product []T // the trailing matrix times a reflector
	vector  []T // the reflector
	dots    []T

	d, e  []float64 // diagonal and off-diagonal of T
	turns []turn[T]
	order []int

	task eigenTask
}

// eigenTask selects what the parts of an eigenJob do.
type eigenTask int

const (
	multiplyTask eigenTask = iota // the product with a reflector
	rotateTask                    // the rotations that have been collected
)

// Do works on one piece of rows or one strip of columns.
func (j *eigenJob[T]) Do(part, _ int) {
	if j.task == multiplyTask {
		j.multiplyPiece(part)
	} else {
		j.rotateStrip(part)
	}
}

// load copies a symmetric matrix, scaled by a power of two so that its largest
// element is about 1: squares then do not overflow, and underflow only if they are
// negligible.
func (j *eigenJob[T]) load(a matrix.Dense[T], exponent int) {
	n := a.Rows
	j.set, j.n = simd.For[T](), n
	j.m, j.z = scratchMatrix(j.m, n, n), scratchMatrix(j.z, n, n)
	scale := T(math.Ldexp(1, -exponent))
	for i := range n {
		row := j.m.Row(i)
		for k, v := range a.Row(i)[:i+1] {
			row[k] = v * scale
		}
	}
	MirrorLower(j.m)
	j.tau, j.product = grow(j.tau, n), grow(j.product, n)
	j.d, j.e = grow(j.d, n), grow(j.e, n)
	j.order = slices.Grow(j.order[:0], n)[:n]
}

// unload writes the eigenvalues in ascending order, and their vectors.
func (j *eigenJob[T]) unload(values []T, vectors matrix.Dense[T], exponent int) {
	for k := range j.order {
		j.order[k] = k
	}
	slices.SortStableFunc(j.order, func(a, b int) int { return cmp.Compare(j.d[a], j.d[b]) })
	for k, from := range j.order {
		values[k] = T(math.Ldexp(j.d[from], exponent))
		row := vectors.Row(k)
		copy(row, j.z.Row(from))
		if row[largestAt(row)] < 0 {
			scaleRow(row, -1)
		}
	}
}

// largestAt returns the index of the largest magnitude, the first in case of a
// tie.
func largestAt[T matrix.Float](v []T) int {
	at := 0
	for i := range v {
		if max(v[i], -v[i]) > max(v[at], -v[at]) {
			at = i
		}
	}
	return at
}

var eigenJobs = newFreeLists[eigenJob[float32], eigenJob[float64]]()
