package linalg

import "github.com/nextbatch/nextbatch/matrix"

// clearUpper sets the strict upper triangle of the square m to zero.
func clearUpper[T matrix.Float](team *Team, m matrix.Dense[T]) {
	overTriangle(team, triangleJob[T]{dst: m})
}

// copyLower writes the lower triangle of a + jitter·I to that of dst.
func copyLower[T matrix.Float](team *Team, dst, a matrix.Dense[T], jitter T) {
	overTriangle(team, triangleJob[T]{dst: dst, src: a, jitter: jitter, copies: true})
}

// triangleJob writes one triangle of a matrix. Each of its parts is a piece of
// rows.
type triangleJob[T matrix.Float] struct {
	dst, src matrix.Dense[T]
	jitter   T
	copies   bool
}

// trianglePiece is the number of rows that a thread takes at a time.
const trianglePiece = 64

func overTriangle[T matrix.Float](team *Team, what triangleJob[T]) {
	list := listOf[triangleJob[T]](triangleJobs)
	j := list.get()
	*j = what
	team.Run(ceilDiv(j.dst.Rows, trianglePiece), j)
	*j = triangleJob[T]{}
	list.put(j)
}

// Do works on one piece of rows.
func (j *triangleJob[T]) Do(part, _ int) {
	for i := part * trianglePiece; i < min((part+1)*trianglePiece, j.dst.Rows); i++ {
		row := j.dst.Row(i)
		if !j.copies {
			clear(row[i+1:])
			continue
		}
		copy(row[:i+1], j.src.Row(i))
		row[i] += j.jitter
	}
}

var triangleJobs = newFreeLists[triangleJob[float32], triangleJob[float64]]()
