package selection

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestManyCentresEqualOneByOne compares the matrix product with adding centres
// singly: the same distances and labels, to the last bit.
func TestManyCentresEqualOneByOne(t *testing.T) {
	t.Run("float32", manyCentres[float32])
	t.Run("float64", manyCentres[float64])
}

func manyCentres[T matrix.Float](t *testing.T) {
	for name, data := range centreCases[T]() {
		s := mustSpace(t, Problem[T]{Pool: data[0], Train: data[1], Mode: TP, Batch: 1})
		train := make([]int, s.TrainSize())
		for i := range train {
			train[i] = s.PoolSize() + i
		}
		want, got := newNearest(s, &s.pool), newNearest(s, &s.pool)
		for i, x := range train {
			must(t, want.add([]int{x}, i))
		}
		must(t, got.add(train, 0))
		for i := range want.dist {
			if got.dist[i] != want.dist[i] || got.label[i] != want.label[i] {
				t.Fatalf("%s: row %d is %v from %d, one by one %v from %d", name, i, got.dist[i], got.label[i], want.dist[i], want.label[i])
			}
		}
	}
}

// centreCases are pairs of pool and training rows.
func centreCases[T matrix.Float]() map[string][2]matrix.Dense[T] {
	r := rand.New(rand.NewPCG(1, 2))
	fill := func(n, d int, f func(i, j int) float64) matrix.Dense[T] {
		m := matrix.New[T](n, d)
		for i := range n {
			for j := range d {
				m.Set(i, j, T(f(i, j)))
			}
		}
		return m
	}
	normal := func(int, int) float64 { return r.NormFloat64() }
	far := func(int, int) float64 { return 1000 + r.NormFloat64() }
	grid := func(int, int) float64 { return float64(r.IntN(3)) }
	corner := func(i, j int) float64 { return map[bool]float64{true: 1}[i%64 == j] }
	spread := func(int, int) float64 { return r.NormFloat64() * math.Pow(10, float64(r.IntN(8))) }
	return map[string][2]matrix.Dense[T]{
		"normal":      {fill(1500, 37, normal), fill(300, 37, normal)},
		"far away":    {fill(900, 64, far), fill(200, 64, far)},
		"many ties":   {fill(700, 5, grid), fill(400, 5, grid)},
		"equally far": {fill(256, 64, corner), fill(64, 64, corner)},
		"other sizes": {fill(500, 16, spread), fill(100, 16, spread)},
		"two blocks":  {fill(1100, 8, normal), fill(blockCentres+70, 8, normal)},
		"all zero":    {matrix.New[T](100, 4), matrix.New[T](20, 4)},
	}
}

// TestFewCentresAreLookedAt checks that the product rules out nearly all
// centres on harmless data.
func TestFewCentresAreLookedAt(t *testing.T) {
	data := centreCases[float32]()["normal"]
	s := mustSpace(t, Problem[float32]{Pool: data[0], Train: data[1], Mode: TP, Batch: 1})
	f := newNearest(s, &s.pool)
	b := newCentreBlock(f, s.train.rows, 0)
	slack := b.rounding(2 * b.farthest)
	if typical := float64(b.norms[0]); slack > 1e-3*typical {
		t.Errorf("rounding of %v is allowed for at squared norms of %v", slack, typical)
	}
}

func TestThreadsDoNotMatterForMany(t *testing.T) {
	data := centreCases[float32]()["normal"]
	var first *nearest[float32]
	for _, threads := range []int{1, 2, 3} {
		s := mustSpace(t, Problem[float32]{Pool: data[0], Train: data[1], Mode: TP, Batch: 1})
		s.team = linalg.NewTeam(threads)
		f := newNearest(s, &s.pool)
		f.addFeatures(s.train.rows, 0)
		if first == nil {
			first = f
			continue
		}
		for i := range f.dist {
			if f.dist[i] != first.dist[i] || f.label[i] != first.label[i] {
				t.Fatalf("%d threads: row %d", threads, i)
			}
		}
	}
}

// TestGoldenKMeansPP compares distances and probabilities after each of a given
// sequence of selected rows.
func TestGoldenKMeansPP(t *testing.T) {
	for _, set := range []string{"gradsketch", "gradsketch_scaled", "gradsketch_post", "ll_scaled", "mixture24", "lowdim3"} {
		for _, mode := range []Mode{P, TP} {
			folder := "sel/" + set + "/"
			p := Problem[float64]{Pool: golden.Matrix(t, folder+"F_pool.npy"), Train: golden.Matrix(t, folder+"F_train.npy"), Mode: mode, Batch: 1}
			s := mustSpace(t, p)
			f := newSampler(s)
			steps := golden.Ints(t, folder+"kmeanspp_sequence.npy")
			dist := golden.Matrix(t, folder+"kmeanspp_"+mode.String()+"_min_sq_dists.npy")
			probs := golden.Matrix(t, folder+"kmeanspp_"+mode.String()+"_probs.npy")
			row := 0
			check := func() {
				golden.MustMatchVector(t, set+" distances", f.pool.dist, dist.Row(row), 1e-10)
				f.weighByDistance()
				total := 0.0
				for _, w := range f.weights {
					total += w
				}
				scale(f.weights, 1/total)
				golden.MustMatchVector(t, set+" probabilities", f.weights, probs.Row(row), 1e-10)
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
	s, err := newSpace(t.Context(), &p, false)
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
