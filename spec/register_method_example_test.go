package spec_test

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// inOrder picks the rows of the pool from first to last.
type inOrder struct{ space *selection.Space }

func (inOrder) Name() string { return "in-order" }

func (inOrder) Init(s *selection.Space) (selection.Forward, error) { return inOrder{s}, nil }

func (inOrder) Add([]int) error { return nil }

func (m inOrder) Next() (selection.Choice, error) {
	for row := range m.space.PoolSize() {
		if m.space.Open(row) {
			return selection.Choice{Row: row, Score: 1}, nil
		}
	}
	return selection.Choice{}, &selection.Stuck{Reason: "no row is left"}
}

func init() {
	spec.RegisterMethod(spec.MethodInfo{Name: "in-order", Description: "the rows in their order"},
		func(selection.Settings) selection.Method { return inOrder{} })
}

// A method of your own.
func ExampleRegisterMethod() {
	problem := nextbatch.Problem{
		Train: matrix.FromRows([][]float32{{0, 0}}),
		Pool:  matrix.FromRows([][]float32{{1, 0}, {0, 3}, {-2, 0}, {0, -0.5}}),
		Batch: 2,
	}
	batch, err := nextbatch.Select(context.Background(), spec.MustParse("in-order:linear"), problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Spec, batch.Rows())
	// Output: in-order:linear [0 1]
}
