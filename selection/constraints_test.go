package selection_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

// eachMethod runs f for every method in both modes.
func eachMethod(f func(m selection.Method, mode selection.Mode)) {
	for _, e := range selection.Methods() {
		f(e.New(selection.Settings{Sigma2: 1e-2}), selection.P)
		f(e.New(selection.Settings{Sigma2: 1e-2}), selection.TP)
	}
}

func constrained(c selection.Constraints, batch int, mode selection.Mode) selection.Problem[float64] {
	p := selectiontest.Cases()[0].Problem // 120 rows
	p.Constraints, p.Batch, p.Mode = c, batch, mode
	return p
}

func TestExcludedRowsAreNotPicked(t *testing.T) {
	t.Parallel()
	eachMethod(func(m selection.Method, mode selection.Mode) {
		free := mustSelect(t, m, constrained(selection.Constraints{}, 30, mode)).Rows()
		r := mustSelect(t, m, constrained(selection.Constraints{Exclude: free}, 30, mode))
		if len(r.Picks) != 30 || r.Missing != 0 {
			t.Errorf("%s-%s: %d picks", m.Name(), mode, len(r.Picks))
		}
		for _, row := range r.Rows() {
			if slices.Contains(free, row) {
				t.Errorf("%s-%s: picked row %d, which is excluded", m.Name(), mode, row)
			}
		}
	})
}

func TestRequiredRowsComeFirstAndCount(t *testing.T) {
	t.Parallel()
	require := []int{17, 3, 99}
	eachMethod(func(m selection.Method, mode selection.Mode) {
		r := mustSelect(t, m, constrained(selection.Constraints{Require: require}, 10, mode))
		if !slices.Equal(r.Rows()[:3], require) || len(r.Picks) != 10 {
			t.Errorf("%s-%s: %v", m.Name(), mode, r.Rows())
		}
		for i, pick := range r.Picks {
			if (pick.Why == selection.Required) != (i < 3) {
				t.Errorf("%s-%s: pick %d is %s", m.Name(), mode, i, pick.Why)
			}
		}
	})
}

// TestRequiredRowsCountAsSelected compares with an oracle that has them among
// its training rows.
func TestRequiredRowsCountAsSelected(t *testing.T) {
	t.Parallel()
	require := []int{17, 3, 99}
	p := constrained(selection.Constraints{Require: require}, 12, selection.TP)
	got := mustSelect(t, selection.LCMD{}, p).Rows()[3:]
	q := p
	q.Constraints = selection.Constraints{Exclude: require}
	q.Train = matrix.New[float64](p.Train.Rows+3, p.Train.Cols)
	matrix.Copy(q.Train.Slice(0, p.Train.Rows), p.Train)
	matrix.Copy(q.Train.Slice(p.Train.Rows, q.Train.Rows), p.Pool.SelectRows(require))
	q.Batch = 9
	if want := mustSelect(t, selection.LCMD{}, q).Rows(); !slices.Equal(got, want) {
		t.Errorf("%v, with training rows %v", got, want)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	cost := make([]float64, 120)
	for i := range cost {
		cost[i] = 1 + float64(i%7)
	}
	eachMethod(func(m selection.Method, mode selection.Mode) {
		r := mustSelect(t, m, constrained(selection.Constraints{Cost: cost, Budget: 30}, 50, mode))
		spent := 0.0
		for _, row := range r.Rows() {
			spent += cost[row]
		}
		if spent > 30 || 30-spent >= 1 || r.Missing != 50-len(r.Picks) || !strings.Contains(r.Short, "budget") {
			t.Errorf("%s-%s: spent %v on %d rows, missing %d: %s", m.Name(), mode, spent, len(r.Picks), r.Missing, r.Short)
		}
	})
}

// TestBudgetsAreDecimal: a tenth is not a binary number, so its sums are rounded.
func TestBudgetsAreDecimal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cost, budget float64
		rows         int
	}{
		{0.1, 0.3, 3}, {0.1, 0.7, 7}, {0.1, 10, 100}, {0.1, 0.29999999999999, 2}, {1.1, 3.3, 3},
		{0.7, 2.1, 3}, {1e-9, 1e-7, 100},
		{0.1, 11.9, 119}, {1e15 / 3, 1e15, 3}, {0.1, 0.0999999, 0}, {0, 0, 120},
	} {
		eachMethod(func(m selection.Method, mode selection.Mode) {
			c := selection.Constraints{Cost: slices.Repeat([]float64{test.cost}, 120), Budget: test.budget}
			if r := mustSelect(t, m, constrained(c, 120, mode)); len(r.Picks) != test.rows {
				t.Errorf("%s-%s: %d rows of cost %v for %v", m.Name(), mode, len(r.Picks), test.cost, test.budget)
			}
		})
	}
}

