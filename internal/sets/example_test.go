package sets_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/sets"
)

func ExampleLoad() {
	_, err := sets.Load(context.Background(), "fried", "no such folder")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	for _, set := range sets.All()[:2] {
		fmt.Println(set.Name, set.Files[0], set.Features)
	}
	// Output:
	// true
	// sgemm sgemm_product.csv 14
	// wec_sydney Sydney_Data.csv 48
}

func ExamplePublishedSplit() {
	split, err := sets.PublishedSplit(40768, sets.PaperSizes(40768), 0)
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
	r, err := sets.Prepare(paints, sets.Preparation{Target: encode.Target{Columns: []string{"price"}}})
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
