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
	features := matrix.New[float64](2, 2)
	err = angles.Features(context.Background(), features, matrix.FromRows([][]float64{{0}, {math.Pi / 2}}))
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
