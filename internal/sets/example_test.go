package sets_test

import (
	"context"
	"errors"
	"fmt"
	"os"

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
