package kernel

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Map computes features. NewFeatureMap turns it into a FeatureMap.
type Map[T matrix.Float] interface {
	// Inputs is the width of a row, Dim the number of features.
	Inputs() int
	Dim() int
	// Features writes the features of a block of rows, at most BlockRows, to
	// dst. Row numbers in errors count from the start of the block.
	Features(ctx context.Context, dst, rows matrix.Dense[T]) error
}

// NewFeatureMap returns the kernel ⟨φ(x), φ(x')⟩ of the features that m computes.
func NewFeatureMap[T matrix.Float](m Map[T]) FeatureMap[T] {
	return Compose[T](&mapped[T]{Map: m}, Dot[T]{}).(FeatureMap[T])
}

// mapped is the embedding of an explicit feature map. The features are its only
// part.
type mapped[T matrix.Float] struct {
	Map[T]
	scratch Scratch[T]
}

func (e *mapped[T]) Widths() []int { return []int{e.Dim()} }

func (e *mapped[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	dst := e.scratch.Matrix(rows.Rows, e.Dim())
	return []matrix.Dense[T]{dst}, e.Features(ctx, dst, rows)
}
