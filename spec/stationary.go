package spec

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/transform"
)

// mostFitted is how many labelled rows the length scales are fitted on, because the
// work is cubic in their number. More rows change the length scales little.
const mostFitted = 512

// stationary constructs a kernel whose length scales come from the labels. Its
// variance is in units in which the noise is σ², so that a posterior and the methods
// that take σ² for the noise see the ratio of signal to noise that the labels have.
func stationary[T matrix.Float](shape kernel.Shape) func(context.Context, Source[T]) (kernel.Kernel[T], error) {
	return func(ctx context.Context, s Source[T]) (kernel.Kernel[T], error) {
		rows, labels := s.Train, s.Labels
		if rows.Rows > mostFitted {
			index := sample(rows.Rows, mostFitted, s.Normals("length scales"))
			rows, labels = rows.SelectRows(index), selected(labels, index)
		}
		fitted, noise, err := kernel.FitStationary(ctx, shape, matrix.Converted[float64](rows), labels)
		if err != nil {
			return nil, fmt.Errorf("length scales by marginal likelihood: %w", err)
		}
		fitted.Variance *= s.Sigma2 / noise
		return kernel.NewStationary[T](fitted)
	}
}

// sample returns k of n numbers in increasing order, all sets equally likely.
func sample(n, k int, from transform.Normals) []int {
	keys, index := make([]float64, n), make([]int, n)
	for i := range n {
		keys[i], index[i] = from.NormFloat64(), i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	index = index[:k]
	slices.Sort(index)
	return index
}

func selected(labels []float64, index []int) []float64 {
	some := make([]float64, len(index))
	for i, row := range index {
		some[i] = labels[row]
	}
	return some
}
