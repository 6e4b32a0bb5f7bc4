package selection

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/ahead"
)

// wholeBatch is a problem of a few hundred rows or more with random constraints on the batch as a whole, which some
// batch meets.
func wholeBatch(r *rand.Rand, pool int) Problem[float64] {
	p := Problem[float64]{Pool: matrix.New[float64](pool, 3), Train: matrix.New[float64](4, 3), Mode: Mode(r.IntN(2)),
		Batch: 8 + r.IntN(8), Seed: r.Uint64()}
	for _, m := range []matrix.Dense[float64]{p.Pool, p.Train} {
		for i := range m.Data {
			m.Data[i] = r.NormFloat64()
		}
	}
	numbers := func(most int) []int {
		list := make([]int, pool)
		for i := range list {
			list[i] = r.IntN(most)
		}
		return list
	}
	for {
		c := Constraints{Exclude: []int{1, 2}, Require: []int{3, 4}[:r.IntN(3)]}
		p.Pending = []int{5, 6}
		if r.IntN(2) == 0 {
			c.Same, c.Runs = numbers(5), r.IntN(4)
		}
		if c.Same == nil || r.IntN(2) == 0 {
			c.Group = numbers(6)
			c.PerGroup, c.MinPerGroup, c.MaxGroups = r.IntN(2)*(3+r.IntN(4)), r.IntN(3), 1+r.IntN(5)
		}
		if r.IntN(2) == 0 {
			c.Cost, c.Budget = make([]float64, pool), float64(p.Batch)*(0.3+r.Float64())
			for i := range c.Cost {
				c.Cost[i] = r.Float64() * 2
			}
		}
		if c.Conflict(pool, p.Batch, p.Pending) == nil {
			p.Constraints = c
			return p
		}
	}
}

// mustMeet compares a batch with the constraints, as they are written.
func mustMeet(t *testing.T, name string, p Problem[float64], got *Result) {
	t.Helper()
	c, inGroup, cost := &p.Constraints, map[int]int{}, 0.0
	rows := got.Rows()
	for _, row := range rows {
		if slices.Contains(c.Exclude, row) || slices.Contains(p.Pending, row) {
			t.Errorf("%s: row %d was picked", name, row)
		}
		if c.Group != nil {
			inGroup[c.Group[row]]++
		}
		if c.Cost != nil {
			cost += c.Cost[row]
		}
	}
	for _, row := range c.Require {
		if !slices.Contains(rows, row) {
			t.Errorf("%s: row %d was not picked", name, row)
		}
	}
	for g, n := range inGroup {
		if n < c.MinPerGroup || c.PerGroup > 0 && n > c.PerGroup {
			t.Errorf("%s: %d rows of group %d", name, n, g)
		}
	}
	if c.MaxGroups > 0 && len(inGroup) > c.MaxGroups || c.Cost != nil && cost > c.Budget*(1+1e-12) ||
		len(rows)+got.Missing != p.Batch || len(rows) > p.Batch {
		t.Errorf("%s: %d groups, cost %v, %d rows", name, len(inGroup), cost, len(rows))
	}
	if c.Same == nil {
		return
	}
	sizes, at := runSizes(p.Batch, c.Runs), 0
	for number, run := range got.Runs {
		for _, pick := range got.Picks[at : at+sizes[number]] {
			if c.Same[pick.Row] != run.Value || pick.Run != number+1 {
				t.Errorf("%s: run %d has row %d", name, number+1, pick.Row)
			}
		}
		at += sizes[number]
	}
	if at != p.Batch || len(got.Runs) != len(sizes) {
		t.Errorf("%s: %d rows in %d runs", name, at, len(got.Runs))
	}
}

// TestWholeBatches: batches of all methods meet the constraints, and neither threads nor the plain algorithms change
// them.
func TestWholeBatches(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 37))
	for range 12 {
		p := wholeBatch(r, 200)
		for _, e := range Methods() {
			m := e.New(Settings{Sigma2: 1e-2})
			got, err := Select(t.Context(), m, p)
			must(t, err)
			mustMeet(t, e.Name, p, got)
			again, plain := p, p
			plain.Plain = true
			for _, other := range []Problem[float64]{again, plain} {
				same, err := Select(linalg.WithThreads(t.Context(), 1), m, other)
				must(t, err)
				if !slices.Equal(same.Rows(), got.Rows()) {
					t.Errorf("%s: %v and %v", e.Name, got.Rows(), same.Rows())
				}
			}
		}
	}
}

