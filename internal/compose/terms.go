package compose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// A weighted sum of kernels. With k_i the kernel of term i after its transformations, v_i the
// mean of k_i(x, x) over the labelled and the pending rows and w_i its weight, the sum is
//
//	k = Σ_i (w_i/v_i)·k_i,
//
// whose features are those of the terms side by side. Without such rows, or where k_i is zero on all
// of them, the means are over candidates that are spread evenly over the pool.

// mostTypical is how many candidates stand for labelled rows where there are none.
const mostTypical = 1024

// sumOfTerms returns the sum of the terms of the spec, each of which made constructs.
func sumOfTerms[T matrix.Float](c *Composer, made func(term *Composer) ([]kernel.Kernel[T],
	error)) (kernel.Kernel[T], error) {
	kernels := make([]kernel.Kernel[T], len(c.parts.Spec.Terms))
	for i, t := range c.parts.Spec.Terms {
		term := c.term(i)
		members, err := made(term)
		c.Warnings, c.usesKept = append(c.Warnings, term.Warnings...), c.usesKept || term.usesKept
		if err == nil {
			kernels[i], err = weighted(c, members[0], t.Factor())
		}
		if err != nil {
			return nil, fmt.Errorf("term %d (from 1) of the sum: %w", i+1, err)
		}
	}
	return transform.Ensemble(kernels...)
}

// term returns a composer for a term of the sum. Its random numbers are its own.
func (c *Composer) term(i int) *Composer {
	term := &Composer{ctx: c.ctx, parts: c.parts, embedding: c.embedding, within: fmt.Sprintf(", term %d", i+1)}
	if term.parts.Spec = c.parts.Spec.Term(i); i != kept.Term(c.parts.Spec) {
		term.parts.Kept = nil
	}
	term.keepsFeatures = needs.KeepFeatures(c.parts.Spec, 0)
	return term
}

// weighted scales a kernel so that the mean of k(x, x) over typical rows is the weight.
func weighted[T matrix.Float](c *Composer, k kernel.Kernel[T], weight float64) (kernel.Kernel[T], error) {
	rows := withPending(&c.parts, trainIn[T](&c.parts))
	if rows.Rows == 0 {
		rows = someCandidates[T](&c.parts)
	}
	_, lambda, err := transform.Scale(c.ctx, k, rows)
	if errors.As(err, new(*transform.DegenerateError)) {
		rows = someCandidates[T](&c.parts)
		_, lambda, err = transform.Scale(c.ctx, k, rows)
	}
	switch {
	case errors.As(err, new(*transform.DegenerateError)) && equal(rows):
		return k, nil // as good as any other
	case err != nil:
		return nil, err
	}
	return transform.ScaleBy(k, lambda*math.Sqrt(weight))
}

// someCandidates returns candidates that are spread evenly over the pool.
func someCandidates[T matrix.Float](p *Parts) matrix.Dense[T] {
	n := max(p.Pool.Rows, p.Exact.Pool.Rows)
	index := make([]int, min(n, mostTypical))
	for i := range index {
		index[i] = i * n / len(index)
	}
	return candidatesIn[T](p, index)
}

// equal reports whether all rows are the same.
func equal[T matrix.Float](rows matrix.Dense[T]) bool {
	for i := range rows.Rows {
		if !slices.Equal(rows.Row(i), rows.Row(0)) {
			return false
		}
	}
	return true
}
