package transform

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// node is a step of a sketch.
type node[T matrix.Float] interface {
	// sketch writes the sketched features of the parts to dst, or adds them to
	// it. depth counts the products around the node.
	sketch(ctx context.Context, s *sketch[T], dst matrix.Dense[T], parts []matrix.Dense[T], add bool, depth int) error
	// describe adds the steps that do the same, times another value unless that is
	// kernel.None (program.go).
	describe(p *program.Program, to program.Value, parts []program.Value, times program.Value, add bool) bool
}

// child is a node and the number of parts that it reads. If the node is nil, the
// parts are skipped.
type child[T matrix.Float] struct {
	parts int
	node  node[T]
}

// plain multiplies a part by a random matrix.
type plain[T matrix.Float] struct{ matrix matrix.Dense[T] }

func (n plain[T]) sketch(ctx context.Context, _ *sketch[T], dst matrix.Dense[T], parts []matrix.Dense[T],
	add bool, _ int) error {
	linalg.GemmSplit(linalg.TeamOf(ctx), dst, 1, parts[0], linalg.NoTrans, n.matrix, linalg.NoTrans, keep[T](add), nil)
	return nil
}

// keep is the factor of what a destination already holds.
func keep[T matrix.Float](add bool) T {
	if add {
		return 1
	}
	return 0
}

// expanded multiplies the features of any other form by a random matrix.
type expanded[T matrix.Float] struct {
	form     kernels.Form[T]
	matrix   matrix.Dense[T]
	features kernels.Scratch[T]
}

func (n *expanded[T]) sketch(ctx context.Context, _ *sketch[T], dst matrix.Dense[T], parts []matrix.Dense[T],
	add bool, _ int) error {
	features := n.features.Matrix(dst.Rows, n.matrix.Rows)
	if err := n.form.Features(ctx, features, parts); err != nil {
		return err
	}
	linalg.GemmSplit(linalg.TeamOf(ctx), dst, 1, features, linalg.NoTrans, n.matrix, linalg.NoTrans, keep[T](add), nil)
	return nil
}

// sum adds up the sketches of its terms.
type sum[T matrix.Float] struct{ terms []child[T] }

func (n sum[T]) sketch(ctx context.Context, s *sketch[T], dst matrix.Dense[T], parts []matrix.Dense[T],
	add bool, depth int) error {
	for _, c := range n.terms {
		if err := c.node.sketch(ctx, s, dst, parts, add, depth); err != nil {
			return err
		}
		parts, add = parts[c.parts:], true
	}
	return nil
}

// product multiplies the sketches of its factors.
type product[T matrix.Float] struct {
	factors []child[T]
	done    hadamard[T]
}

func (n *product[T]) sketch(ctx context.Context, s *sketch[T], dst matrix.Dense[T], parts []matrix.Dense[T],
	add bool, depth int) error {
	last := n.last()
	var left matrix.Dense[T]
	for i, c := range n.factors[:last+1] {
		own := parts[:c.parts]
		parts = parts[c.parts:]
		switch {
		case c.node == nil:
		case last == 0:
			return c.node.sketch(ctx, s, dst, own, add, depth)
		case i == 0:
			left = s.level(depth).left.Matrix(dst.Rows, dst.Cols)
			if err := c.node.sketch(ctx, s, left, own, false, depth+1); err != nil {
				return err
			}
		case i < last:
			if err := n.multiply(ctx, s, left, left, c.node, own, false, depth); err != nil {
				return err
			}
		default:
			return n.multiply(ctx, s, dst, left, c.node, own, add, depth)
		}
	}
	return nil
}

// last is the index of the last factor with a node.
func (n *product[T]) last() int {
	last := len(n.factors) - 1
	for n.factors[last].node == nil {
		last--
	}
	return last
}

// multiply writes the product of left and the sketch of a factor to dst, which
// may be left, or adds it to dst. It multiplies the sketch of a plain node while
// it is still in the cache.
func (n *product[T]) multiply(ctx context.Context, s *sketch[T], dst, left matrix.Dense[T], factor node[T],
	parts []matrix.Dense[T], add bool, depth int) error {
	right := s.level(depth).right.Matrix(dst.Rows, dst.Cols)
	n.done = hadamard[T]{simd.For[T](), dst, left, right, add}
	if simple, ok := factor.(plain[T]); ok {
		linalg.GemmSplit(linalg.TeamOf(ctx), right, 1, parts[0], linalg.NoTrans, simple.matrix, linalg.NoTrans, 0, &n.done)
		return nil
	}
	if err := factor.sketch(ctx, s, right, parts, false, depth+1); err != nil {
		return err
	}
	linalg.TeamOf(ctx).Run(dst.Rows, &n.done)
	return nil
}

// hadamard writes the element-wise product of left and right to dst, or adds it
// to dst, and overwrites right. It is the epilogue of a matrix product, or a job
// whose parts are rows.
type hadamard[T matrix.Float] struct {
	set              *simd.Set[T]
	dst, left, right matrix.Dense[T]
	add              bool
}

// Finish multiplies a block.
func (h *hadamard[T]) Finish(r0, r1, c0, c1, _ int) {
	for i := r0; i < r1; i++ {
		dst, left, right := h.dst.Row(i)[c0:c1], h.left.Row(i)[c0:c1], h.right.Row(i)[c0:c1]
		if !h.add {
			h.set.Mul(dst, left, right)
			continue
		}
		h.set.Mul(right, left, right)
		h.set.Axpy(dst, right, 1)
	}
}

// Do multiplies a row.
func (h *hadamard[T]) Do(row, slot int) { h.Finish(row, row+1, 0, h.dst.Cols, slot) }