// TestBudgetsHoldInExactArithmetic draws costs with few decimal digits and compares
// with sums of whole numbers: what is picked is within the budget, and what is left
// over was too dear.
func TestBudgetsHoldInExactArithmetic(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		unit := math.Pow(10, float64(r.IntN(12)-8))
		whole, cost := make([]int, 120), make([]float64, 120)
		for i := range whole {
			whole[i] = r.IntN(1000)
			cost[i] = float64(whole[i]) * unit
			if unit < 1 {
				cost[i] = float64(whole[i]) / math.Round(1/unit)
			}
		}
		budget := r.IntN(30000)
		given := float64(budget) * unit
		if unit < 1 {
			given = float64(budget) / math.Round(1/unit)
		}
		p := constrained(selection.Constraints{Cost: cost, Budget: given}, 120, selection.P)
		for _, m := range []selection.Method{selection.MaxDiag{}, selection.BAIT{Sigma2: 1e-2, Backward: true}} {
			picks := mustSelect(t, m, p).Rows()
			spent := 0
			for _, row := range picks {
				spent += whole[row]
			}
			if spent > budget {
				t.Fatalf("%s: %d spent of %d, in units of %v", m.Name(), spent, budget, unit)
			}
			for row, c := range whole {
				if spent+c <= budget && !slices.Contains(picks, row) {
					t.Fatalf("%s: %d spent of %d, and row %d for %d was not picked, in units of %v", m.Name(),
						spent, budget, row, c, unit)
				}
			}
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	group := make([]int, 120)
	for i := range group {
		group[i] = i % 10
	}
	eachMethod(func(m selection.Method, mode selection.Mode) {
		for _, batch := range []int{15, 40} {
			r := mustSelect(t, m, constrained(selection.Constraints{Group: group, PerGroup: 2}, batch, mode))
			counts := map[int]int{}
			for _, row := range r.Rows() {
				if counts[group[row]]++; counts[group[row]] > 2 {
					t.Errorf("%s-%s: group %d has more than 2 rows", m.Name(), mode, group[row])
				}
			}
			if want := min(batch, 20); len(r.Picks) != want || r.Missing != batch-want || (r.Short == "") != (batch == want) {
				t.Errorf("%s-%s: %d picks of %d, missing %d: %s", m.Name(), mode, len(r.Picks), batch, r.Missing, r.Short)
			}
		}
	})
}

func TestAllConstraintsTogether(t *testing.T) {
	t.Parallel()
	group, cost := make([]int, 120), make([]float64, 120)
	for i := range group {
		group[i], cost[i] = i%6, 1+float64(i%3)
	}
	c := selection.Constraints{Group: group, PerGroup: 4, Cost: cost, Budget: 25,
		Exclude: []int{0, 1, 2, 60}, Require: []int{5, 11}}
	eachMethod(func(m selection.Method, mode selection.Mode) {
		r := mustSelect(t, m, constrained(c, 40, mode))
		spent, counts := 0.0, map[int]int{}
		for _, row := range r.Rows() {
			spent += cost[row]
			counts[group[row]]++
			if slices.Contains(c.Exclude, row) || counts[group[row]] > 4 {
				t.Errorf("%s-%s: row %d breaks a constraint", m.Name(), mode, row)
			}
		}
		if spent > 25 || !slices.Equal(r.Rows()[:2], c.Require) || r.Missing == 0 {
			t.Errorf("%s-%s: spent %v on %v, missing %d", m.Name(), mode, spent, r.Rows(), r.Missing)
		}
	})
}

func TestBatchLargerThanThePool(t *testing.T) {
	t.Parallel()
	eachMethod(func(m selection.Method, mode selection.Mode) {
		p := constrained(selection.Constraints{}, 30, mode)
		p.Pool = p.Pool.Slice(0, 12)
		r := mustSelect(t, m, p)
		if len(r.Picks) != 12 || r.Missing != 18 || r.Short != "the pool has no more rows" {
			t.Errorf("%s-%s: %d picks, missing %d: %s", m.Name(), mode, len(r.Picks), r.Missing, r.Short)
		}
	})
}

func TestProblemsAreRefused(t *testing.T) {
	t.Parallel()
	good := constrained(selection.Constraints{}, 5, selection.P)
	tests := map[string]struct {
		change func(p *selection.Problem[float64])
		fields []string
	}{
		"no batch":   {func(p *selection.Problem[float64]) { p.Batch = 0 }, []string{"Batch"}},
		"empty pool": {func(p *selection.Problem[float64]) { p.Pool = p.Pool.Slice(0, 0) }, []string{"Pool"}},
		"no columns": {func(p *selection.Problem[float64]) {
			p.Pool, p.Train = matrix.New[float64](4, 0), matrix.Dense[float64]{}
		}, []string{"Pool"}},
		"no mode": {func(p *selection.Problem[float64]) { p.Mode = 7 }, []string{"Mode"}},
		"no train": {func(p *selection.Problem[float64]) { p.Mode = selection.TP; p.Train = matrix.Dense[float64]{} },
			[]string{"Train"}},
		"train width": {func(p *selection.Problem[float64]) { p.Train = matrix.New[float64](3, 2) }, []string{"Train"}},
		"target width": {func(p *selection.Problem[float64]) { p.Aims.Rows = matrix.New[float64](3, 2) },
			[]string{"Aims.Rows"}},
		"two targets": {func(p *selection.Problem[float64]) {
			p.Aims = selection.Aims[float64]{Rows: p.Pool, Weights: weightsFor(120)}
		}, []string{"Aims"}},
		"weights": {func(p *selection.Problem[float64]) { p.Aims.Weights = make([]float64, 120) }, []string{"Aims.Weights"}},
		"many": {func(p *selection.Problem[float64]) {
			p.Constraints = selection.Constraints{Exclude: []int{120}, Require: []int{-1, 4, 4}, Cost: []float64{1}, Budget: -1,
				Group: []int{1}, PerGroup: 0}
		}, []string{"Exclude", "Require", "Cost", "Budget", "Group", "PerGroup"}},
		"excluded and required": {func(p *selection.Problem[float64]) {
			p.Constraints = selection.Constraints{Exclude: []int{4}, Require: []int{4}}
		}, []string{"Require"}},
		"too many required": {func(p *selection.Problem[float64]) { p.Constraints.Require = []int{1, 2, 3, 4, 5, 6} },
			[]string{"Require"}},
		"required beyond the budget": {func(p *selection.Problem[float64]) {
			p.Constraints = selection.Constraints{Require: []int{1, 2}, Cost: slices.Repeat([]float64{3}, 120), Budget: 5}
		}, []string{"Require"}},
		"pending": {func(p *selection.Problem[float64]) {
			p.Pending, p.Constraints.Require = []int{4, 120, 4}, []int{4}
		}, []string{"Pending", "Require"}},
		"cost of NaN": {func(p *selection.Problem[float64]) {
			p.Constraints.Cost = slices.Repeat([]float64{math.NaN()}, 120)
		}, []string{"Cost"}},
		"budget alone": {func(p *selection.Problem[float64]) { p.Constraints.Budget = 5 }, []string{"Budget"}},
		"limit alone":  {func(p *selection.Problem[float64]) { p.Constraints.PerGroup = 5 }, []string{"PerGroup"}},
	}
	for name, test := range tests {
		p := good
		test.change(&p)
		_, err := selection.Select(t.Context(), selection.LCMD{}, p)
		var wrong *selection.ProblemError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, field := range test.fields {
			if !strings.Contains(err.Error(), "selection: "+field+": ") {
				t.Errorf("%s: nothing about %s in %q", name, field, err)
			}
		}
	}
}

// TestBadNumbersNameTheRow puts a NaN or an infinity into a row, or a number beside
// which all others vanish.
func TestBadNumbersNameTheRow(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308} {
		eachMethod(func(m selection.Method, mode selection.Mode) {
			for _, set := range []string{"pool", "train"} {
				p := constrained(selection.Constraints{}, 5, mode)
				p.Pool, p.Train = p.Pool.Clone(), p.Train.Clone()
				if set == "pool" {
					p.Pool.Set(7, 2, bad)
				} else {
					p.Train.Set(7, 2, bad)
				}
				for _, k := range []bool{false, true} {
					if p.Kernel = nil; k {
						p.Kernel = selectiontest.Laplace[float64]{Width: p.Pool.Cols}
						if m.Name() == "bait-f" || m.Name() == "bait-fb" || bad == 1e308 {
							continue
						}
					}
					_, err := selection.Select(t.Context(), m, p)
					var row *selection.RowError
					if !errors.As(err, &row) || row.Row != 7 || row.Set != set {
						t.Errorf("%s-%s, %v in %s row 7: %v", m.Name(), mode, bad, set, err)
					}
				}
			}
		})
	}
}

