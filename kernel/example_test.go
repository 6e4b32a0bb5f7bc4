package kernel_test

import (
	"context"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

func ExampleNewLinear() {
	k := kernel.NewLinear[float64](2)
	a, b := matrix.FromRows([][]float64{{1, 2}, {3, 4}}), matrix.FromRows([][]float64{{1, 1}})
	cross := matrix.New[float64](2, 1)
	if err := k.Cross(context.Background(), cross, a, b); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cross.Data)
	// Output: [3 7]
}

// Use features of your own.
func ExampleNewFunc() {
	angles, err := kernel.NewFunc(1, 2, func(dst, rows matrix.Dense[float64]) error {
		for i := range rows.Rows {
			sin, cos := math.Sincos(rows.At(i, 0))
			dst.Set(i, 0, sin)
			dst.Set(i, 1, cos)
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	features, err := kernel.FeatureMatrix(context.Background(), angles, matrix.FromRows([][]float64{{0}, {math.Pi / 2}}))
	fmt.Printf("%.0f %v\n", features.Data, err)
	// Output: [0 1 1 0] <nil>
}

// The error for a number that is not finite names its row and column.
func ExampleRowError() {
	k := kernel.NewLinear[float64](2)
	rows := matrix.FromRows([][]float64{{1, 2}, {3, math.NaN()}})
	fmt.Println(k.Diag(context.Background(), make([]float64, 2), rows))
	// Output: row 1, input 1 is NaN
}

// Before many calls on the same rows, do the work that depends on one row alone
// only once.
func ExamplePrepare() {
	k, err := kernel.NewNNGP[float64](kernel.InfiniteNetwork{Inputs: 2, Layers: 3, SigmaW: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := matrix.FromRows([][]float64{{1, 2}, {3, 4}, {5, 6}})
	k, rows, err := kernel.Prepare(context.Background(), k, pool)
	if err != nil {
		fmt.Println(err)
		return
	}
	row := matrix.New[float64](1, 3)
	for i := range pool.Rows {
		if err := k.Cross(context.Background(), row, rows[0].Slice(i, i+1), rows[0]); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.1f\n", row.Data)
	}
	// Output:
	// [0.6 1.4 2.1]
	// [1.4 3.1 4.9]
	// [2.1 4.9 7.6]
}

// squared maps a row to the squares of another kernel's features.
type squared struct {
	kernel.FeatureMap[float64]
	features kernel.Scratch[float64]
}

func (m *squared) Features(ctx context.Context, dst, rows matrix.Dense[float64]) error {
	of, err := kernel.Borrow(ctx, m.FeatureMap, rows, &m.features)
	if err != nil {
		return err
	}
	for i := range of.Rows {
		for j, v := range of.Row(i) {
			dst.Set(i, j, v*v)
		}
	}
	return nil
}

// A transformation of your own computes its features from those of another kernel.
func ExampleBorrow() {
	k := kernel.NewFeatureMap[float64](&squared{FeatureMap: kernel.NewLinear[float64](2)})
	features, err := kernel.FeatureMatrix(context.Background(), k, matrix.FromRows([][]float64{{1, 2}, {3, 4}}))
	fmt.Println(features.Data, err)
	// Output: [1 4 9 16] <nil>
}
