package dataset_test

import (
	"fmt"

	"github.com/nextbatch/nextbatch/dataset"
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
