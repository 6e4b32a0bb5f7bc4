package space

import (
	"fmt"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
	"github.com/nextbatch/nextbatch/selection/internal/posterior"
)

// follower does the steps of BAIT, as package selection does.
type follower struct {
	pool      *memoryTotals[float64]
	base, cov *posterior.Covariance
	inner     matrix.Dense[float64]
}

const followedSigma2 = 1e-6

// newFollower conditions on rows first, if there are any; it returns nil if float64 has too few
// digits for that.
func newFollower(t *testing.T, s *space[float64], selected matrix.Dense[float64]) *follower {
	t.Helper()
	all, err := s.Totals(followedSigma2, followedSigma2)
	must(t, err)
	f := &follower{pool: all.(*totals[float64]).totalSearch.(*memoryTotals[float64]), base: s.Covariance(followedSigma2),
		cov: s.Covariance(followedSigma2)}
	if !f.base.ObserveAsRoot(selected) {
		return nil
	}
	f.inner = matrix.New[float64](s.Cols(), s.Cols())
	all.Moments(f.inner, f.base.Root)
	f.pool.Rebase(f.base.Root, f.inner)
	return f
}

// add conditions on a row of the pool (bait.go of package selection has the formulas).
func (f *follower) add(phi []float64) {
	d, set := f.cov.Dim, simd.For[float64]()
	psi, w, mw, q := phi, make([]float64, d), make([]float64, d), make([]float64, d)
	if f.base.Root.Rows > 0 {
		psi = make([]float64, d)
		linalg.MulVec(nil, psi, f.base.Root, phi)
	}
	f.cov.Apply(w, psi)
	linalg.MulVec(nil, mw, f.inner, w)
	f.cov.Apply(q, mw)
	moment, gamma2 := set.Dot(w, mw), followedSigma2+max(set.Dot(psi, w), 0)
	f.cov.Update(w, -1, gamma2)
	latest := f.cov.Latest()
	set.ScaleAdd(q, latest, -2/math.Sqrt(gamma2), moment/gamma2)
	f.pool.Step(latest, q, f.inFeatures(latest), f.inFeatures(q))
}

func (f *follower) inFeatures(x []float64) []float64 {
	if f.base.Root.Rows == 0 {
		return x
	}
	y := make([]float64, len(x))
	linalg.MulVecT(nil, y, f.base.Root, x)
	return y
}

// TestBAITBoundsHold follows the bounds of all rows over steps of which no row
// but the picks is brought up to date. For rows in a file they learn the rows again.
func TestBAITBoundsHold(t *testing.T) {
	learned := 0
	for name, kind := range hardrows.Some() {
		rows := hardrows.Matrix[float64](kind, 2100, 150, 1)
		train := hardrows.Matrix[float64](kind, 40, 150, 2)
		for _, selected := range []matrix.Dense[float64]{matrix.New[float64](0, 150), train} {
			name := fmt.Sprintf("%s after %d rows", name, selected.Rows)
			from := Source[float64]{Pool: rows, Train: train, Use: Use{Batch: 40}}
			mustHoldBounds(t, name, from, rows, selected, func(int, *memoryTotals[float64]) {})
			from.InFile = true
			learnAgain := func(step int, pool *memoryTotals[float64]) {
				if step%6 == 5 && pool.relearn() {
					learned++
				}
			}
			mustHoldBounds(t, name+" in a file", from, rows, selected, learnAgain)
			from.Pool, from.Single = matrix.Dense[float64]{}, hardrows.Matrix[float32](kind, 2100, 150, 1)
			mustHoldBounds(t, name+" in a file, in float32", from, matrix.Converted[float64](from.Single), selected, learnAgain)
		}
	}
	if shapes := len(hardrows.Some()); learned < 6*shapes {
		t.Errorf("the bounds learned the rows of %d shapes only %d times", shapes, learned)
	}
}

func mustHoldBounds(t *testing.T, name string, from Source[float64], rows, selected matrix.Dense[float64],
	before func(step int, pool *memoryTotals[float64])) {
	t.Helper()
	f := newFollower(t, mustSpace(t, from), selected)
	if f == nil {
		t.Logf("%s: float64 has too few digits", name)
		return
	}
	pool := f.pool
	for step := range 20 {
		before(step, pool)
		f.add(rows.Row(step * 97))
		pool.bounds.pause = 0
		for row := range pool.v {
			bound := pool.bounds.score(row, pool.offset)
			pool.At(row)
			if score := pool.score(row); !(score <= bound) {
				t.Fatalf("%s, step %d: the score of row %d is %v, its bound %v", name, step, row, score, bound)
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
			learnsAgain(t, Source[float64]{Pool: matrix.Converted[float64](rows), InFile: true}, rows)
		})
		t.Run(kind+" in float32", func(t *testing.T) { learnsAgain(t, Source[float64]{Single: rows}, rows) })
	}
}

func learnsAgain(t *testing.T, from Source[float64], rows matrix.Dense[float32]) {
	from.Use = Use{Batch: 100}
	s := mustSpace(t, from)
	f := newFollower(t, s, matrix.New[float64](0, rows.Cols))
	learned, reads := 0, 0
	for range 100 {
		before := f.pool.bounds.frame.turn
		best, _, err := f.pool.Best()
		must(t, err)
		f.add(s.Float64([]int{best.Row}).Row(0))
		s.Mark(best.Row, false, true)
		if f.pool.lacking() == 1 { // all rows had the steps before this one
			reads++
		}
		if now := f.pool.bounds.frame.turn; now.Rows > 0 && (before.Rows == 0 || &before.Data[0] != &now.Data[0]) {
			learned++
		}
	}
	t.Logf("of 100 steps %d read all rows, and the bounds learned them %d times", reads, learned)
	if learned == 0 || reads > 50 {
		t.Errorf("of 100 steps %d read all rows, and the bounds learned them %d times", reads, learned)
	}
}