// broken is a kernel that is NaN for one pair of rows.
type broken struct{ selectiontest.Laplace[float64] }

func (k broken) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	if err := k.Laplace.Cross(ctx, dst, a, b); err != nil {
		return err
	}
	if b.Rows > 50 {
		dst.Set(0, 50, math.NaN())
	}
	return nil
}

func TestKernelOfNaNIsAnError(t *testing.T) {
	t.Parallel()
	for _, m := range []selection.Method{selection.LCMD{}, selection.MaxDist{}, selection.KMeansPP{},
		selection.GreedyKMeansPP{}, selection.MaxDet{}, selection.FrankWolfe{}} {
		for _, mode := range []selection.Mode{selection.P, selection.TP} {
			p := constrained(selection.Constraints{}, 5, mode)
			p.Kernel = broken{selectiontest.Laplace[float64]{Width: p.Pool.Cols}}
			_, err := selection.Select(t.Context(), m, p)
			var row *selection.RowError
			if !errors.As(err, &row) || row.Row != 50 {
				t.Errorf("%s-%s: %v", m.Name(), mode, err)
			}
		}
	}
}

func TestMethodsThatNeedFeaturesSaySo(t *testing.T) {
	t.Parallel()
	p := constrained(selection.Constraints{}, 5, selection.P)
	p.Kernel = selectiontest.Laplace[float64]{Width: p.Pool.Cols}
	for _, e := range selection.Methods() {
		_, err := selection.Select(t.Context(), e.New(selection.Settings{}), p)
		var refused *selection.MethodError
		if e.Features != errors.As(err, &refused) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	narrow := selection.Problem[float32]{Pool: matrix.New[float32](5, 2), Batch: 1,
		Kernel: selectiontest.Laplace[float32]{Width: 2}}
	for _, m := range []selection.Method{selection.MaxDet{}, selection.FrankWolfe{}} {
		if _, err := selection.Select(t.Context(), m, narrow); err == nil {
			t.Errorf("%s takes a kernel in float32", m.Name())
		}
	}
}

func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	p := constrained(selection.Constraints{}, 5, selection.P)
	for _, m := range []selection.Method{selection.MaxDet{Sigma2: -1}, selection.BAIT{Sigma2: math.NaN()},
		selection.BAIT{Sigma2: math.Inf(1)}, selection.GreedyKMeansPP{Candidates: -1}} {
		if _, err := selection.Select(t.Context(), m, p); err == nil {
			t.Errorf("%+v was accepted", m)
		}
	}
}

