// Package gonummat converts between matrix.Dense and gonum's mat.Matrix, in both
// directions. It is separate from package matrix so that only those who use
// gonum depend on it.
//
//	Of    Dense[float32 | float64] as a mat.Matrix to read; shares memory
//	Share Dense[float64] as a *mat.Dense to read and write; shares memory
//	From  any mat.Matrix as a new Dense[float32 | float64]; copies
//	Copy  any mat.Matrix into an existing Dense
package gonummat

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/nextbatch/nextbatch/matrix"
)

// View presents a Dense as a mat.Matrix. Like every mat.Matrix, it panics with
// gonum's errors if an index is out of range.
type View[T matrix.Float] struct{ dense matrix.Dense[T] }

// Of returns d as a mat.Matrix without copying, so later changes of d are visible
// in it. Gonum reads it element by element; Share is faster for float64.
func Of[T matrix.Float](d matrix.Dense[T]) View[T] {
	d.MustBeValid("gonummat.Of")
	return View[T]{d}
}

// Dims returns the number of rows and columns.
func (v View[T]) Dims() (rows, cols int) { return v.dense.Rows, v.dense.Cols }

// At returns the element in row i and column j.
func (v View[T]) At(i, j int) float64 {
	if uint(i) >= uint(v.dense.Rows) {
		panic(mat.ErrRowAccess)
	}
	if uint(j) >= uint(v.dense.Cols) {
		panic(mat.ErrColAccess)
	}
	return float64(v.dense.At(i, j))
}

// T returns the transpose, without copying.
func (v View[T]) T() mat.Matrix { return mat.Transpose{Matrix: v} }

// Share returns d as a *mat.Dense over the same memory, with the same stride:
// writes to one are visible in the other. Gonum has no matrix with rows but no
// columns, or the reverse: Share panics with mat.ErrZeroLength for one.
func Share(d matrix.Dense[float64]) *mat.Dense {
	d.MustBeValid("gonummat.Share")
	shared := new(mat.Dense)
	if d.Rows == 0 && d.Cols == 0 {
		return shared
	}
	if d.Rows == 0 || d.Cols == 0 {
		panic(mat.ErrZeroLength)
	}
	whole := d.Slice(0, d.Rows) // cuts off the data after the last element
	shared.SetRawMatrix(blas64.General{Rows: d.Rows, Cols: d.Cols, Stride: d.Stride, Data: whole.Data})
	return shared
}

// From returns a copy of m, rounded to T.
func From[T matrix.Float](m mat.Matrix) matrix.Dense[T] {
	rows, cols := m.Dims()
	d := matrix.New[T](rows, cols)
	Copy(d, m)
	return d
}

// Copy writes m, rounded to T, to dst, which has the same shape. They may share
// memory only if m is dst itself, not its transpose.
func Copy[T matrix.Float](dst matrix.Dense[T], m mat.Matrix) {
	dst.MustBeValid("gonummat.Copy")
	rows, cols := m.Dims()
	matrix.MustMatch("gonummat.Copy", matrix.Shape{Rows: rows, Cols: cols}, dst.Shape())
	switch m := m.(type) {
	case View[float32]:
		matrix.Convert(dst, m.dense)
	case View[float64]:
		matrix.Convert(dst, m.dense)
	case mat.RawMatrixer:
		matrix.Convert(dst, general(m.RawMatrix()))
	default:
		copyElements(dst, m)
	}
}

func general(g blas64.General) matrix.Dense[float64] {
	return matrix.Dense[float64]{Rows: g.Rows, Cols: g.Cols, Stride: g.Stride, Data: g.Data}
}

func copyElements[T matrix.Float](dst matrix.Dense[T], m mat.Matrix) {
	for i := range dst.Rows {
		row := dst.Row(i)
		for j := range row {
			row[j] = T(m.At(i, j))
		}
	}
}
