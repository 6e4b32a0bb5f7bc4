package kernels

import (
	"context"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
)

// Product is k_1 · … · k_n (paper, equation "prod_sketch"). Its features are the
// tensor product of those of the factors, the index of the first factor
// changing slowest.
type Product[T matrix.Float] struct{ Folded[T] }

// NewProduct returns the product of the factors.
func NewProduct[T matrix.Float](factors ...Form[T]) *Product[T] {
	return &Product[T]{Folded[T]{Forms: factors, op: multiply}}
}

// Features writes the tensor products.
func (p *Product[T]) Features(ctx context.Context, dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	if first := p.Forms[0]; p.restIsOne() {
		return first.Features(ctx, dst, rows[:first.Parts()])
	}
	factors := make([]matrix.Dense[T], len(p.Forms))
	for i, f := range p.Forms {
		own := rows[:f.Parts()]
		rows = rows[f.Parts():]
		factors[i] = matrix.New[T](dst.Rows, f.Dim(partWidths(own)))
		if err := f.Features(ctx, factors[i], own); err != nil {
			return err
		}
	}
	linalg.TeamOf(ctx).Run(dst.Rows, &tensorJob[T]{dst, factors})
	return nil
}

// restIsOne reports whether only the first factor matters.
func (p *Product[T]) restIsOne() bool {
	for _, f := range p.Forms[1:] {
		if !isOne(f) {
			return false
		}
	}
	return true
}

// tensorJob writes tensor products of rows. Its parts are rows.
type tensorJob[T matrix.Float] struct {
	dst     matrix.Dense[T]
	factors []matrix.Dense[T]
}

// Do builds a product from its last factor to its first, at the end of the
// destination. For each element of the next factor, a step writes a scaled copy
// of the product so far in front of it, and finally scales it in place.
func (j *tensorJob[T]) Do(row, _ int) {
	set := simd.For[T]()
	dst, last := j.dst.Row(row), len(j.factors)-1
	done := dst[len(dst)-j.factors[last].Cols:]
	copy(done, j.factors[last].Row(row))
	for i := last - 1; i >= 0; i-- {
		factor := j.factors[i].Row(row)
		next := dst[len(dst)-len(done)*len(factor):]
		for k, v := range factor {
			block := next[k*len(done):][:len(done)]
			copy(block, done)
			set.ScaleAdd(block, block, 0, v)
		}
		done = next
	}
}
