package kernels

// The kernels that users of Gaussian processes expect. With a length scale ℓ_j for
// each input and a variance v,
//
//	r² = Σ_j ((x_j − x'_j)/ℓ_j)²
//	RBF:         k(x, x') = v·exp(−r²/2)
//	Matérn-5/2:  k(x, x') = v·(1 + √5·r + (5/3)·r²)·exp(−√5·r)

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewStationary returns the kernel. It has infinitely many features.
func NewStationary[T matrix.Float](s kernel.Stationary) (kernel.Kernel[T], error) {
	if !(s.Variance > 0) || math.IsInf(s.Variance, 1) {
		return nil, fmt.Errorf("the variance of the kernel is %v, but must be positive and finite", s.Variance)
	}
	over := make([]T, len(s.Lengths))
	for j, length := range s.Lengths {
		if !(length > 0) || math.IsInf(length, 1) {
			return nil, fmt.Errorf("the length scale of input %d is %v, but must be positive and finite", j, length)
		}
		over[j] = T(1 / length)
	}
	values, freedom := gaussian[T], math.Inf(1)
	if s.Shape == kernel.Matern52 {
		values, freedom = matern52[T], 5
	}
	v := T(s.Variance)
	return Compose[T](&stretched[T]{over: over}, radial[T]{atZero: v, rate: 1, freedom: freedom,
		values: func(set *simd.Set[T], squared []T) {
			values(set, squared)
			for i := range squared {
				squared[i] *= v
			}
		}}), nil
}

func gaussian[T matrix.Float](set *simd.Set[T], squared []T) {
	for i, s := range squared {
		squared[i] = -s / 2
	}
	set.Exp(squared, squared)
}

// farAway is a squared distance at which the kernel is 0 in any precision. Larger
// ones are cut here, because their polynomial could overflow.
const farAway = 1e7

func matern52[T matrix.Float](set *simd.Set[T], squared []T) {
	var polynomial [256]T
	for len(squared) > 0 {
		n := min(len(squared), len(polynomial))
		for i, s := range squared[:n] {
			s = min(s, farAway)
			scaled := T(math.Sqrt(5 * float64(s)))
			polynomial[i], squared[i] = 1+scaled+scaled*scaled/3, -scaled
		}
		set.Exp(squared[:n], squared[:n])
		for i, p := range polynomial[:n] {
			squared[i] *= p
		}
		squared = squared[n:]
	}
}

// stretched is the embedding of rows in units of the length scales.
type stretched[T matrix.Float] struct {
	over    []T // 1/ℓ_j
	scratch Scratch[T]
}

func (e *stretched[T]) Inputs() int   { return len(e.over) }
func (e *stretched[T]) Widths() []int { return []int{len(e.over)} }

func (e *stretched[T]) Embed(ctx context.Context, rows matrix.Dense[T]) ([]matrix.Dense[T], error) {
	if err := kernel.CheckRows(ctx, rows, len(e.over)); err != nil {
		return nil, err
	}
	dst := e.scratch.Matrix(rows.Rows, len(e.over))
	for i := range rows.Rows {
		row := dst.Row(i)
		for j, v := range rows.Row(i) {
			row[j] = v * e.over[j]
		}
	}
	return []matrix.Dense[T]{dst}, nil
}
