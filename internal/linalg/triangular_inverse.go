package linalg

// The inverse of a lower triangular matrix, split in two:
//
//	[L11 0; L21 L22]^-1 = [L11^-1 0; −L22^-1·L21·L11^-1 L22^-1]
//
// where the block below the diagonal comes from two solves.

import "github.com/nextbatch/nextbatch/matrix"

// InvertLower overwrites the lower triangular m with its inverse. Only the lower
// triangle is read; the strict upper triangle is zero afterwards. A pivot that is
// zero, not finite or so small that its reciprocal overflows is a *PivotError and
// leaves m unchanged.
func InvertLower[T matrix.Float](team *Team, m matrix.Dense[T]) error {
	const op = "linalg.InvertLower"
	mustBeSquare(op, m)
	if err := checkPivots(op, m); err != nil {
		return err
	}
	invert(team, m)
	clearUpper(team, m)
	return nil
}

// invertBase is the size up to which the inverse is the solution of L·X = I.
const invertBase = 48

// invert is InvertLower on a checked matrix. It leaves the upper triangle
// undefined.
func invert[T matrix.Float](team *Team, m matrix.Dense[T]) {
	n := m.Rows
	if n <= invertBase {
		invertSmall(team, m)
		return
	}
	h := half(n)
	m11, m21, m22 := m.Block(0, h, 0, h), m.Block(h, n, 0, h), m.Block(h, n, h, n)
	solve(team, m21, Left, m22, NoTrans)
	solve(team, m21, Right, m11, NoTrans)
	for i := range m21.Rows {
		scaleRow(m21.Row(i), -1)
	}
	invert(team, m11)
	invert(team, m22)
}

func invertSmall[T matrix.Float](team *Team, m matrix.Dense[T]) {
	if m.Rows == 0 {
		return
	}
	list := listOf[solveJob[T]](solveJobs)
	j := list.get()
	j.load(m)
	for i := range m.Rows {
		row := m.Row(i)
		clear(row)
		row[i] = 1
	}
	j.run(team, m, Left, true)
	list.put(j)
}
