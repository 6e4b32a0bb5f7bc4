package spec_test

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// angles has the features (sin fx, cos fx), where x is the first input and f a frequency.
func angles[T matrix.Float](_ context.Context, s spec.Source[T]) (kernel.Kernel[T], error) {
	return kernel.NewFunc(s.Inputs, 2, func(dst, rows matrix.Dense[T]) error {
		for i := range rows.Rows {
			sin, cos := math.Sincos(s.Number * float64(rows.At(i, 0)))
			dst.Set(i, 0, T(sin))
			dst.Set(i, 1, T(cos))
		}
		return nil
	})
}

func init() {
	spec.RegisterKernel(spec.KernelInfo{
		Name: "angles", Description: "sine and cosine of the first input",
		Parameter: spec.Parameter{Name: "frequency", Optional: true, Default: 1},
		Space:     spec.Explicit,
	}, spec.KernelMaker{Single: angles[float32], Double: angles[float64]})
}

// A kernel of your own. As its space is Explicit, it works with methods and
// transformations that need features.
func ExampleRegisterKernel() {
	problem := nextbatch.Problem{
		Train: matrix.FromRows([][]float32{{0, 0}}),
		Pool:  matrix.FromRows([][]float32{{1, 0}, {0, 3}, {-2, 0}, {0, -0.5}}),
		Batch: 2,
	}
	for _, text := range []string{"maxdist-tp:angles(0.5)", "bait-f-p:angles"} {
		batch, err := nextbatch.Select(context.Background(), spec.MustParse(text), problem)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.Spec, batch.Rows())
	}
	// Output:
	// maxdist-tp:angles(0.5) [2 0]
	// bait-f-p:angles [1 2]
}
