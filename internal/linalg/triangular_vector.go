package linalg

// Solves L·x = b and Lᵀ·x = b with a lower triangular matrix L and one
// right-hand side:
//
//	L:   x[i] = (b[i] − Σ_{k<i} l[i][k]·x[k]) / l[i][i],  from the first to the last
//	Lᵀ:  x[i] = (b[i] − Σ_{k>i} l[k][i]·x[k]) / l[i][i],  from the last to the first
//
// Both read the rows of L once, so they run at the speed of memory.

import (
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// SolveLowerVec overwrites x with the solution of op(L)·y = x. Only the lower
// triangle of l is read. A pivot that is zero, not finite or so small that its
// reciprocal overflows is a *PivotError and leaves x unchanged.
func SolveLowerVec[T matrix.Float](x []T, l matrix.Dense[T], op Op) error {
	const name = "linalg.SolveLowerVec"
	mustBeSquare(name, l)
	matrix.MustMatch(name+", right-hand side", matrix.Shape{Rows: len(x), Cols: 1}, matrix.Shape{Rows: l.Rows, Cols: 1})
	if err := checkPivots(name, l); err != nil {
		return err
	}
	if op == Trans {
		solveVecUp(x, l)
	} else {
		solveVecDown(x, l)
	}
	return nil
}

// vecRows is the number of unknowns that share one pass over the known ones.
const vecRows = 16

func solveVecDown[T matrix.Float](x []T, l matrix.Dense[T]) {
	set := simd.For[T]()
	buf := borrow[T](vecRows)
	defer giveBack(buf)
	for i0 := 0; i0 < l.Rows; i0 += vecRows {
		rows := l.Slice(i0, min(i0+vecRows, l.Rows))
		sums := buf.data[:rows.Rows]
		set.DotRows(sums, x[:i0], rows.Data, rows.Stride)
		for k := range rows.Rows {
			i := i0 + k
			row := rows.Row(k)
			x[i] = (x[i] - sums[k] - set.Dot(row[i0:i], x[i0:i])) / row[i]
		}
	}
}

func solveVecUp[T matrix.Float](x []T, l matrix.Dense[T]) {
	set := simd.For[T]()
	for i := l.Rows - 1; i >= 0; i-- {
		row := l.Row(i)
		x[i] /= row[i]
		set.Axpy(x[:i], row, -x[i])
	}
}
