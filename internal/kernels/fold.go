package kernels

import (
	"context"

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

// combineJob combines matrices element by element. Each of its parts is a piece
// of pieceRows rows.
type combineJob[T matrix.Float] struct {
	op     operation
	dst, x matrix.Dense[T]
	factor T
}

// pieceRows is the number of rows that a thread takes at a time.
const pieceRows = 64

func (j *combineJob[T]) run(ctx context.Context) {
	linalg.TeamOf(ctx).Run((j.dst.Rows+pieceRows-1)/pieceRows, j)
}

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

func scale[T matrix.Float](ctx context.Context, dst matrix.Dense[T], factor T) {
	(&combineJob[T]{op: times, dst: dst, factor: factor}).run(ctx)
}

// Folded is a form that is made of others, f_1 ∘ … ∘ f_n, each of which takes its own parts, in order.
type Folded[T matrix.Float] struct {
	Forms   []Form[T]
	op      operation
	scratch Scratch[T]
}

// Cross combines the kernels.
func (f *Folded[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	for i, one := range f.Forms {
		n := one.Parts()
		own, other := a[:n], b[:n]
		a, b = a[n:], b[n:]
		if i == 0 {
			if err := one.Cross(ctx, dst, own, other); err != nil {
				return err
			}
			continue
		}
		if f.op == multiply && isOne(one) {
			continue
		}
		next := f.scratch.Matrix(dst.Rows, dst.Cols)
		if err := one.Cross(ctx, next, own, other); err != nil {
			return err
		}
		(&combineJob[T]{op: f.op, dst: dst, x: next}).run(ctx)
	}
	return nil
}

// Diag combines the diagonals.
func (f *Folded[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	for i, one := range f.Forms {
		own := rows[:one.Parts()]
		rows = rows[one.Parts():]
		if i == 0 {
			if err := one.Diag(ctx, dst, own); err != nil {
				return err
			}
			continue
		}
		next := f.scratch.Matrix(1, len(dst)).Row(0)
		if err := one.Diag(ctx, next, own); err != nil {
			return err
		}
		combine(simd.For[T](), f.op, dst, next, 0)
	}
	return nil
}

// Parts counts the parts of all forms.
func (f *Folded[T]) Parts() int {
	n := 0
	for _, one := range f.Forms {
		n += one.Parts()
	}
	return n
}

// Dim combines the dimensions, by the same operation.
func (f *Folded[T]) Dim(widths []int) int {
	total := 0
	for i, one := range f.Forms {
		dim := one.Dim(widths[:one.Parts()])
		widths = widths[one.Parts():]
		switch {
		case dim == Infinite:
			return Infinite
		case f.op == multiply && i > 0:
			total *= dim
		default:
			total += dim
		}
	}
	return total
}

func partWidths[T matrix.Float](parts []matrix.Dense[T]) []int {
	widths := make([]int, len(parts))
	for i, p := range parts {
		widths[i] = p.Cols
	}
	return widths
}

// convertJob converts matrices. Each of its parts is a piece of pieceRows rows.
type convertJob[To, From matrix.Float] struct {
	dst matrix.Dense[To]
	src matrix.Dense[From]
}

// Do converts one piece.
func (j *convertJob[To, From]) Do(part, _ int) {
	from, to := part*pieceRows, min((part+1)*pieceRows, j.dst.Rows)
	matrix.Convert(j.dst.Slice(from, to), j.src.Slice(from, to))
}

// convert is matrix.Convert on all threads of the context.
func convert[To, From matrix.Float](ctx context.Context, dst matrix.Dense[To], src matrix.Dense[From]) {
	linalg.TeamOf(ctx).Run((dst.Rows+pieceRows-1)/pieceRows, &convertJob[To, From]{dst, src})
}
