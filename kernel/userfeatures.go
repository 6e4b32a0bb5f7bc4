package kernel

// User-defined features: k(x, x') = ⟨φ(x), φ(x')⟩ for any function φ. Features
// that are already in a matrix need no function: NewLinear is their kernel.

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/matrix"
)

// NewFunc returns the kernel of the features that f computes: dim numbers for
// each row of the given width. f writes the features of a block of at most
// BlockRows rows to dst, one row each. Row numbers in errors count from the start
// of the block.
func NewFunc[T matrix.Float](inputs, dim int, f func(dst, rows matrix.Dense[T]) error) (FeatureMap[T], error) {
	if inputs < 1 || dim < 1 {
		return nil, fmt.Errorf("a feature map from %d inputs to %d features: both numbers must be positive", inputs, dim)
	}
	return NewFeatureMap[T](funcMap[T]{inputs, dim, f}), nil
}

type funcMap[T matrix.Float] struct {
	inputs, dim int
	f           func(dst, rows matrix.Dense[T]) error
}

func (m funcMap[T]) Inputs() int { return m.inputs }
func (m funcMap[T]) Dim() int    { return m.dim }

func (m funcMap[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	if err := CheckRows(ctx, rows, m.inputs); err != nil {
		return err
	}
	return m.f(dst, rows)
}
