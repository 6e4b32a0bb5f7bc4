package transform_test

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// How uncertain is a linear model about three rows after it has seen a row along
// the first axis? It is nearly certain along that axis, and as uncertain as
// before across it.
func ExamplePosterior() {
	train := matrix.FromRows([][]float64{{1, 0}})
	pool := matrix.FromRows([][]float64{{2, 0}, {1, 1}, {0, 1}})
	after, _, err := transform.Posterior(context.Background(), kernel.NewLinear[float64](2), train, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	variance := make([]float64, 3)
	if err := after.Diag(context.Background(), variance, pool); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", variance)
	// Output: [0.040 1.010 1.000]
}

// A sketch approximately preserves inner products, in far fewer dimensions.
func ExampleSketch() {
	long := matrix.New[float32](1, 10_000)
	for i := range long.Data {
		long.Data[i] = 0.01 // of length 1
	}
	k, err := transform.Sketch(kernel.NewLinear[float32](10_000), 512, transform.Seeded(1, "example"), transform.Paper)
	if err != nil {
		fmt.Println(err)
		return
	}
	squared := make([]float32, 1)
	if err := k.Diag(context.Background(), squared, long); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d features of squared length %.1f\n", k.Dim(), squared[0])
	// Output: 512 features of squared length 1.0
}

func ExampleScale() {
	train := matrix.FromRows([][]float64{{3, 4}, {5, 0}})
	_, lambda, err := transform.Scale[float64](context.Background(), kernel.NewLinear[float64](2), train)
	fmt.Println(lambda, err)
	_, _, err = transform.Scale[float64](context.Background(), kernel.NewLinear[float64](2), matrix.New[float64](3, 2))
	fmt.Println(err)
	// Output:
	// 0.2 <nil>
	// scale: the kernel is degenerate: the mean of k(x, x) is 0
}

// Add up the kernels of two models.
func ExampleEnsemble() {
	one, err := kernels.NewLaplace[float64](1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	both, err := transform.Ensemble(one, kernel.NewLinear[float64](1))
	if err != nil {
		fmt.Println(err)
		return
	}
	diag := make([]float64, 1)
	fmt.Println(both.Diag(context.Background(), diag, matrix.FromRows([][]float64{{3}})), diag)
	// Output: <nil> [10]
}
