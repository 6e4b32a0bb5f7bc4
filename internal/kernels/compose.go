package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Compose returns the kernel of an embedding and a form. It is a FeatureMap if
// the form has finitely many features.
func Compose[T matrix.Float](e Embedding[T], f Form[T]) kernel.Kernel[T] {
	c := &composed[T]{embedding: e, form: f}
	if dim := f.Dim(e.Widths()); dim != Infinite {
		return &composedMap[T]{c, dim}
	}
	return c
}

// Decompose returns the two steps of a kernel. If Compose did not make the
// kernel, they are its features, which are the rows themselves for NewLinear, and
// their inner product or, without features, the rows themselves and the whole kernel.
func Decompose[T matrix.Float](k kernel.Kernel[T]) (Embedding[T], Form[T]) {
	switch k := k.(type) {
	case interface {
		steps() (Embedding[T], Form[T])
	}:
		return k.steps()
	case interface{ Map() (kernel.Map[T], bool) }:
		of, linear := k.Map()
		if linear {
			return identity[T]{width: of.Inputs()}, Dot[T]{}
		}
		return &mapped[T]{Map: of}, Dot[T]{}
	case kernel.FeatureMap[T]:
		return &mapped[T]{Map: k}, Dot[T]{}
	}
	return identity[T]{width: k.Inputs(), checked: true}, whole[T]{of: k}
}

// composed is a kernel in two steps.
type composed[T matrix.Float] struct {
	embedding Embedding[T]
	form      Form[T]
	left      []Scratch[T] // embedded rows of a, while those of b are embedded
}

func (c *composed[T]) steps() (Embedding[T], Form[T]) { return c.embedding, c.form }

func (c *composed[T]) Inputs() int { return c.embedding.Inputs() }

func (c *composed[T]) Diag(ctx context.Context, dst []T, rows matrix.Dense[T]) error {
	mustBeRow("kernel, diagonal", dst, rows.Rows)
	return kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		parts, err := c.embedding.Embed(ctx, rows.Slice(from, to))
		if err != nil {
			return err
		}
		return c.form.Diag(ctx, dst[from:to], parts)
	})
}

func (c *composed[T]) Cross(ctx context.Context, dst, a, b matrix.Dense[T]) error {
	mustBe("kernel, cross matrix", dst, a.Rows, b.Rows)
	for from := 0; from < a.Rows; from += kernel.BlockRows {
		to := min(from+kernel.BlockRows, a.Rows)
		parts, err := c.embedding.Embed(ctx, a.Slice(from, to))
		if err != nil {
			return Shifted(err, from)
		}
		if err := c.crossBlock(ctx, dst.Slice(from, to), c.keep(parts), b); err != nil {
			return err
		}
	}
	return nil
}

// crossBlock is Cross for a block of a that has already been embedded.
func (c *composed[T]) crossBlock(ctx context.Context, dst matrix.Dense[T], a []matrix.Dense[T],
	b matrix.Dense[T]) error {
	return kernel.OverBlocks(ctx, b.Rows, func(from, to int) error {
		parts, err := c.embedding.Embed(ctx, b.Slice(from, to))
		if err != nil {
			return err
		}
		return c.form.Cross(ctx, dst.Block(0, dst.Rows, from, to), a, parts)
	})
}

// keep copies parts to where the next Embed does not overwrite them.
func (c *composed[T]) keep(parts []matrix.Dense[T]) []matrix.Dense[T] {
	if c.left == nil {
		c.left = make([]Scratch[T], len(parts))
	}
	kept := make([]matrix.Dense[T], len(parts))
	for i, p := range parts {
		kept[i] = c.left[i].Matrix(p.Rows, p.Cols)
		matrix.Copy(kept[i], p)
	}
	return kept
}

// composedMap is a composed kernel with finitely many features.
type composedMap[T matrix.Float] struct {
	*composed[T]
	dim int
}

func (c *composedMap[T]) Dim() int { return c.dim }

func (c *composedMap[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	mustBe("kernel, features", dst, rows.Rows, c.dim)
	return kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		return writeFeatures(ctx, dst.Slice(from, to), c.embedding, c.form, rows.Slice(from, to))
	})
}

// writeFeatures writes the features of a block of rows. An explicit map writes
// them straight to dst, without a detour through its scratch memory.
func writeFeatures[T matrix.Float](ctx context.Context, dst matrix.Dense[T], e Embedding[T], f Form[T],
	rows matrix.Dense[T]) error {
	if m, explicit := e.(*mapped[T]); explicit {
		switch f := f.(type) {
		case Dot[T]:
			return m.Features(ctx, dst, rows)
		case Scaled[T]:
			if err := writeFeatures(ctx, dst, e, f.Of, rows); err != nil {
				return err
			}
			scale(ctx, dst, f.root())
			return nil
		}
	}
	parts, err := e.Embed(ctx, rows)
	if err != nil {
		return err
	}
	return f.Features(ctx, dst, parts)
}

// whole is a kernel that cannot be taken apart, as a form on the rows.
type whole[T matrix.Float] struct {
	NoFeatures[T]
	of kernel.Kernel[T]
}

func (w whole[T]) Parts() int { return 1 }

func (w whole[T]) Diag(ctx context.Context, dst []T, rows []matrix.Dense[T]) error {
	return w.of.Diag(ctx, dst, rows[0])
}

func (w whole[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	return w.of.Cross(ctx, dst, a[0], b[0])
}
