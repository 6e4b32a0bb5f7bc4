package kernels

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Embedding is the part of a kernel that depends on one row alone. It maps a row
// to a list of parts: one vector for each factor of the kernel.
type Embedding[T matrix.Float] interface {
	// Inputs is the width of a row.
	Inputs() int
	// Widths are the lengths of the parts. The list belongs to the embedding:
	// the caller must not write to it, and appending to it makes a copy.
	Widths() []int
	// Embed returns the parts of a block of at most BlockRows rows, each part a
	// matrix with one row per row of the block. The parts and their list belong
	// to the embedding, which may overwrite them in the next call; the caller
	// must not write to them. Row numbers in errors count from the start of the
	// block.
	Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error)
}

// identity is the embedding of a kernel that is computed from the rows
// themselves.
type identity[T matrix.Float] struct {
	width   int
	checked bool // the caller has made sure that all numbers are finite
}

func (e identity[T]) Inputs() int   { return e.width }
func (e identity[T]) Widths() []int { return []int{e.width} }

func (e identity[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if e.checked {
		return []matrix.Dense[T]{rows}, checkWidth(rows, e.width)
	}
	return []matrix.Dense[T]{rows}, kernel.CheckRows(ctx, rows, e.width)
}

// columns is the embedding of rows that already hold their parts side by side.
type columns[T matrix.Float] struct{ widths []int }

func (e columns[T]) Inputs() int   { return total(e.widths) }
func (e columns[T]) Widths() []int { return e.widths }

func (e columns[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := checkWidth(rows, e.Inputs()); err != nil {
		return nil, err
	}
	return cutColumns(rows, e.widths), nil
}

// cutColumns returns views of consecutive column blocks of the given widths.
func cutColumns[T matrix.Float](m matrix.Dense[T], widths []int) []matrix.Dense[T] {
	parts, from := make([]matrix.Dense[T], len(widths)), 0
	for i, width := range widths {
		parts[i] = m.Block(0, m.Rows, from, from+width)
		from += width
	}
	return parts
}

// joined concatenates the parts of several embeddings.
type joined[T matrix.Float] struct {
	of     []Embedding[T]
	widths []int
}

// Join returns the embedding that has the parts of all the given ones, for a
// transformation that combines several kernels. If these do not take rows of the same
// width, it returns a *WidthError.
func Join[T matrix.Float](of ...Embedding[T]) (Embedding[T], error) {
	j := joined[T]{of: of}
	for _, e := range of {
		if e.Inputs() != of[0].Inputs() {
			return nil, &kernel.WidthError{Got: e.Inputs(), Want: of[0].Inputs()}
		}
		j.widths = append(j.widths, e.Widths()...)
	}
	j.widths = slices.Clip(j.widths)
	return j, nil
}

func (e joined[T]) Inputs() int   { return e.of[0].Inputs() }
func (e joined[T]) Widths() []int { return e.widths }

func (e joined[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	parts := make([]matrix.Dense[T], 0, len(e.widths))
	for _, one := range e.of {
		more, err := one.Embed(ctx, rows)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// mapped is the embedding of an explicit feature map. The features are its only
// part.
type mapped[T matrix.Float] struct {
	kernel.Map[T]
	scratch Scratch[T]
}

func (e *mapped[T]) Widths() []int { return []int{e.Dim()} }

func (e *mapped[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	dst := e.scratch.Matrix(rows.Rows, e.Dim())
	return []matrix.Dense[T]{dst}, e.Features(ctx, dst, rows)
}

func total(widths []int) int {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	return sum
}
