package benchmark

import (
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/matrix"
)

// PoolOf returns the pool of a split, for the tests outside this package.
func PoolOf(data *sets.Regression, s Settings, split int, compat bool) ([]int, error) {
	t, err := newTask(data, s, split, compat)
	if err != nil {
		return nil, err
	}
	return t.split.Pool, nil
}

var (
	tiny    = Settings{Seed: 3, Start: 12, Valid: 20, Hidden: []int{24, 16}, Epochs: 20}
	tinyRun = Run{DataSet: "noise", Activation: "relu", Spec: "random", BatchSize: 8, Rounds: 3}
)

func tinyData() *sets.Regression {
	d := &sets.Regression{X: matrix.New[float32](400, 3), Y: make([]float64, 400)}
	rng.FillNormal(rng.New(1, "noise"), d.X.Data)
	for i := range d.Y {
		d.Y[i] = float64(d.X.Row(i)[0])
	}
	return d
}

// Labelled rows are ordered by round and, within a round, by pool order: a resumed
// run needs the same order, which decides the mini-batches.
func TestLabelledRowsKeepPoolOrder(t *testing.T) {
	t.Parallel()
	data := tinyData()
	task, err := newTask(data, tiny, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRunner(tinyRun, tiny, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := task.split.Pool
	if err := r.label([]int{pool[7], pool[2], pool[200]}); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat(task.split.Train, []int{pool[2], pool[7], pool[200]}); !slices.Equal(r.labelled, want) {
		t.Errorf("labelled %v, want %v", r.labelled, want)
	}
	if len(r.pool) != len(pool)-3 || r.pool[2] != pool[3] || r.next != 1 {
		t.Errorf("the pool has %d rows of %d", len(r.pool), len(pool))
	}
	if err := r.label([]int{pool[7]}); err == nil {
		t.Error("a row was labelled twice")
	}
}
