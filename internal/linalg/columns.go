package linalg

// Sums over the rows of a matrix, for all columns at once:
//
//	MulVecT:      dst[j] = Σ_i a[i][j]·x[i]
//	ColumnMeans:  dst[j] = Σ_i a[i][j] / rows
//
// Pieces of a fixed number of rows are summed separately, and their sums are added
// in order. So the result does not depend on the number of threads, and long sums
// lose fewer digits.

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// MulVecT writes the product aᵀ·x to dst.
func MulVecT[T matrix.Float](team *Team, dst []T, a matrix.Dense[T], x []T) {
	const op = "linalg.MulVecT"
	a.MustBeValid(op)
	matrix.MustMatch(op+", destination", matrix.Shape{Rows: len(dst), Cols: 1}, matrix.Shape{Rows: a.Cols, Cols: 1})
	matrix.MustMatch(op+", vector", matrix.Shape{Rows: len(x), Cols: 1}, matrix.Shape{Rows: a.Rows, Cols: 1})
	list := listOf[columnJob[T]](columnJobs)
	j := list.get()
	j.a, j.x = a, x
	j.sums = scratchMatrix(j.sums, ceilDiv(a.Rows, rowPiece), a.Cols)
	team.Run(j.sums.Rows, j)
	addRows(dst, j.sums)
	j.a, j.x = matrix.Dense[T]{}, nil
	list.put(j)
}

// ColumnMeans writes the mean of each column to dst. It sums in float64, whatever
// the type of the elements. Without rows the means are NaN.
func ColumnMeans[T matrix.Float](team *Team, dst []float64, a matrix.Dense[T]) {
	const op = "linalg.ColumnMeans"
	a.MustBeValid(op)
	matrix.MustMatch(op+", destination", matrix.Shape{Rows: len(dst), Cols: 1}, matrix.Shape{Rows: a.Cols, Cols: 1})
	list := listOf[meanJob[T]](meanJobs)
	j := list.get()
	j.a = a
	j.sums = scratchMatrix(j.sums, ceilDiv(a.Rows, rowPiece), a.Cols)
	team.Run(j.sums.Rows, j)
	addRows(dst, j.sums)
	for i := range dst {
		dst[i] /= float64(a.Rows)
	}
	j.a = matrix.Dense[T]{}
	list.put(j)
}

// addRows writes the sum of the rows of m to dst.
func addRows[T matrix.Float](dst []T, m matrix.Dense[T]) {
	set := simd.For[T]()
	clear(dst)
	for i := range m.Rows {
		set.Axpy(dst, m.Row(i), 1)
	}
}

// columnJob sums multiples of rows. Each of its parts is a piece of rows.
type columnJob[T matrix.Float] struct {
	a    matrix.Dense[T]
	x    []T
	sums matrix.Dense[T] // a row for each piece
}

// Do sums up one piece.
func (j *columnJob[T]) Do(part, _ int) {
	set, sum := simd.For[T](), j.sums.Row(part)
	clear(sum)
	for i := part * rowPiece; i < min((part+1)*rowPiece, j.a.Rows); i++ {
		set.Axpy(sum, j.a.Row(i), j.x[i])
	}
}

// meanJob sums rows in float64. Each of its parts is a piece of rows.
type meanJob[T matrix.Float] struct {
	a    matrix.Dense[T]
	sums matrix.Dense[float64] // a row for each piece
}

// Do sums up one piece.
func (j *meanJob[T]) Do(part, _ int) {
	sum := j.sums.Row(part)
	clear(sum)
	for i := part * rowPiece; i < min((part+1)*rowPiece, j.a.Rows); i++ {
		addInFloat64(sum, j.a.Row(i))
	}
}

// addInFloat64 adds row to sum.
func addInFloat64[T matrix.Float](sum []float64, row []T) {
	if same, ok := any(row).([]float64); ok {
		simd.For[float64]().Axpy(sum, same, 1)
		return
	}
	row = row[:len(sum)]
	for i, v := range row {
		sum[i] += float64(v)
	}
}

var (
	columnJobs = newFreeLists[columnJob[float32], columnJob[float64]]()
	meanJobs   = newFreeLists[meanJob[float32], meanJob[float64]]()
)
