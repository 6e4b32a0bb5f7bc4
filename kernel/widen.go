package kernel

// The way from float32, in which networks run, to float64, in which everything
// with the noise variance σ² is computed: σ² is a millionth beside numbers of
// the size of 1, and float32 keeps one digit of it. The way is taken in two
// places only: where a network gives its factors, or where a feature map such as
// a sketch gives its features.

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Widen returns the map that computes the features of m in float32 and hands
// them on in float64.
func Widen(m FeatureMap[float32]) FeatureMap[float64] {
	return NewFeatureMap[float64](&widened{of: m})
}

type widened struct {
	of             FeatureMap[float32]
	rows, features Scratch[float32]
}

func (w *widened) Inputs() int { return w.of.Inputs() }
func (w *widened) Dim() int    { return w.of.Dim() }

func (w *widened) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	narrow := w.rows.Matrix(rows.Rows, rows.Cols)
	convert(ctx, narrow, rows)
	features, err := Borrow(ctx, w.of, narrow, &w.features)
	if err != nil {
		return err
	}
	convert(ctx, dst, features)
	return nil
}

// WidenTaps returns taps that run the network in float32 and hand its factors on
// in float64.
func WidenTaps(of Taps[float32]) Taps[float64] { return &widenedTaps{of: of} }

type widenedTaps struct {
	of   Taps[float32]
	rows Scratch[float32]
	in   []Scratch[float64]
	grad []Scratch[float64]
}

func (w *widenedTaps) Sizes() []int { return w.of.Sizes() }

func (w *widenedTaps) Block(ctx context.Context, rows matrix.Dense[float64], first int) (in, grad []matrix.Dense[float64]) {
	narrow := w.rows.Matrix(rows.Rows, rows.Cols)
	convert(ctx, narrow, rows)
	in32, grad32 := w.of.Block(ctx, narrow, first)
	return widenAll(ctx, in32, &w.in), widenAll(ctx, grad32, &w.grad)
}

func widenAll(ctx context.Context, from []matrix.Dense[float32], scratch *[]Scratch[float64]) []matrix.Dense[float64] {
	for len(*scratch) < len(from) {
		*scratch = append(*scratch, Scratch[float64]{})
	}
	to := make([]matrix.Dense[float64], len(from))
	for i, m := range from {
		to[i] = (*scratch)[i].Matrix(m.Rows, m.Cols)
		convert(ctx, to[i], m)
	}
	return to
}