// TestPendingRowsTakeNoPartInTheLimits: they cost nothing and fill no group, and
// BAIT-FB picks and removes as many rows as without them.
func TestPendingRowsTakeNoPartInTheLimits(t *testing.T) {
	t.Parallel()
	pending := []int{0, 10, 20, 30}
	group, cost := make([]int, 120), make([]float64, 120)
	for i := range group {
		group[i], cost[i] = i%10, 1
	}
	c := selection.Constraints{Group: group, PerGroup: 2, Cost: cost, Budget: 19}
	eachMethod(func(m selection.Method, mode selection.Mode) {
		p := constrained(c, 19, mode)
		p.Pending = pending
		r := mustSelect(t, m, p)
		inGroup := map[int]int{}
		for _, row := range r.Rows() {
			inGroup[group[row]]++
		}
		if len(r.Picks) != 19 || r.Missing != 0 || inGroup[0] == 0 {
			t.Errorf("%s-%s: %d picks, missing %d: %s; %d in the group of the pending rows", m.Name(), mode, len(r.Picks),
				r.Missing, r.Short, inGroup[0])
		}
		for _, removed := range r.Removed {
			if slices.Contains(pending, removed.Row) {
				t.Errorf("%s-%s: removed row %d, which is pending", m.Name(), mode, removed.Row)
			}
		}
	})
	p := constrained(selection.Constraints{}, 30, selection.P)
	p.Pending = pending
	if r := mustSelect(t, selection.BAIT{Sigma2: 1e-2, Backward: true}, p); len(r.Removed) != 30 {
		t.Errorf("%d rows were removed, want as many as the batch has", len(r.Removed))
	}
	p.Batch = 120
	if r := mustSelect(t, selection.LCMD{}, p); r.Missing != 4 ||
		r.Short != "the pool has no more rows that are not pending" {
		t.Errorf("missing %d: %s", r.Missing, r.Short)
	}
}

