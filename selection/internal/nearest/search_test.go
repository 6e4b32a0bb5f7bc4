package nearest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// newSearch returns a search over rows. A shortener is made for centres of the given
// kind, or for none.
func newSearch[T matrix.Float](threads int, rows matrix.Dense[T], short bool, centres matrix.Dense[T]) *Search[T] {
	env := Env{Team: linalg.NewTeam(threads), Cancelled: func() bool { return false }}
	norms, largest := make([]T, rows.Rows), T(0)
	linalg.RowNorms(env.Team, norms, rows)
	for _, v := range norms {
		largest = max(largest, v)
	}
	if !short {
		return New(env, rows, norms, nil)
	}
	others := make([]T, centres.Rows)
	linalg.RowNorms(env.Team, others, centres)
	for _, v := range others {
		largest = max(largest, v)
	}
	return New(env, rows, norms, NewShortener(env, rows, largest, 40, 40+centres.Rows))
}

func mustEqual[T matrix.Float](t *testing.T, name string, got, want *Search[T]) {
	t.Helper()
	for i := range want.Dist {
		if got.Dist[i] != want.Dist[i] || got.Label[i] != want.Label[i] {
			t.Fatalf("%s: row %d is %v from %d, want %v from %d", name, i, got.Dist[i], got.Label[i],
				want.Dist[i], want.Label[i])
		}
	}
}

// TestManyCentresEqualOneByOne compares the matrix product with adding centres
// singly: the same distances and labels, to the last bit.
func TestManyCentresEqualOneByOne(t *testing.T) {
	t.Run("float32", manyCentresEqual[float32])
	t.Run("float64", manyCentresEqual[float64])
}

func manyCentresEqual[T matrix.Float](t *testing.T) {
	for name, data := range centreCases[T]() {
		pool, centres := data[0], data[1]
		want, got := newSearch(2, pool, false, centres), newSearch(2, pool, false, centres)
		for i := range centres.Rows {
			want.Add(centres.Slice(i, i+1), i)
		}
		got.Add(centres, 0)
		mustEqual(t, name, got, want)
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

// TestFewCentresSurvive checks that the product rules out nearly all centres on
// harmless data.
func TestFewCentresSurvive(t *testing.T) {
	data := centreCases[float32]()["normal"]
	b := newCentreBlock(newSearch(1, data[0], false, data[1]), data[1], 0)
	slack := b.rounding(2 * b.farthest)
	if typical := float64(b.norms[0]); slack > 1e-3*typical {
		t.Errorf("rounding of %v is allowed for at squared norms of %v", slack, typical)
	}
}

func TestThreadsDoNotMatter(t *testing.T) {
	data := centreCases[float32]()["normal"]
	var first *Search[float32]
	for _, threads := range []int{1, 2, 3} {
		f := newSearch(threads, data[0], false, data[1])
		f.Add(data[1], 0)
		if first == nil {
			first = f
		}
		mustEqual(t, "threads", f, first)
	}
}

// TestShortRowsChangeNothing compares distances and nearest centres with those of
// the plain version, to the last bit, after many centres and after single ones.
func TestShortRowsChangeNothing(t *testing.T) {
	// Few features and many are compared in two stages and in three.
	t.Run("float32", func(t *testing.T) { shortRowsChangeNothing[float32](t, 200) })
	t.Run("float64", func(t *testing.T) { shortRowsChangeNothing[float64](t, 64) })
}

func shortRowsChangeNothing[T matrix.Float](t *testing.T, cols int) {
	was := Pays
	Pays.Work, Pays.Reads = 0, math.Inf(1)
	t.Cleanup(func() { Pays = was })
	for name, f := range hardrows.Some() {
		pool, train := hardrows.Matrix[T](f, 2100, cols, 1), hardrows.Matrix[T](f, 300, cols, 2)
		want, got := newSearch(2, pool, false, train), newSearch(2, pool, true, train)
		if name == "decaying" && got.short == nil {
			t.Fatal("there are no short rows")
		}
		want.Add(train, 0)
		got.Add(train, 0)
		mustEqual(t, name, got, want)
		steps := [][]int{{7}, {2099, 7, 13}, {0}, {1000, 1001}}
		for i := range 12 {
			steps = append(steps, []int{i * 71})
		}
		first := train.Rows
		for _, step := range steps {
			centres := pool.SelectRows(step)
			want.Add(centres, first)
			got.Add(centres, first)
			first += len(step)
			mustEqual(t, name, got, want)
		}
	}
}