// TestWholeBatchesAcrossRanks: ranks pick the same batch as one process.
func TestWholeBatchesAcrossRanks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 37))
	for _, m := range []Method{LCMD{}, BAIT{Sigma2: 1e-2, Backward: true}, MaxDet{Sigma2: 1e-2}, FrankWolfe{}, Random{}} {
		p := wholeBatch(r, place.Block+500)
		want, err := Select(t.Context(), m, p)
		must(t, err)
		results, errs := across(t, m, p, 0, place.Block)
		for i, got := range results {
			must(t, errs[i])
			if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Runs, want.Runs) {
				t.Errorf("%s, rank %d: %v, not %v", m.Name(), i, got.Rows(), want.Rows())
			}
		}
	}
}

// TestAheadKeepsUp compares rows that are closed step by step with those that are decided from scratch.
func TestAheadKeepsUp(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 37))
	for range 60 {
		p := wholeBatch(r, 60)
		q := questionOf(&p)
		l := q.withRequired(60)
		var at *present
		if c := &p.Constraints; c.Same != nil {
			at = firstRun(t, &q, l)
			l.Size = p.Batch
		}
		must(t, l.startAhead(at))
		for l.room > 0 && l.Count < l.Size {
			l.add(l.rank(r.IntN(l.room)))
			open := slices.Clone(l.open)
			l.ahead.Restart()
			l.reopen()
			if !slices.Equal(open, l.open) {
				t.Fatalf("%+v: with %d rows, %v is open, from scratch %v", p.Constraints, l.Count, open, l.open)
			}
		}
	}
}

// firstRun is the first run with the lowest value that it can have.
func firstRun(t *testing.T, q *question, l *limits) *present {
	runs, sizes := ahead.NewRuns(l.Tally), runSizes(q.batch, q.constraints.Runs)
	for v := range runs.Values {
		fixed := make([]int, len(runs.Values))
		fixed[v] = sizes[0]
		if runs.Start(fixed, sizes[1:], v) {
			return &present{runs: runs, byCost: l.byCost, value: v, fixed: fixed, later: sizes[1:]}
		}
	}
	t.Fatal("the first run has no value")
	return nil
}

// TestManyValues: with more values than are compared, those are that an ordinary selection prefers.
func TestManyValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 37))
	p := wholeBatch(r, 600)
	p.Constraints, p.Batch = Constraints{Same: make([]int, 600), Runs: 2}, 6
	for i := range p.Constraints.Same {
		p.Constraints.Same[i] = i % 60
	}
	got, err := Select(t.Context(), MaxDiag{}, p)
	must(t, err)
	mustMeet(t, "maxdiag", p, got)
	for _, run := range got.Runs {
		if run.Tried != maxValues {
			t.Errorf("%d values were compared", run.Tried)
		}
	}
}

// herder is a method of others, of which only the interface is known.
type herder struct{ Method }

func TestRunsRefuse(t *testing.T) {
	t.Parallel()
	p := Problem[float64]{Pool: matrix.New[float64](4, 1), Batch: 2, Constraints: Constraints{Same: []int{0, 0, 1, 1}},
		Resume: []Choice{{Row: 1}}}
	if _, err := Select(t.Context(), MaxDiag{}, p); err == nil ||
		err.Error() != "selection: Resume: runs that share a value are compared with others, so a run that was cut off "+
			"starts again" {
		t.Error(err)
	}
	p.Resume = nil
	if _, err := Select[float64](t.Context(), herder{MaxDiag{}}, p); err == nil ||
		err.Error() != "selection: herder: it has no gain by which the values of runs could be compared" {
		t.Error(err)
	}
}
func (herder) Name() string { return "herder" }