// TestPendingRowsAreCentres: the report calls them by their name.
func TestPendingRowsAreCentres(t *testing.T) {
	t.Parallel()
	p := constrained(selection.Constraints{}, 5, selection.P)
	p.Pending = []int{7}
	r := mustSelect(t, selection.MaxDist{}, p)
	if got := r.Picks[0].Cluster.Centre; got != (selection.Centre{Set: selection.PendingSet, Row: 7}) ||
		got.Set.String() != "pending" {
		t.Errorf("the first pick is nearest to %+v", got)
	}
}

// TestPerCostNeedsAScore: methods without one refuse, and so do costs of zero.
func TestPerCostNeedsAScore(t *testing.T) {
	t.Parallel()
	cost := slices.Repeat([]float64{2}, 120)
	for _, e := range selection.Methods() {
		p := constrained(selection.Constraints{PerCost: true, Cost: cost, Budget: 50}, 5, selection.P)
		_, err := selection.Select(t.Context(), e.New(selection.Settings{Sigma2: 1e-2}), p)
		var refused *selection.MethodError
		if e.Score == errors.As(err, &refused) || e.Score && err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	for _, c := range []selection.Constraints{{PerCost: true}, {PerCost: true, Cost: make([]float64, 120), Budget: 5}} {
		_, err := selection.Select(t.Context(), selection.LCMD{}, constrained(c, 5, selection.P))
		if wrong := (*selection.ProblemError)(nil); !errors.As(err, &wrong) || wrong.Field != "PerCost" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestScoresPerCost: equal costs change nothing but the scores.
func TestScoresPerCost(t *testing.T) {
	t.Parallel()
	cost := slices.Repeat([]float64{4}, 120)
	eachMethod(func(m selection.Method, mode selection.Mode) {
		p := constrained(selection.Constraints{Cost: cost, Budget: 60}, 30, mode)
		plain := mustSelect(t, m, p)
		p.Constraints.PerCost = true
		r, err := selection.Select(t.Context(), m, p)
		if errors.As(err, new(*selection.MethodError)) {
			return
		}
		if err != nil || !slices.Equal(r.Rows(), plain.Rows()) {
			t.Errorf("%s-%s: %v, without costs %v (%v)", m.Name(), mode, r, plain.Rows(), err)
			return
		}
		for i, pick := range r.Picks {
			if math.Abs(4*pick.Score-plain.Picks[i].Score) > 1e-9*plain.Picks[i].Score {
				t.Errorf("%s-%s: the score of pick %d is %v, without costs %v", m.Name(), mode, i, pick.Score, plain.Picks[i].Score)
			}
		}
	})
}
