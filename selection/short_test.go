package selection

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
	"github.com/nextbatch/nextbatch/selection/internal/nearest"
)

func hardRows() map[string]hardrows.Kind { return hardrows.Some() }

func hardMatrix[T matrix.Float](f hardrows.Kind, rows int, seed uint64) matrix.Dense[T] {
	return hardrows.Matrix[T](f, rows, 150, seed)
}

// alwaysShort has short rows made for the rest of a test, whether they pay or not.
func alwaysShort(t *testing.T) {
	was := nearest.Pays
	nearest.Pays.Work, nearest.Pays.Reads = 0, math.Inf(1)
	t.Cleanup(func() { nearest.Pays = was })
}

// TestShortRowsPickTheSame compares whole selections, reports included, with
// those of the plain version, on all threads and on one.
func TestShortRowsPickTheSame(t *testing.T) {
	alwaysShort(t)
	methods := []Method{LCMD{}, LCMD{Size: Count}, MaxDist{}, KMeansPP{}}
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
	p := Problem[float32]{Pool: hardMatrix[float32](hardRows()["decaying"], 5000, 1),
		Train: hardMatrix[float32](hardRows()["decaying"], 200, 2), Mode: TP, Batch: 50}
	r, err := selectCounted(t.Context(), LCMD{}, p)
	must(t, err)
	if r.Computed() > 0.05 {
		t.Errorf("a share of %v of the distances was computed", r.Computed())
	}
	p.Plain = true
	if r, err = selectCounted(t.Context(), LCMD{}, p); err != nil || r.Computed() != 1 {
		t.Errorf("the plain version computed a share of %v, error %v", r.Computed(), err)
	}
}

// TestTargetRowsHaveShortRows compares selections for other rows than the pool.
func TestTargetRowsHaveShortRows(t *testing.T) {
	alwaysShort(t)
	f := hardRows()["decaying"]
	p := Problem[float32]{Pool: hardMatrix[float32](f, 2100, 1), Train: hardMatrix[float32](f, 30, 2), Mode: TP, Batch: 20,
		Aims: Aims[float32]{Rows: hardMatrix[float32](f, 100, 3)}}
	for _, m := range []Method{LCMD{}, KMeansPP{}} {
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

// TestWorkIsCounted compares what the plain version counts with what it does: it
// reads all rows for their norms, the pool for the training rows, and the pool
// again for every pick.
func TestWorkIsCounted(t *testing.T) {
	alwaysShort(t)
	const pool, train, batch, cols = 5000, 200, 50, 150
	f := hardRows()["decaying"]
	p := Problem[float32]{Pool: hardMatrix[float32](f, pool, 1), Train: hardMatrix[float32](f, train, 2), Mode: TP,
		Batch: batch, Plain: true}
	plain, err := selectCounted(t.Context(), MaxDist{}, p)
	must(t, err)
	if want := 4.0 * cols * (pool + train + pool + batch*pool); plain.Bytes() != want {
		t.Errorf("the plain version counts %v bytes, want %v", plain.Bytes(), want)
	}
	p.Plain = false
	short, err := selectCounted(t.Context(), MaxDist{}, p)
	must(t, err)
	if !(short.Bytes() > 0 && short.Bytes() < plain.Bytes()/2) {
		t.Errorf("with short rows %v bytes, plain %v", short.Bytes(), plain.Bytes())
	}
}
