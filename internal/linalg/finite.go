package linalg

import (
	"math"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// FirstNotFinite returns the position of the first number of m, row by row, that
// is NaN or infinite; found is false if there is none.
func FirstNotFinite[T matrix.Float](team *Team, m matrix.Dense[T]) (row, col int, found bool) {
	if m, single := any(m).(matrix.Dense[float32]); single {
		return firstNotFinite32(team, m)
	}
	return firstNotFinite64(team, any(m).(matrix.Dense[float64]))
}

// Variables, so that packages above do not compile what they call once more.
var firstNotFinite32, firstNotFinite64 = firstNotFinite[float32], firstNotFinite[float64]

func firstNotFinite[T matrix.Float](team *Team, m matrix.Dense[T]) (row, col int, found bool) {
	m.MustBeValid("linalg.FirstNotFinite")
	list := listOf[finiteJob[T]](finiteJobs)
	j := list.get()
	j.m = m
	j.first.Store(math.MaxInt64)
	team.Run(ceilDiv(m.Rows, finitePiece), j)
	j.m = matrix.Dense[T]{}
	at := j.first.Load()
	list.put(j)
	if at == math.MaxInt64 {
		return 0, 0, false
	}
	return int(at) / m.Cols, int(at) % m.Cols, true
}

// finitePiece is the number of rows that a thread takes at a time.
const finitePiece = 128

// finiteJob looks for numbers that are not finite. Each of its parts is a piece of
// rows.
type finiteJob[T matrix.Float] struct {
	m     matrix.Dense[T]
	first atomic.Int64 // the index of the first, counted row by row without padding
}

// Do checks one piece of rows.
func (j *finiteJob[T]) Do(part, _ int) {
	set := simd.For[T]()
	for i := part * finitePiece; i < min((part+1)*finitePiece, j.m.Rows); i++ {
		row := j.m.Row(i)
		// A sum of finite numbers may overflow; the loop below then finds nothing.
		if sum := set.Sum(row); sum-sum == 0 {
			continue
		}
		for k, v := range row {
			if v-v != 0 {
				j.lower(int64(i*j.m.Cols + k))
				return
			}
		}
	}
}

// lower sets first to at if at is smaller.
func (j *finiteJob[T]) lower(at int64) {
	for {
		old := j.first.Load()
		if at >= old || j.first.CompareAndSwap(old, at) {
			return
		}
	}
}

var finiteJobs = newFreeLists[finiteJob[float32], finiteJob[float64]]()
