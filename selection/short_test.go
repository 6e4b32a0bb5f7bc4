package selection

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// hardRows are rows that bounds may stumble over, each made by its number and
// column.
func hardRows() map[string]func(r *rand.Rand, i, j int) float64 {
	rows := allHardRows()
	if testing.Short() {
		maps.DeleteFunc(rows, func(name string, _ func(*rand.Rand, int, int) float64) bool {
			return !slices.Contains([]string{"normal", "decaying", "duplicates", "equally far", "outlier"}, name)
		})
	}
	return rows
}

func allHardRows() map[string]func(r *rand.Rand, i, j int) float64 {
	return map[string]func(r *rand.Rand, i, j int) float64{
		"normal":      func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() },
		"decaying":    func(r *rand.Rand, _, j int) float64 { return r.NormFloat64() / float64(1+j*j) },
		"far away":    func(r *rand.Rand, _, j int) float64 { return 1000 + r.NormFloat64()/float64(1+j) },
		"duplicates":  func(_ *rand.Rand, i, j int) float64 { return math.Sin(float64((i%50)*(j+1))) / float64(1+j) },
		"equally far": func(_ *rand.Rand, i, j int) float64 { return map[bool]float64{true: 1}[i%150 == j] },
		"grid":        func(r *rand.Rand, _, j int) float64 { return map[bool]float64{true: float64(r.IntN(3))}[j < 4] },
		"clustered":   func(r *rand.Rand, i, j int) float64 { return math.Cos(float64((i%9)*(j+3))) + 1e-4*r.NormFloat64() },
		"low rank":    func(_ *rand.Rand, i, j int) float64 { return math.Sin(float64(i)) * math.Cos(float64(j)) },
		"other sizes": func(r *rand.Rand, i, _ int) float64 { return r.NormFloat64() * math.Pow(10, float64(i%12-6)) },
		"tiny":        func(r *rand.Rand, _, j int) float64 { return 3e-21 * r.NormFloat64() / float64(1+j) },
		"huge":        func(r *rand.Rand, _, j int) float64 { return 1e17 * r.NormFloat64() / float64(1+j) },
		"outlier": func(r *rand.Rand, i, j int) float64 {
			return r.NormFloat64() * (1 + 1e6*float64(1/(1+i))) / float64(1+j)
		},
		"zero": func(*rand.Rand, int, int) float64 { return 0 },
	}
}

func hardMatrix[T matrix.Float](f func(r *rand.Rand, i, j int) float64, rows int, seed uint64) matrix.Dense[T] {
	return hardMatrixOf[T](f, rows, 150, seed)
}

func hardMatrixOf[T matrix.Float](f func(r *rand.Rand, i, j int) float64, rows, cols int, seed uint64) matrix.Dense[T] {
	r := rand.New(rand.NewPCG(seed, 1))
	m := matrix.New[T](rows, cols)
	for i := range rows {
		for j := range cols {
			m.Row(i)[j] = T(f(r, i, j))
		}
	}
	return m
}

// alwaysShort has short rows made for the rest of a test, whether they pay or not.
func alwaysShort(t *testing.T) {
	was := pays
	pays.work, pays.reads = 0, math.Inf(1)
	t.Cleanup(func() { pays = was })
}

// TestShortRowsChangeNothing compares distances and nearest rows with those of
// the plain version, to the last bit, after many rows and after single ones.
func TestShortRowsChangeNothing(t *testing.T) {
	// Few features and many are compared in two stages and in three.
	t.Run("float32", func(t *testing.T) { shortRowsChangeNothing[float32](t, 200) })
	t.Run("float64", func(t *testing.T) { shortRowsChangeNothing[float64](t, 64) })
}

func shortRowsChangeNothing[T matrix.Float](t *testing.T, cols int) {
	alwaysShort(t)
	for name, f := range hardRows() {
		p := Problem[T]{Pool: hardMatrixOf[T](f, 2100, cols, 1), Train: hardMatrixOf[T](f, 300, cols, 2), Mode: TP, Batch: 40, Plain: true}
		plain := mustSpace(t, p)
		p.Plain = false
		short := mustSpace(t, p)
		want, got := newNearest(plain, &plain.pool), newNearest(short, &short.pool)
		if name == "decaying" && got.short == nil || want.short != nil {
			t.Fatalf("%s: short rows: %v, plain: %v", name, got.short != nil, want.short != nil)
		}
		train := make([]int, 300)
		for i := range train {
			train[i] = 2100 + i
		}
		steps := [][]int{train, {7}, {2099, 7, 13}, {0}, {1000, 1001}}
		for i := range 12 {
			steps = append(steps, []int{i * 71})
		}
		first := 0
		for _, step := range steps {
			must(t, want.add(step, first))
			must(t, got.add(step, first))
			first += len(step)
			for i := range want.dist {
				if got.dist[i] != want.dist[i] || got.label[i] != want.label[i] {
					t.Fatalf("%s: row %d is %v from %d, plain %v from %d", name, i, got.dist[i], got.label[i], want.dist[i], want.label[i])
				}
			}
		}
	}
}

