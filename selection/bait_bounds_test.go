package selection

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// TestBAITMayWait compares picks and their scores with those of the version
// that does each step for every row, to the last bit.
func TestBAITMayWait(t *testing.T) {
	for name, f := range hardRows() {
		p := Problem[float64]{Pool: hardMatrix[float64](f, 2100, 1), Train: hardMatrix[float64](f, 40, 2), Batch: 40}
		for _, mode := range []Mode{P, TP} {
			for _, m := range []Method[float64]{BAIT[float64]{}, BAIT[float64]{Backward: true, Sigma2: 1e-3}} {
				p.Mode, p.Plain, p.InFile = mode, true, false
				p.Constraints = Constraints{Exclude: []int{1, 700}, Require: []int{4, 2}}
				want, err := selectCounted(t.Context(), m, p)
				if refused(t, name, err) {
					p.Plain = false
					if _, again := selectCounted(t.Context(), m, p); fmt.Sprint(again) != err.Error() {
						t.Errorf("%s, %s-%s: %v, plain %v", name, m.Name(), mode, again, err)
					}
					continue
				}
				p.Plain = false
				for threads := range 4 {
					p.InFile = threads >= 2
					got, err := selectCounted(linalg.WithThreads(t.Context(), threads%2), m, p)
					must(t, err)
					if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Removed, want.Removed) {
						t.Errorf("%s, %s-%s: %v, plain %v", name, m.Name(), mode, got.Rows(), want.Rows())
					}
					if got.Computed() > want.Computed() {
						t.Errorf("%s, %s-%s: a share of %v was computed", name, m.Name(), mode, got.Computed())
					}
				}
			}
		}
	}
}

// TestBAITBoundsHold follows the bounds of all rows over steps of which no row
// but the picks is brought up to date. For rows in a file they learn the rows again.
func TestBAITBoundsHold(t *testing.T) {
	learned := 0
	for name, f := range hardRows() {
		for _, mode := range []Mode{P, TP} {
			p := Problem[float64]{Pool: hardMatrix[float64](f, 2100, 1), Train: hardMatrix[float64](f, 40, 2), Batch: 40, Mode: mode}
			mustHoldBounds(t, name, p, func(int, *memoryTotals[float64]) {})
			p.InFile = true
			learnAgain := func(step int, pool *memoryTotals[float64]) {
				if step%6 == 5 && pool.relearn() {
					learned++
				}
			}
			mustHoldBounds(t, name+" in a file", p, learnAgain)
			p.Pool, p.Single = matrix.Dense[float64]{}, hardMatrix[float32](f, 2100, 1)
			mustHoldBounds(t, name+" in a file, in float32", p, learnAgain)
		}
	}
	if learned < 6*len(hardRows()) {
		t.Errorf("the bounds learned the rows of %d shapes only %d times", len(hardRows()), learned)
	}
}

func mustHoldBounds(t *testing.T, name string, p Problem[float64], before func(step int, pool *memoryTotals[float64])) {
	t.Helper()
	s := mustSpace(t, p)
	state, err := BAIT[float64]{}.Init(s)
	must(t, err)
	b := state.(*bait[float64])
	pool := b.pool.(*memoryTotals[float64])
	if p.Mode == TP && refused(t, name, b.Add(trainRows(s))) {
		return
	}
	must(t, b.refresh())
	for step := range 20 {
		before(step, pool)
		must(t, b.Add([]int{step * 97}))
		pool.bounds.pause = 0
		for row := range pool.v {
			bound := pool.bounds.score(row, b.offset)
			pool.At(row)
			if score := pool.score(row); !(score <= bound) {
				t.Fatalf("%s, %s, step %d: the score of row %d is %v, its bound %v", name, p.Mode, step, row, score, bound)
			}
		}
	}
}

// TestBAITLearnsAgain: in a file, few steps read all rows, since the bounds learn them again
// in coordinates in which they last.
func TestBAITLearnsAgain(t *testing.T) {
	for _, kind := range []string{"decaying", "normal"} {
		rows := hardrows.Matrix[float32](hardrows.Some()[kind], 3000, 128, 1)
		t.Run(kind, func(t *testing.T) {
			learnsAgain(t, Problem[float64]{Pool: matrix.Converted[float64](rows), Batch: 100, Mode: P, InFile: true})
		})
		t.Run(kind+" in float32", func(t *testing.T) { learnsAgain(t, Problem[float64]{Single: rows, Batch: 100, Mode: P}) })
	}
}

func learnsAgain(t *testing.T, p Problem[float64]) {
	s := mustSpace(t, p)
	state, err := BAIT[float64]{}.Init(s)
	must(t, err)
	pool := state.(*bait[float64]).pool.(*memoryTotals[float64])
	learned, reads := 0, 0
	for range 100 {
		before := pool.bounds.frame.turn
		choice, err := state.Next()
		must(t, err)
		must(t, state.Add([]int{choice.Row}))
		s.limits.open[choice.Row] = false
		if pool.lacking() == 1 { // all rows had the steps before this one
			reads++
		}
		if now := pool.bounds.frame.turn; now.Rows > 0 && (before.Rows == 0 || &before.Data[0] != &now.Data[0]) {
			learned++
		}
	}
	t.Logf("of 100 steps %d read all rows, and the bounds learned them %d times", reads, learned)
	if learned == 0 || reads > 50 {
		t.Errorf("of 100 steps %d read all rows, and the bounds learned them %d times", reads, learned)
	}
}

// refused reports whether float64 has too few digits, which may happen for large rows only.
func refused(t *testing.T, name string, err error) bool {
	t.Helper()
	var precision *PrecisionError
	if errors.As(err, &precision) && precision.Largest > 1e8 {
		t.Logf("%s: %v", name, err)
		return true
	}
	must(t, err)
	return false
}

func trainRows(s *Space[float64]) (list []int) {
	for i := range s.TrainSize() {
		list = append(list, s.PoolSize()+i)
	}
	return list
}
