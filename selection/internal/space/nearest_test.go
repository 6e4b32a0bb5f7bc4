package space

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestGoldenKMeansPP compares distances and probabilities after each of a given
// sequence of selected rows.
func TestGoldenKMeansPP(t *testing.T) {
	for _, set := range []string{"gradsketch", "gradsketch_scaled", "gradsketch_post", "ll_scaled",
		"mixture24", "lowdim3"} {
		for _, mode := range []string{"p", "tp"} {
			t.Run(set+"/"+mode, func(t *testing.T) {
				folder := "sel/" + set + "/"
				s := mustSpace(t, Source[float64]{Pool: golden.Matrix(t, folder+"F_pool.npy"),
					Train: golden.Matrix(t, folder+"F_train.npy"),
					Use:   Use{Batch: 1, TrainSelected: mode == "tp"}})
				f := s.Nearest(place.SquaredDistance, false)
				pool := f.(*centres[float64]).pool.(*memoryNearest[float64])
				steps := golden.Ints(t, folder+"kmeanspp_sequence.npy")
				dist := golden.Matrix(t, folder+"kmeanspp_"+mode+"_min_sq_dists.npy")
				probs := golden.Matrix(t, folder+"kmeanspp_"+mode+"_probs.npy")
				row := 0
				check := func() {
					golden.MustMatchVector(t, set+" distances", pool.search.Dist, dist.Row(row), 1e-10)
					f.Weigh(true, nil)
					total := 0.0
					for _, w := range pool.draws.weights {
						total += w
					}
					scale(pool.draws.weights, 1/total)
					golden.MustMatchVector(t, set+" probabilities", pool.draws.weights, probs.Row(row), 1e-10)
					row++
				}
				if mode == "tp" {
					must(t, f.Add(trainRows(s)))
					check()
				}
				for _, x := range steps {
					must(t, f.Add([]int{x}))
					check()
				}
			})
		}
	}
}

func mustSpace[T matrix.Float](t *testing.T, from Source[T]) *space[T] {
	t.Helper()
	s, err := newSpace(t.Context(), from, nil)
	must(t, err)
	s.place()
	for row := range s.PoolSize() {
		s.Mark(row, true, false)
	}
	return s
}

// trainRows are the numbers of the training rows.
func trainRows(s Rows) (list []int) {
	for i := range s.TrainSize() {
		list = append(list, s.PoolSize()+i)
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
