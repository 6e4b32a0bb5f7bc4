package nextbatch_test

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// A Gaussian process has been fitted to the labelled rows, and its kernel picks the rows to
// label next. No network is trained, and nothing is fitted again.
func ExampleLearnt() {
	train, pool := matrix.New[float64](20, 1), matrix.New[float32](60, 1)
	labels := make([]float64, train.Rows)
	for i := range train.Rows {
		train.Set(i, 0, float64(i)/20)
		labels[i] = math.Sin(6 * train.At(i, 0))
	}
	for i := range pool.Rows {
		pool.Set(i, 0, float32(i)/20) // up to 3: only the first third has labels
	}
	process, err := gp.Fit(context.Background(), gp.Data{Inputs: train, Labels: labels}, gp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("maxdet-p:matern>post"), nextbatch.Problem{
		Train: matrix.Converted[float32](train), Pool: pool, Batch: 3,
		Learnt: nextbatch.Learnt{Processes: []kernel.Process{{Stationary: process.Kernel(), Noise: process.Noise}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range batch.Rows() {
		fmt.Println("beyond the labels:", pool.At(row, 0) >= 1)
	}
	// Output:
	// beyond the labels: true
	// beyond the labels: true
	// beyond the labels: true
}
