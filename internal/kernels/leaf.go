package kernels

// Leaf kernel: with T trees, of which each puts a row into one of its leaves,
//
//	k(x, x') = (number of trees in which x and x' are in the same leaf)/T
//
// Its features are 1/√T for the leaf of each tree that the row is in, and 0 for all
// others. The embedding holds the number of the leaf in each tree instead.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// mostLeaves is the largest number of leaves that float32 can count.
const mostLeaves = 1 << 24

// NewLeaf returns the leaf kernel of trees.
func NewLeaf[T matrix.Float](trees kernel.Leaves) (kernel.FeatureMap[T], error) {
	sizes := trees.Sizes()
	if len(sizes) == 0 {
		return nil, errors.New("the leaf kernel needs at least one tree")
	}
	for t, size := range sizes {
		if size < 1 || size > mostLeaves {
			return nil, fmt.Errorf("tree %d has %d leaves, but must have 1 to %d", t, size, mostLeaves)
		}
	}
	return Compose[T](&inLeaves[T]{trees: trees, sizes: sizes}, SameLeaf[T]{Sizes: sizes}).(kernel.FeatureMap[T]), nil
}

// inLeaves is the embedding of rows as numbers of leaves.
type inLeaves[T matrix.Float] struct {
	trees  kernel.Leaves
	sizes  []int
	single Scratch[float32]
	leaves Scratch[T]
}

func (e *inLeaves[T]) Inputs() int   { return e.trees.Inputs() }
func (e *inLeaves[T]) Widths() []int { return []int{len(e.sizes)} }

func (e *inLeaves[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := kernel.CheckRows(ctx, rows, e.Inputs()); err != nil {
		return nil, err
	}
	leaves, err := e.trees.Leaves(ctx, inSingle(ctx, rows, &e.single))
	if err != nil {
		return nil, err
	}
	if want := rows.Rows * len(e.sizes); len(leaves) != want {
		return nil, fmt.Errorf("the trees returned %d leaves instead of %d", len(leaves), want)
	}
	dst := e.leaves.Matrix(rows.Rows, len(e.sizes))
	for i := range rows.Rows {
		for t, size := range e.sizes {
			leaf := leaves[i*len(e.sizes)+t]
			if leaf < 0 || int(leaf) >= size {
				return nil, fmt.Errorf("row %d is in leaf %d of tree %d, which has %d", i, leaf, t, size)
			}
			dst.Set(i, t, T(leaf))
		}
	}
	return []matrix.Dense[T]{dst}, nil
}

// inSingle returns rows in float32, in scratch if they have to be converted.
func inSingle[T matrix.Float](ctx context.Context, rows matrix.Dense[T],
	scratch *Scratch[float32]) matrix.Dense[float32] {
	if single, ok := any(rows).(matrix.Dense[float32]); ok {
		return single
	}
	single := scratch.Matrix(rows.Rows, rows.Cols)
	convert(ctx, single, rows)
	return single
}

// SameLeaf is the form of the leaf kernel. Its part holds the number of the leaf in each
// tree.
type SameLeaf[T matrix.Float] struct {
	Sizes []int // leaves of each tree
}

// Parts returns 1.
func (SameLeaf[T]) Parts() int { return 1 }

// Diag writes ones.
func (SameLeaf[T]) Diag(_ context.Context, dst []T, _ []matrix.Dense[T]) error {
	for i := range dst {
		dst[i] = 1
	}
	return nil
}

// Cross counts the trees in which two rows are in the same leaf.
func (f SameLeaf[T]) Cross(ctx context.Context, dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	pieces := (dst.Cols + pieceRows - 1) / pieceRows
	linalg.TeamOf(ctx).Run(dst.Rows*pieces, &sameLeafJob[T]{dst, a[0], b[0], pieces})
	return nil
}

// sameLeafJob computes a cross matrix. Each of its parts is a piece of one row.
type sameLeafJob[T matrix.Float] struct {
	dst, a, b matrix.Dense[T]
	pieces    int // of a row
}

func (j *sameLeafJob[T]) Do(part, _ int) {
	i, from := part/j.pieces, part%j.pieces*pieceRows
	own := j.a.Row(i)
	for k := from; k < min(from+pieceRows, j.b.Rows); k++ {
		same := 0
		for t, leaf := range j.b.Row(k) {
			if leaf == own[t] {
				same++
			}
		}
		j.dst.Set(i, k, T(same)/T(len(own)))
	}
}

// Dim is the number of leaves of all trees.
func (f SameLeaf[T]) Dim([]int) int { return total(f.Sizes) }

// Features writes 1/√T for the leaves that a row is in.
func (f SameLeaf[T]) Features(_ context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	one := T(1 / math.Sqrt(float64(len(f.Sizes))))
	for i := range dst.Rows {
		features := dst.Row(i)
		clear(features)
		for t, leaf := range rows[0].Row(i) {
			features[int(leaf)] = one
			features = features[f.Sizes[t]:]
		}
	}
	return nil
}
