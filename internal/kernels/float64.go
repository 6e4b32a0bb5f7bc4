package kernels

// The step from float32, in which networks run, to float64, in which everything
// that involves the noise variance σ² is computed: σ² is a millionth next to
// numbers of about 1, and float32 keeps one digit of it. The step is taken in two
// places only: at the factors that a network returns, or at the features that a
// feature map such as a sketch returns.

import (
	"context"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// ToFloat64 returns the map that computes the features of m in float32 and
// returns them in float64.
func ToFloat64(m kernel.FeatureMap[float32]) kernel.FeatureMap[float64] {
	return kernel.NewFeatureMap[float64](&float64Map{of: m})
}

type float64Map struct {
	of             kernel.FeatureMap[float32]
	rows, features Scratch[float32]
}

func (m *float64Map) Inputs() int { return m.of.Inputs() }
func (m *float64Map) Dim() int    { return m.of.Dim() }

func (m *float64Map) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	single := m.rows.Matrix(rows.Rows, rows.Cols)
	convert(ctx, single, rows)
	features, err := Borrow(ctx, m.of, single, &m.features)
	if err != nil {
		return err
	}
	convert(ctx, dst, features)
	return nil
}

// TapsToFloat64 returns taps that run the network in float32 and return its
// factors in float64.
func TapsToFloat64(of kernel.Taps[float32]) kernel.Taps[float64] { return &float64Taps{of: of} }

type float64Taps struct {
	of   kernel.Taps[float32]
	rows Scratch[float32]
	in   []Scratch[float64]
	grad []Scratch[float64]
}

func (t *float64Taps) Inputs() int              { return t.of.Inputs() }
func (t *float64Taps) Widths() (in, grad []int) { return t.of.Widths() }

func (t *float64Taps) Block(ctx context.Context, rows matrix.Dense[float64],
	first int) (in, grad []matrix.Dense[float64]) {
	single := t.rows.Matrix(rows.Rows, rows.Cols)
	convert(ctx, single, rows)
	in32, grad32 := t.of.Block(ctx, single, first)
	return allToFloat64(ctx, in32, &t.in), allToFloat64(ctx, grad32, &t.grad)
}

func allToFloat64(ctx context.Context, from []matrix.Dense[float32],
	scratch *[]Scratch[float64]) []matrix.Dense[float64] {
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
