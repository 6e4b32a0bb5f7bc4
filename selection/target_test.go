package selection_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

func weightsFor(n int) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = float64((i*7)%5) + 0.25
	}
	return w
}

// TestTargetsAgreeWithTheOracle runs methods for another distribution than that
// of the pool.
func TestTargetsAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	const s2 = 1e-2
	methods := []struct {
		m selection.Method
		o func() selectiontest.Oracle
	}{
		{selection.LCMD{}, func() selectiontest.Oracle { return &selectiontest.LCMD{} }},
		{selection.LCMD{Size: selection.Distance},
			func() selectiontest.Oracle { return &selectiontest.LCMD{Size: selection.Distance} }},
		{selection.LCMD{Size: selection.Count},
			func() selectiontest.Oracle { return &selectiontest.LCMD{Size: selection.Count} }},
		{selection.BAIT{Sigma2: s2}, func() selectiontest.Oracle { return &selectiontest.BAIT{Sigma2: s2} }},
		{selection.BAIT{Sigma2: s2, Backward: true}, func() selectiontest.Oracle {
			return &selectiontest.BAITBackward{BAIT: selectiontest.BAIT{Sigma2: s2}}
		}},
	}
	compared := 0
	for _, method := range methods {
		for _, c := range selectiontest.Cases() {
			p := c.Problem
			for _, mode := range []selection.Mode{selection.P, selection.TP} {
				p.Mode = mode
				for what, target := range map[string]selection.Aims[float64]{
					"weights": {Weights: weightsFor(p.Pool.Rows)},
					"rows":    {Rows: p.Pool.Slice(0, (p.Pool.Rows+1)/2)},
				} {
					p.Aims = target
					want, prefix := selectiontest.Robust(method.o, selectiontest.NewInput(p, nil), 1e-11)
					got := mustSelect(t, method.m, p).Rows()
					if !slices.Equal(got[:prefix], want[:prefix]) {
						t.Errorf("%s, %s, %s, %s: %v, want %v", method.m.Name(), c.Name, mode, what, got[:prefix], want[:prefix])
					}
					compared += prefix
				}
			}
		}
	}
	if compared < 2000 {
		t.Errorf("only %d picks could be compared", compared)
	}
}

// TestTargetMatters has two groups of pool rows and a target that is one of
// them: the picks come from there.
func TestTargetMatters(t *testing.T) {
	t.Parallel()
	pool := matrix.New[float64](40, 2)
	weights := make([]float64, 40)
	for i := range 40 {
		pool.Set(i, i/20, 1)
		pool.Set(i, 1-i/20, float64(i%20)/40)
		weights[i] = map[bool]float64{true: 1}[i >= 20]
	}
	for _, m := range []selection.Method{selection.LCMD{}, selection.KMeansPP{}, selection.GreedyKMeansPP{}} {
		for what, target := range map[string]selection.Aims[float64]{
			"weights": {Weights: weights}, "rows": {Rows: pool.Slice(20, 40)},
		} {
			p := selection.Problem[float64]{Pool: pool, Batch: 6, Aims: target, Seed: 3,
				Train: matrix.FromRows([][]float64{{1, 0}, {0, 1}}), Mode: selection.TP}
			for _, row := range mustSelect(t, m, p).Rows() {
				if row < 20 {
					t.Errorf("%s, %s: picked row %d, which the target is not like", m.Name(), what, row)
				}
			}
		}
	}
}

func TestTargetIsRefusedWhereItHasNoMeaning(t *testing.T) {
	t.Parallel()
	p := selectiontest.Cases()[0].Problem
	p.Aims.Weights = weightsFor(p.Pool.Rows)
	for _, e := range selection.Methods() {
		_, err := selection.Select(t.Context(), e.New(selection.Settings{}), p)
		var refused *selection.MethodError
		if e.Aims != (err == nil) || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
