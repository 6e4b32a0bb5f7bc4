package dataset_test

import (
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
)

func ExampleTable() {
	cut := dataset.NewCategorical("cut", "fair", "ideal")
	for _, code := range []int32{1, 0, -1} {
		cut.Append(code)
	}
	diamonds, err := dataset.NewTable(dataset.NewNumeric("carat", 0.23, 0.5, 0.31), cut)
	if err != nil {
		fmt.Println(err)
		return
	}
	complete := diamonds.Select(diamonds.CompleteRows())
	for row := range complete.Rows() {
		for _, c := range complete.Columns() {
			fmt.Println(row, c.Name(), c.Format(row))
		}
	}
	// Output:
	// 0 carat 0.23
	// 0 cut ideal
	// 1 carat 0.5
	// 1 cut fair
}

func ExampleFitScaler() {
	x := matrix.FromRows([][]float64{{0, 10}, {2, 10}, {1, 10}, {9, 11}})
	train, pool := []int{0}, []int{1, 2}
	s, err := dataset.FitScaler(x, dataset.Population, train, pool)
	if err != nil {
		fmt.Println(err)
		return
	}
	dataset.Scale(x, x, s)
	for i := range x.Rows {
		fmt.Printf("%.3f\n", x.Row(i))
	}
	// Output:
	// [-1.201 0.000]
	// [1.201 0.000]
	// [0.000 0.000]
	// [4.805 0.000]
}

func ExamplePublishedSplit() {
	split, err := dataset.PublishedSplit(40768, dataset.PaperSizes(40768), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(split.Train), len(split.Valid), len(split.Pool), len(split.Test))
	// Output: 256 1024 31335 8153
}

func ExamplePrepare() {
	color := dataset.NewCategorical("color", "red", "green", "blue")
	for _, code := range []int32{0, 1, 2, 1} {
		color.Append(code)
	}
	paints, err := dataset.NewTable(dataset.NewNumeric("weight", 1.5, 2, math.NaN(), 3), color,
		dataset.NewNumeric("price", 10, 12, 9, 20))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := dataset.Prepare(paints, dataset.Preparation{Target: dataset.Target{Columns: []string{"price"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Encoder.Features())
	for i, row := range r.Rows {
		fmt.Println(row, r.X.Row(i), r.Y[i])
	}
	// Output:
	// [weight color=green]
	// 0 [1.5 0] 10
	// 1 [2 1] 12
	// 3 [3 1] 20
}
