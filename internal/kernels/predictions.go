package kernels

// Kernel of predictions: with the predictions f_1(x), …, f_n(x) of the members of an
// ensemble and their mean f(x), the features are
//
//	φ_m(x) = (f_m(x) − f(x))/√n
//
// so that k is the covariance of the predictions for two rows over the members.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// NewPredictions returns the kernel of the predictions of an ensemble.
func NewPredictions[T matrix.Float](of kernel.Members) (kernel.FeatureMap[T], error) {
	if of.Members() < 2 {
		return nil, errors.New("the kernel of predictions needs at least two members of an ensemble")
	}
	return kernel.NewFeatureMap[T](&predictionsMap[T]{of: of}), nil
}

type predictionsMap[T matrix.Float] struct {
	of     kernel.Members
	single Scratch[float32]
}

func (m *predictionsMap[T]) Inputs() int { return m.of.Inputs() }
func (m *predictionsMap[T]) Dim() int    { return m.of.Members() }

func (m *predictionsMap[T]) Features(ctx context.Context, dst, rows matrix.Dense[T]) error {
	if err := kernel.CheckRows(ctx, rows, m.Inputs()); err != nil {
		return err
	}
	predictions, err := m.of.Predictions(ctx, inSingle(ctx, rows, &m.single))
	if err != nil {
		return err
	}
	if predictions.Rows != rows.Rows || predictions.Cols != m.Dim() {
		return fmt.Errorf("%d members predicted %d×%d numbers for %d rows", m.Dim(), predictions.Rows,
			predictions.Cols, rows.Rows)
	}
	n := float64(m.Dim())
	for i := range rows.Rows {
		mean := 0.0
		for _, v := range predictions.Row(i) {
			mean += float64(v) / n
		}
		for j, v := range predictions.Row(i) {
			dst.Set(i, j, T((float64(v)-mean)/math.Sqrt(n)))
		}
	}
	return nil
}
