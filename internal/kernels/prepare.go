package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Prepare embeds rows once, so that many kernel calls on the same rows need not
// embed them again. It returns a kernel on embedded rows and, for each given
// set, the embedded rows: their features, in which case IsLinear holds, or, if
// there are too many of these, the factors that they are made of.
//
// Prepare reports numbers that are not finite; the kernel that it returns does
// not look for them. Rows that are already prepared are not copied. The context
// is checked once per block of rows.
func Prepare[T matrix.Float](ctx context.Context, k kernel.Kernel[T],
	sets ...matrix.Dense[T]) (kernel.Kernel[T], []matrix.Dense[T], error) {
	p := NewPreparation(k)
	prepared := make([]matrix.Dense[T], len(sets))
	for i, rows := range sets {
		if p.AsIs {
			prepared[i] = rows
			if err := p.Check(ctx, rows); err != nil {
				return nil, nil, err
			}
			continue
		}
		prepared[i] = matrix.New[T](rows.Rows, p.Width)
		err := kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
			return p.Embed(ctx, prepared[i].Slice(from, to), rows.Slice(from, to))
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return p.Kernel, prepared, nil
}

// Preparation is Prepare for callers that go through the rows in blocks, because not all
// embedded rows fit into memory.
type Preparation[T matrix.Float] struct {
	Kernel kernel.Kernel[T] // on embedded rows
	Width  int              // of an embedded row
	AsIs   bool             // embedded rows are the rows themselves

	// Embed writes the embedded rows of a block of at most BlockRows rows to dst, and
	// reports numbers that are not finite. Row numbers in errors count from the start
	// of the block. It is nil if rows are embedded as they are.
	Embed func(ctx context.Context, dst, rows matrix.Dense[T]) error

	// Check reports what is wrong with rows that are embedded as they are.
	Check func(ctx context.Context, rows matrix.Dense[T]) error
}

// NewPreparation returns how the rows of a kernel are prepared.
func NewPreparation[T matrix.Float](k kernel.Kernel[T]) Preparation[T] {
	e, f := Decompose(k)
	widths, few := e.Widths(), hasFewFeatures(e, f)
	_, dot := f.(Dot[T])
	if own, asIs := e.(identity[T]); asIs && (dot || !few) {
		own.checked = true
		return Preparation[T]{Kernel: Compose[T](own, f), Width: own.width, AsIs: true,
			Check: func(ctx context.Context, rows matrix.Dense[T]) error { return kernel.CheckRows(ctx, rows, own.width) }}
	}
	if own, done := e.(columns[T]); done && !few {
		return Preparation[T]{Kernel: k, Width: own.Inputs(), AsIs: true,
			Check: func(_ context.Context, rows matrix.Dense[T]) error { return checkWidth(rows, own.Inputs()) }}
	}
	if few {
		m, dim := k.(kernel.FeatureMap[T]), f.Dim(widths)
		return Preparation[T]{Kernel: Compose[T](identity[T]{width: dim, checked: true}, Dot[T]{}), Width: dim,
			Embed: func(ctx context.Context, dst, rows matrix.Dense[T]) error { return featureBlock(ctx, m, dst, rows) }}
	}
	return Preparation[T]{Kernel: Compose[T](columns[T]{widths}, f), Width: total(widths),
		Embed: func(ctx context.Context, dst, rows matrix.Dense[T]) error { return partBlock(ctx, e, dst, rows) }}
}

// hasFewFeatures reports whether features take no more memory than the factors that
// they are made of.
func hasFewFeatures[T matrix.Float](e Embedding[T], f Form[T]) bool {
	widths := e.Widths()
	dim := f.Dim(widths)
	return dim != Infinite && dim <= total(widths)
}

// FeatureMatrix returns the features of all rows, computed block by block in one
// pass. A feature that is not finite is a *RowError. The context is checked once
// per block.
func FeatureMatrix[T matrix.Float](ctx context.Context, m kernel.FeatureMap[T],
	rows matrix.Dense[T]) (matrix.Dense[T], error) {
	dst := matrix.New[T](rows.Rows, m.Dim())
	return dst, kernel.OverBlocks(ctx, rows.Rows, func(from, to int) error {
		return featureBlock(ctx, m, dst.Slice(from, to), rows.Slice(from, to))
	})
}

// featureBlock writes the features of a block of rows to dst.
func featureBlock[T matrix.Float](ctx context.Context, m kernel.FeatureMap[T], dst, rows matrix.Dense[T]) error {
	if err := m.Features(ctx, dst, rows); err != nil {
		return err
	}
	return CheckFeatures(ctx, dst)
}

// partBlock writes the parts of a block of rows side by side to dst.
func partBlock[T matrix.Float](ctx context.Context, e Embedding[T], dst, rows matrix.Dense[T]) error {
	parts, err := e.Embed(ctx, rows)
	if err != nil {
		return err
	}
	for i, place := range cutColumns(dst, e.Widths()) {
		matrix.Copy(place, parts[i])
	}
	return checkFinite(ctx, "factor", dst)
}
