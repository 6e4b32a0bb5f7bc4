package selection_test

import (
	"context"
	"fmt"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

func ExampleSelect() {
	problem := selection.Problem[float32]{
		Pool:  matrix.FromRows([][]float32{{2, 0}, {2.5, 0}, {-2, 0}, {1, 0}, {13, 0}}),
		Train: matrix.FromRows([][]float32{{0, 0}, {10, 0}}),
		Mode:  selection.TP,
		Batch: 2,
	}
	result, err := selection.Select(context.Background(), selection.LCMD{}, problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range result.Picks {
		c := p.Cluster
		fmt.Printf("row %d, %v from the centre (%s row %d) of a cluster of %d rows\n", p.Row, c.Distance,
			c.Centre.Set, c.Centre.Row, c.Rows)
	}
	// Output:
	// row 1, 2.5 from the centre (train row 0) of a cluster of 4 rows
	// row 4, 3 from the centre (train row 1) of a cluster of 1 rows
}

func ExampleConstraints() {
	problem := selection.Problem[float64]{
		Pool:  matrix.FromRows([][]float64{{5}, {4}, {3}, {2}, {1}}),
		Batch: 4,
		Constraints: selection.Constraints{
			Exclude: []int{1},                    // is being measured already
			Require: []int{4},                    // somebody wants to know
			Cost:    []float64{10, 10, 10, 3, 3}, // hours
			Budget:  16,
		},
	}
	result, err := selection.Select(context.Background(), selection.MaxDiag{}, problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range result.Picks {
		fmt.Println("row", p.Row, p.Why)
	}
	fmt.Println(result.Missing, "missing:", result.Short)
	// Output:
	// row 4 required
	// row 0 chosen
	// row 3 chosen
	// 1 missing: the remaining budget covers no further candidate
}

// Herding is a method of our own: kernel herding takes the row that is most like
// the pool on average and least like what is selected,
//
//	NEXT = argmax Σ_{y in X_pool} k(x, y)/N_pool − Σ_{c in X_sel} k(x, c)/(N_sel + 1)
type Herding struct{}

func (Herding) Name() string { return "herding" }

func (Herding) Init(s *selection.Space) (selection.Forward, error) {
	n := s.PoolSize()
	h := &herding{space: s, mean: make([]float64, n), like: make([]float64, n)}
	for y := range n {
		if err := h.add(h.mean, y, 1/float64(n)); err != nil {
			return nil, err
		}
	}
	return h, nil
}

type herding struct {
	space      *selection.Space
	mean, like []float64
	selected   int
}

func (h *herding) Add(candidates []int) error {
	h.selected += len(candidates)
	for _, c := range candidates {
		if err := h.add(h.like, c, 1); err != nil {
			return err
		}
	}
	return nil
}

func (h *herding) Next() (selection.Choice, error) {
	score := make([]float64, len(h.mean))
	for x := range score {
		score[x] = h.mean[x] - h.like[x]/float64(h.selected+1)
	}
	return h.space.Best(score)
}

// add adds share·k(·, candidate) to sum.
func (h *herding) add(sum []float64, candidate int, share float64) error {
	column := make([]float64, len(sum))
	if err := h.space.Kernel(column, candidate); err != nil {
		return err
	}
	for x, k := range column {
		sum[x] += share * k
	}
	return nil
}

// A new method is one file: its settings with Name and Init, its state with Add
// and Next.
func ExampleMethod() {
	problem := selection.Problem[float64]{
		Pool:  matrix.FromRows([][]float64{{1, 0}, {1, 0.1}, {0, 1}, {0.1, 1}, {0.9, 0.1}}),
		Batch: 3,
	}
	result, err := selection.Select(context.Background(), Herding{}, problem)
	fmt.Println(result.Rows(), err)
	// Output: [1 3 0] <nil>
}
