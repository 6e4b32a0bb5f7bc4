package kernel

import (
	"math"

	"github.com/nextbatch/nextbatch/matrix"
)

// Scaled is c·k with c ≥ 0. Its features are √c·φ.
type Scaled[T matrix.Float] struct {
	Of     Form[T]
	Factor float64 // c
}

// Parts are those of the kernel.
func (s Scaled[T]) Parts() int { return s.Of.Parts() }

// Diag scales the diagonal.
func (s Scaled[T]) Diag(dst []T, rows []matrix.Dense[T]) error {
	if err := s.Of.Diag(dst, rows); err != nil {
		return err
	}
	for i := range dst {
		dst[i] *= T(s.Factor)
	}
	return nil
}

// Cross scales the kernel.
func (s Scaled[T]) Cross(dst matrix.Dense[T], a, b []matrix.Dense[T]) error {
	if err := s.Of.Cross(dst, a, b); err != nil {
		return err
	}
	scale(dst, T(s.Factor))
	return nil
}

// Dim is that of the kernel.
func (s Scaled[T]) Dim(widths []int) int { return s.Of.Dim(widths) }

// Features scales the features.
func (s Scaled[T]) Features(dst matrix.Dense[T], rows []matrix.Dense[T]) error {
	if err := s.Of.Features(dst, rows); err != nil {
		return err
	}
	scale(dst, s.root())
	return nil
}

func (s Scaled[T]) root() T { return T(math.Sqrt(s.Factor)) }
