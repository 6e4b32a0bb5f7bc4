package selection

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestGoldenKMeansPP compares distances and probabilities after each of a given
// sequence of selected rows.
func TestGoldenKMeansPP(t *testing.T) {
	for _, set := range []string{"gradsketch", "gradsketch_scaled", "gradsketch_post", "ll_scaled", "mixture24", "lowdim3"} {
		for _, mode := range []Mode{P, TP} {
			folder := "sel/" + set + "/"
			p := Problem[float64]{Pool: golden.Matrix(t, folder+"F_pool.npy"), Train: golden.Matrix(t, folder+"F_train.npy"), Mode: mode, Batch: 1}
			s := mustSpace(t, p)
			f := newSampler(s)
			pool := f.pool.(*memoryNearest[float64])
			steps := golden.Ints(t, folder+"kmeanspp_sequence.npy")
			dist := golden.Matrix(t, folder+"kmeanspp_"+mode.String()+"_min_sq_dists.npy")
			probs := golden.Matrix(t, folder+"kmeanspp_"+mode.String()+"_probs.npy")
			row := 0
			check := func() {
				golden.MustMatchVector(t, set+" distances", pool.search.Dist, dist.Row(row), 1e-10)
				f.weigh()
				total := 0.0
				for _, w := range pool.draws.weights {
					total += w
				}
				scale(pool.draws.weights, 1/total)
				golden.MustMatchVector(t, set+" probabilities", pool.draws.weights, probs.Row(row), 1e-10)
				row++
			}
			if mode == TP {
				train := make([]int, s.TrainSize())
				for i := range train {
					train[i] = s.PoolSize() + i
				}
				must(t, f.Add(train))
				check()
			}
			for _, x := range steps {
				must(t, f.Add([]int{x}))
				check()
			}
		}
	}
}

func mustSpace[T matrix.Float](t *testing.T, p Problem[T]) *Space[T] {
	t.Helper()
	s, err := newSpace(t.Context(), &p, spaceFor{}, nil)
	must(t, err)
	s.place(inMemory(s))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
