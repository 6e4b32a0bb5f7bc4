package encode_test

import (
	"fmt"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

func ExampleFitScaler() {
	x := matrix.FromRows([][]float64{{0, 10}, {2, 10}, {1, 10}, {9, 11}})
	train, pool := []int{0}, []int{1, 2}
	s, err := encode.FitScaler(x, encode.Population, train, pool)
	if err != nil {
		fmt.Println(err)
		return
	}
	encode.Scale(x, x, s)
	for i := range x.Rows {
		fmt.Printf("%.3f\n", x.Row(i))
	}
	// Output:
	// [-1.201 0.000]
	// [1.201 0.000]
	// [0.000 0.000]
	// [4.805 0.000]
}
