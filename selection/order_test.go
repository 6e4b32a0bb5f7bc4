package selection

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// inAnOrder returns the same problem with the pool in another order.
func inAnOrder[T matrix.Float](p Problem[T], seed uint64) Problem[T] {
	p.Order = rng.New(seed, "order").Perm(p.Pool.Rows)
	p.Pool = p.Pool.SelectRows(p.Order)
	return p
}

// TestOrderOfRows: where no rows are equally good, a pool in another order gives the same batch with all its numbers,
// for all constraints, and so does a run that resumes.
func TestOrderOfRows(t *testing.T) {
	t.Parallel()
	rows := func(n int, seed uint64) matrix.Dense[float64] {
		return hardrows.Matrix[float64](hardrows.All()["decaying"], n, 24, seed)
	}
	plain := Problem[float64]{Pool: rows(400, 1), Train: rows(30, 2), Batch: 24, Seed: 3}
	values := func(of func(i int) int) []int {
		list := make([]int, plain.Pool.Rows)
		for i := range list {
			list[i] = of(i)
		}
		return list
	}
	costs := make([]float64, plain.Pool.Rows)
	for i := range costs {
		costs[i] = 1 + float64(i*7%11)
	}
	for name, c := range map[string]Constraints{
		"none":     {},
		"required": {Require: []int{3, 4}, Exclude: []int{0, 399}},
		"costs":    {Cost: costs, Budget: 60},
		"costs of groups": {Cost: costs, Budget: 60, MaxGroups: 4, MinPerGroup: 2,
			Group: values(func(i int) int { return i / 40 })},
		"groups": {Group: values(func(i int) int { return i % 9 }), PerGroup: 4},
		"runs":   {Same: values(func(i int) int { return i / 80 }), Runs: 2},
	} {
		for _, e := range Methods() {
			p, m := plain, e.New(Settings{Sigma2: 1e-3})
			p.Constraints, p.Pending, p.Mode = c, []int{5, 9}, TP
			want, err := Select(t.Context(), m, p)
			must(t, err)
			other := inAnOrder(p, 7)
			var chosen []Choice
			other.Picked = func(c Choice) { chosen = append(chosen, c) }
			got, err := Select(t.Context(), m, other)
			must(t, err)
			if e.Random {
				want = got // other rows are drawn
			}
			for i, pick := range got.Picks {
				of := want.Picks[i]
				same := pick.Row == of.Row && pick.Labelled == of.Labelled && pick.Why == of.Why
				if !same || pick.Cluster.Centre != of.Cluster.Centre {
					t.Errorf("%s, %s: pick %d is %+v, not %+v", name, e.Name, i, pick, of)
				}
			}
			strange := slices.IndexFunc(chosen, func(c Choice) bool { return !slices.Contains(got.Rows(), c.Row) })
			if strange >= 0 && e.Name != "bait-fb" && c.Same == nil {
				t.Errorf("%s, %s: told of row %d, which is not in the batch", name, e.Name, chosen[strange].Row)
			}
			if e.Name == "bait-fb" || c.Same != nil {
				continue
			}
			other.Picked, other.Resume = nil, chosen[:min(9, len(chosen))]
			if again, err := Select(t.Context(), m, other); err != nil || !slices.Equal(again.Picks, got.Picks) {
				t.Errorf("%s, %s: resumed: %v, want %v: %v", name, e.Name, again.Rows(), got.Rows(), err)
			}
		}
	}
}

// TestOrderOfEqualRows: of equal rows, the first of the order is picked, on one rank as on two, with the fast search as
// with the plain one.
func TestOrderOfEqualRows(t *testing.T) {
	t.Parallel()
	p := Problem[float32]{Pool: matrix.New[float32](2*place.Block, 3), Train: matrix.New[float32](1, 3), Mode: TP,
		Batch: 12}
	for i := range p.Pool.Rows {
		p.Pool.Set(i, i%3, float32(1+i/3%2))
	}
	p = inAnOrder(p, 5)
	for _, m := range []Method{LCMD{}, MaxDist{}, MaxDet{Sigma2: 1}} {
		want := mustPick(t, m, p)
		if r := want.Rows(); slices.Max(r) < place.Block {
			t.Errorf("%s: equal rows are picked from the start of the pool: %v", m.Name(), r)
		}
		plain := p
		plain.Plain = true
		if got := mustPick(t, m, plain); !slices.Equal(got.Rows(), want.Rows()) {
			t.Errorf("%s: %v, plainly %v", m.Name(), want.Rows(), got.Rows())
		}
		var running sync.WaitGroup
		for _, rank := range newGroup(2) {
			running.Go(func() {
				part := p
				from, to := place.Share(p.Pool.Rows, rank.Rank(), rank.Size())
				part.Pool = p.Pool.Slice(from, to)
				if got, err := SelectAcross(t.Context(), rank, m, part); err != nil || !slices.Equal(got.Picks, want.Picks) {
					t.Errorf("%s: on two ranks %v, error %v, want %v", m.Name(), got, err, want.Rows())
				}
			})
		}
		running.Wait()
	}
}

func mustPick(t *testing.T, m Method, p Problem[float32]) *Result {
	t.Helper()
	r, err := Select(t.Context(), m, p)
	must(t, err)
	return r
}

// TestWrongOrder: an order that is none of the pool is an error, and errors name rows as the order does.
func TestWrongOrder(t *testing.T) {
	t.Parallel()
	p := Problem[float64]{Pool: hardrows.Matrix[float64](hardrows.All()["decaying"], 4, 3, 1), Batch: 2}
	for _, p.Order = range [][]int{{0, 1, 2}, {0, 1, 2, 2}, {0, 1, 2, 4}, {3, 2, 1, -1}} {
		if _, err := Select(t.Context(), LCMD{}, p); err == nil {
			t.Errorf("%v is taken", p.Order)
		}
	}
	p.Order = []int{2, 3, 0, 1}
	p.Pool.Set(3, 0, math.NaN())
	_, err := Select(t.Context(), LCMD{}, p)
	if place.PoolRow(err) != 1 || fmt.Sprint(err) != "selection: pool row 1: feature 0 is NaN" {
		t.Errorf("%v", err)
	}
}

// TestShareInOrder: three ranks exchange rows, so that together they hold the pool in the order.
func TestShareInOrder(t *testing.T) {
	t.Parallel()
	pool := matrix.New[float32](5*place.Block+3, 2)
	for i := range pool.Rows {
		pool.Set(i, 0, float32(i))
	}
	order := rng.New(4, "order").Perm(pool.Rows)
	var running sync.WaitGroup
	for _, rank := range newGroup(3) {
		running.Go(func() {
			from, to := place.Share(pool.Rows, rank.Rank(), 3)
			got, err := place.ShareInOrder(rank, pool.Slice(from, to), order)
			if want := pool.SelectRows(order[from:to]); err != nil || !slices.Equal(got.Data, want.Data) {
				t.Errorf("rank %d has other rows, error %v", rank.Rank(), err)
			}
		})
	}
	running.Wait()
}
