package kernel

import (
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// operation combines two numbers.
type operation int

const (
	add operation = iota
	subtract
	multiply
	times // multiplies by a constant
)

// combine writes dst ∘ x to dst.
func combine[T matrix.Float](set *simd.Set[T], op operation, dst, x []T, factor T) {
	switch op {
	case add:
		set.Axpy(dst, x, 1)
	case subtract:
		set.Axpy(dst, x, -1)
	case multiply:
		set.Mul(dst, dst, x)
	case times:
		set.ScaleAdd(dst, dst, 0, factor)
	}
}

// combineJob combines matrices element by element. Its parts are pieces of rows.
type combineJob[T matrix.Float] struct {
	op     operation
	dst, x matrix.Dense[T]
	factor T
}

// pieceRows is the number of rows that a thread takes at a time.
const pieceRows = 64

func (j *combineJob[T]) run() { linalg.Run((j.dst.Rows+pieceRows-1)/pieceRows, j) }

// Do combines one piece.
func (j *combineJob[T]) Do(part, _ int) {
	set := simd.For[T]()
	for i := part * pieceRows; i < min((part+1)*pieceRows, j.dst.Rows); i++ {
		var x []T
		if j.op != times {
			x = j.x.Row(i)
		}
		combine(set, j.op, j.dst.Row(i), x, j.factor)
	}
}

func scale[T matrix.Float](dst matrix.Dense[T], factor T) {
	(&combineJob[T]{op: times, dst: dst, factor: factor}).run()
}

// foldCross writes f_1 ∘ … ∘ f_n to dst. Each form takes its own parts, one
// after the other.
func foldCross[T matrix.Float](op operation, forms []Form[T], dst matrix.Dense[T], a, b []matrix.Dense[T], scratch *Scratch[T]) error {
	to := dst
	for i, f := range forms {
		n := f.Parts()
		if err := f.Cross(to, a[:n], b[:n]); err != nil {
			return err
		}
		if i > 0 {
			(&combineJob[T]{op: op, dst: dst, x: to}).run()
		} else if len(forms) > 1 {
			to = scratch.Matrix(dst.Rows, dst.Cols)
		}
		a, b = a[n:], b[n:]
	}
	return nil
}

// foldDiag is foldCross for diagonals.
func foldDiag[T matrix.Float](op operation, forms []Form[T], dst []T, rows []matrix.Dense[T], scratch *Scratch[T]) error {
	set, to := simd.For[T](), dst
	for i, f := range forms {
		n := f.Parts()
		if err := f.Diag(to, rows[:n]); err != nil {
			return err
		}
		if i > 0 {
			combine(set, op, dst, to, 0)
		} else {
			to = scratch.Matrix(1, len(dst)).Row(0)
		}
		rows = rows[n:]
	}
	return nil
}

func countParts[T matrix.Float](forms []Form[T]) int {
	n := 0
	for _, f := range forms {
		n += f.Parts()
	}
	return n
}

func partWidths[T matrix.Float](parts []matrix.Dense[T]) []int {
	widths := make([]int, len(parts))
	for i, p := range parts {
		widths[i] = p.Cols
	}
	return widths
}