// TestShortRowsPickTheSame compares whole selections, reports included, with
// those of the plain version, on all threads and on one.
func TestShortRowsPickTheSame(t *testing.T) {
	alwaysShort(t)
	methods := []Method[float32]{LCMD[float32]{}, LCMD[float32]{Size: Count}, MaxDist[float32]{}, KMeansPP[float32]{}}
	groups := make([]int, 2100)
	for row := range groups {
		groups[row] = row % 40
	}
	for name, f := range hardRows() {
		pool, train := hardMatrix[float32](f, len(groups), 1), hardMatrix[float32](f, 64, 2)
		for i, m := range methods {
			p := Problem[float32]{Pool: pool, Train: train, Batch: 32, Mode: Mode((i + len(name)) % 2), Plain: true}
			if i%2 == 0 {
				p.Constraints = Constraints{Exclude: []int{3, 5}, Group: groups, PerGroup: 2}
			}
			want, err := Select(t.Context(), m, p)
			must(t, err)
			p.Plain = false
			for threads := range 2 {
				got, err := Select(linalg.WithThreads(t.Context(), threads), m, p)
				must(t, err)
				if !slices.Equal(got.Picks, want.Picks) {
					t.Errorf("%s, %s, %s: %v, plain %v", name, m.Name(), p.Mode, got.Rows(), want.Rows())
				}
			}
		}
	}
}

// TestShortRowsRuleOut checks that bounds leave little to compute on rows that
// vary along few directions.
func TestShortRowsRuleOut(t *testing.T) {
	alwaysShort(t)
	p := Problem[float32]{Pool: hardMatrix[float32](hardRows()["decaying"], 5000, 1), Train: hardMatrix[float32](hardRows()["decaying"], 200, 2), Mode: TP, Batch: 50}
	r, err := selectCounted(t.Context(), LCMD[float32]{}, p)
	must(t, err)
	if r.Computed() > 0.05 {
		t.Errorf("a share of %v of the distances was computed", r.Computed())
	}
	p.Plain = true
	if r, err = selectCounted(t.Context(), LCMD[float32]{}, p); err != nil || r.Computed() != 1 {
		t.Errorf("the plain version computed a share of %v, error %v", r.Computed(), err)
	}
}

// TestTargetRowsHaveShortRows compares selections for other rows than the pool.
func TestTargetRowsHaveShortRows(t *testing.T) {
	alwaysShort(t)
	f := hardRows()["decaying"]
	p := Problem[float32]{Pool: hardMatrix[float32](f, 2100, 1), Train: hardMatrix[float32](f, 30, 2), Mode: TP, Batch: 20,
		Target: Target[float32]{Rows: hardMatrix[float32](f, 100, 3)}}
	for _, m := range []Method[float32]{LCMD[float32]{}, KMeansPP[float32]{}} {
		got, err := Select(t.Context(), m, p)
		must(t, err)
		q := p
		q.Plain = true
		want, err := Select(t.Context(), m, q)
		must(t, err)
		if !slices.Equal(got.Picks, want.Picks) {
			t.Errorf("%s: %v, plain %v", m.Name(), got.Rows(), want.Rows())
		}
	}
}

// TestWorkIsCounted holds what the plain version counts against what it does: it
// reads all rows for their norms, the pool for the training rows, and the pool
// again for every pick.
func TestWorkIsCounted(t *testing.T) {
	alwaysShort(t)
	const pool, train, batch, cols = 5000, 200, 50, 150
	f := hardRows()["decaying"]
	p := Problem[float32]{Pool: hardMatrix[float32](f, pool, 1), Train: hardMatrix[float32](f, train, 2), Mode: TP, Batch: batch, Plain: true}
	plain, err := selectCounted(t.Context(), MaxDist[float32]{}, p)
	must(t, err)
	if want := 4.0 * cols * (pool + train + pool + batch*pool); plain.Bytes() != want {
		t.Errorf("the plain version counts %v bytes, want %v", plain.Bytes(), want)
	}
	p.Plain = false
	short, err := selectCounted(t.Context(), MaxDist[float32]{}, p)
	must(t, err)
	if !(short.Bytes() > 0 && short.Bytes() < plain.Bytes()/2) {
		t.Errorf("with short rows %v bytes, plain %v", short.Bytes(), plain.Bytes())
	}
}
