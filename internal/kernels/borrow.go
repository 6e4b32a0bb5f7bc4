package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Borrow returns the features of a block of at most BlockRows rows, for a
// transformation that computes something from the features of another kernel. They are
// read-only and valid until m is used again. They lie in scratch, or, without a
// copy, where the embedding of m already holds them: in the rows themselves for
// the linear kernel, in the network for the last-layer kernel.
func Borrow[T matrix.Float](ctx context.Context, m kernel.FeatureMap[T], rows matrix.Dense[T],
	scratch *Scratch[T]) (matrix.Dense[T], error) {
	if k, ok := m.(interface{ Map() (kernel.Map[T], bool) }); ok {
		if _, linear := k.Map(); linear {
			return rows, kernel.CheckRows(ctx, rows, m.Inputs())
		}
	}
	if c, ok := m.(*composedMap[T]); ok && isFirstPart(c.form) {
		parts, err := c.embedding.Embed(ctx, rows)
		if err != nil {
			return matrix.Dense[T]{}, err
		}
		return parts[0], nil
	}
	dst := scratch.Matrix(rows.Rows, m.Dim())
	return dst, m.Features(ctx, dst, rows)
}

// isFirstPart reports whether the features of a form are its first part.
func isFirstPart[T matrix.Float](f Form[T]) bool {
	switch f := f.(type) {
	case Dot[T]:
		return true
	case *Product[T]:
		return f.restIsOne() && isFirstPart(f.Forms[0])
	case *Sum[T]:
		return len(f.Forms) == 1 && isFirstPart(f.Forms[0])
	}
	return false
}
