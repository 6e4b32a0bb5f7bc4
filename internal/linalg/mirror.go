package linalg

import "github.com/nextbatch/nextbatch/matrix"

// MirrorLower copies the lower triangle of the square m to the upper one.
func MirrorLower[T matrix.Float](m matrix.Dense[T]) {
	mustBeSquare("linalg.MirrorLower", m)
	const block = 8 // at most one cache line: rows 4 KiB apart share few lines of the first-level cache
	for i0 := 0; i0 < m.Rows; i0 += block {
		for j0 := 0; j0 <= i0; j0 += block {
			mirrorBlock(m, i0, min(i0+block, m.Rows), j0, min(j0+block, m.Rows))
		}
	}
}

func mirrorBlock[T matrix.Float](m matrix.Dense[T], i0, i1, j0, j1 int) {
	for i := i0; i < i1; i++ {
		row := m.Row(i)
		for j := j0; j < min(j1, i); j++ {
			m.Data[j*m.Stride+i] = row[j]
		}
	}
}
