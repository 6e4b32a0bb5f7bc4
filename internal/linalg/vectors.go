package linalg

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// rowPiece is the number of rows that a thread takes at a time. Assembly cannot be
// interrupted, so a piece also bounds how long the garbage collector may wait.
const rowPiece = 1024

// MulVec writes the product a·x to dst.
func MulVec[T matrix.Float](team *Team, dst []T, a matrix.Dense[T], x []T) {
	overRows(team, "linalg.MulVec", dotRows, dst, a, x)
}

// SqDistTo writes to dst[i] the squared Euclidean distance between q and row i of
// a.
func SqDistTo[T matrix.Float](team *Team, dst []T, a matrix.Dense[T], q []T) {
	overRows(team, "linalg.SqDistTo", sqDistRows, dst, a, q)
}

// RowNorms writes to dst[i] the squared Euclidean norm of row i of a.
func RowNorms[T matrix.Float](team *Team, dst []T, a matrix.Dense[T]) {
	overRows(team, "linalg.RowNorms", rowNorms, dst, a, nil)
}

// rowKind is what a rowJob computes for each row.
type rowKind int

const (
	dotRows rowKind = iota
	sqDistRows
	rowNorms
)

// rowJob computes one number per row. Each of its parts is a piece of rows.
type rowJob[T matrix.Float] struct {
	kind rowKind
	dst  []T
	a    matrix.Dense[T]
	q    []T
}

func overRows[T matrix.Float](team *Team, op string, kind rowKind, dst []T, a matrix.Dense[T], q []T) {
	a.MustBeValid(op)
	mustMatch(op, "destination", matrix.Shape{Rows: len(dst), Cols: 1}, matrix.Shape{Rows: a.Rows, Cols: 1})
	if kind != rowNorms {
		mustMatch(op, "vector", matrix.Shape{Rows: 1, Cols: len(q)}, matrix.Shape{Rows: 1, Cols: a.Cols})
	}
	list := listOf[rowJob[T]](rowJobs)
	j := list.get()
	*j = rowJob[T]{kind, dst, a, q}
	team.Run(ceilDiv(a.Rows, rowPiece), j)
	*j = rowJob[T]{}
	list.put(j)
}

// Do works on one piece of rows.
func (j *rowJob[T]) Do(part, _ int) {
	from := part * rowPiece
	piece := j.a.Slice(from, min(from+rowPiece, j.a.Rows))
	dst := j.dst[from : from+piece.Rows]
	set := simd.For[T]()
	switch j.kind {
	case dotRows:
		set.DotRows(dst, j.q, piece.Data, piece.Stride)
	case sqDistRows:
		set.SqDistRows(dst, j.q, piece.Data, piece.Stride)
	case rowNorms:
		for i := range dst {
			dst[i] = set.SumSquares(piece.Row(i))
		}
	}
}

var rowJobs = newFreeLists[rowJob[float32], rowJob[float64]]()
