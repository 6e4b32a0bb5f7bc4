package kerneltest

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Stumps are trees that each cut one input at a few places. They are kernel.Leaves and, each
// predicting the square of the number of a leaf, kernel.Members.
type Stumps struct {
	inputs, leaves int
	column         []int
	cuts           [][]float32
}

// NewStumps draws trees with the given number of leaves.
func NewStumps(inputs, trees, leaves int) *Stumps {
	s, stream := &Stumps{inputs: inputs, leaves: leaves}, rng.New(7, "stumps")
	for range trees {
		cuts := make([]float32, leaves-1)
		rng.FillNormal(stream, cuts)
		slices.Sort(cuts)
		s.column, s.cuts = append(s.column, stream.IntN(inputs)), append(s.cuts, cuts)
	}
	return s
}

// Inputs is the width of a row.
func (s *Stumps) Inputs() int { return s.inputs }

// Sizes are the numbers of leaves.
func (s *Stumps) Sizes() []int { return slices.Repeat([]int{s.leaves}, len(s.column)) }

// Leaf returns the leaf of a tree that a row is in.
func (s *Stumps) Leaf(tree int, row []float32) int {
	at, _ := slices.BinarySearch(s.cuts[tree], row[s.column[tree]])
	return at
}

// Leaves returns the leaves of rows.
func (s *Stumps) Leaves(_ context.Context, rows matrix.Dense[float32]) (leaves []int32, err error) {
	for i := range rows.Rows {
		for tree := range s.column {
			leaves = append(leaves, int32(s.Leaf(tree, rows.Row(i))))
		}
	}
	return leaves, nil
}

// Members is the number of trees.
func (s *Stumps) Members() int { return len(s.column) }

// Predictions returns the squares of the numbers of the leaves.
func (s *Stumps) Predictions(_ context.Context, rows matrix.Dense[float32]) (matrix.Dense[float32], error) {
	dst := matrix.New[float32](rows.Rows, len(s.column))
	for i := range rows.Rows {
		for tree := range s.column {
			leaf := float32(s.Leaf(tree, rows.Row(i)))
			dst.Set(i, tree, leaf*leaf)
		}
	}
	return dst, nil
}
