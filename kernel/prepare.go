package kernel

import (
	"context"

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
func Prepare[T matrix.Float](ctx context.Context, k Kernel[T], sets ...matrix.Dense[T]) (Kernel[T], []matrix.Dense[T], error) {
	e, f := Decompose(k)
	widths := e.Widths()
	dim := f.Dim(widths)
	few := dim != Infinite && dim <= total(widths)
	_, dot := f.(Dot[T])
	if own, asIs := e.(identity[T]); asIs && (dot || !few) {
		own.checked = true
		return Compose[T](own, f), sets, checkSets(sets, func(rows matrix.Dense[T]) error { return CheckRows(ctx, rows, own.width) })
	}
	if own, done := e.(columns[T]); done && !few {
		return k, sets, checkSets(sets, func(rows matrix.Dense[T]) error { return checkWidth(rows, own.Inputs()) })
	}
	prepared := make([]matrix.Dense[T], len(sets))
	for i, rows := range sets {
		var err error
		if few {
			prepared[i], err = FeatureMatrix(ctx, k.(FeatureMap[T]), rows)
		} else {
			prepared[i], err = partMatrix(ctx, e, rows)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if few {
		return Compose[T](identity[T]{width: dim, checked: true}, Dot[T]{}), prepared, nil
	}
	return Compose[T](columns[T]{widths}, f), prepared, nil
}

// FeatureMatrix returns the features of all rows, computed block by block in one
// pass. A feature that is not finite is a *RowError. The context is checked once
// per block.
func FeatureMatrix[T matrix.Float](ctx context.Context, m FeatureMap[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	dst := matrix.New[T](rows.Rows, m.Dim())
	return dst, OverBlocks(ctx, rows.Rows, func(from, to int) error {
		if err := m.Features(ctx, dst.Slice(from, to), rows.Slice(from, to)); err != nil {
			return err
		}
		return checkFinite(ctx, "feature", dst.Slice(from, to))
	})
}

// partMatrix returns the parts of all rows side by side.
func partMatrix[T matrix.Float](ctx context.Context, e Embedding[T], rows matrix.Dense[T]) (matrix.Dense[T], error) {
	widths := e.Widths()
	dst := matrix.New[T](rows.Rows, total(widths))
	return dst, OverBlocks(ctx, rows.Rows, func(from, to int) error {
		parts, err := e.Embed(ctx, rows.Slice(from, to))
		if err != nil {
			return err
		}
		for i, place := range cutColumns(dst.Slice(from, to), widths) {
			matrix.Copy(place, parts[i])
		}
		return checkFinite(ctx, "factor", dst.Slice(from, to))
	})
}

// checkSets applies check to every set of rows.
func checkSets[T matrix.Float](sets []matrix.Dense[T], check func(rows matrix.Dense[T]) error) error {
	for _, rows := range sets {
		if err := check(rows); err != nil {
			return err
		}
	}
	return nil
}
