package selection_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/selection/selectiontest"
)

// freeOfScale are the methods whose picks do not depend on the unit of the features.
func freeOfScale[T matrix.Float]() []selection.Method {
	return []selection.Method{selection.Random{}, selection.MaxDiag{}, selection.MaxDist{}, selection.KMeansPP{},
		selection.GreedyKMeansPP{}, selection.LCMD{}, selection.LCMD{Size: selection.Distance},
		selection.LCMD{Size: selection.Count}, selection.FrankWolfe{}}
}

// TestPicksDoNotDependOnTheUnit multiplies features by powers of two: picks do
// not change, and the numbers of the result are multiplied likewise.
func TestPicksDoNotDependOnTheUnit(t *testing.T) {
	t.Parallel()
	t.Run("float32", func(t *testing.T) { picksDoNotDependOnTheUnit[float32](t, -140, 110, 10) })
	t.Run("float64", func(t *testing.T) { picksDoNotDependOnTheUnit[float64](t, -1000, 1000, 100) })
}

func picksDoNotDependOnTheUnit[T matrix.Float](t *testing.T, least, most, step int) {
	r := rand.New(rand.NewPCG(4, 2))
	// Eight binary digits: they are there at every scale, in subnormal numbers too.
	draw := func(n, d int) matrix.Dense[T] {
		m := matrix.New[T](n, d)
		for i := range m.Data {
			m.Data[i] = T(r.IntN(512)-256) / 256
		}
		return m
	}
	for _, d := range []int{3, 70} {
		p := selection.Problem[T]{Pool: draw(300, d), Train: draw(20, d), Batch: 30, Seed: 5}
		target := draw(40, d)
		for _, m := range freeOfScale[T]() {
			for _, mode := range []selection.Mode{selection.P, selection.TP} {
				q := p
				q.Mode = mode
				if mode == selection.TP && m.Name() == "lcmd" {
					q.Aims.Rows = target
				}
				want := mustSelect(t, m, q)
				for e := least; e <= most; e += step {
					mustBeTimes(t, m.Name(), mustSelect(t, m, inUnit(q, e)), want, e)
				}
			}
		}
	}
}

// inUnit is a problem with features times 2^e.
func inUnit[T matrix.Float](p selection.Problem[T], e int) selection.Problem[T] {
	for _, m := range []*matrix.Dense[T]{&p.Pool, &p.Train, &p.Aims.Rows} {
		scaled := m.Clone()
		for i, v := range scaled.Data {
			scaled.Data[i] = T(math.Ldexp(float64(v), e))
		}
		*m = scaled
	}
	return p
}

// mustBeTimes compares results on features and on features times 2^e. Squares of
// numbers in float64 that are out of range are not compared.
func mustBeTimes(t *testing.T, name string, got, want *selection.Result, e int) {
	t.Helper()
	if !slices.Equal(got.Rows(), want.Rows()) || len(got.Notes) != len(want.Notes) ||
		len(got.Fallbacks) != len(want.Fallbacks) {
		t.Errorf("%s, times 2^%d: %v, want %v", name, e, got.Rows(), want.Rows())
		return
	}
	powers := map[string][2]int{"lcmd-dist": {2, 1}, "lcmd-count": {2, 0}, "frankwolfe": {1, 0}}
	power, known := powers[name]
	if !known {
		power = [2]int{2, 2}
	}
	if e < -400 || e > 400 {
		return
	}
	for i, g := range got.Picks {
		w := want.Picks[i]
		w.Score, w.Distance = math.Ldexp(w.Score, power[0]*e), math.Ldexp(w.Distance, e)
		w.Cluster.Size, w.Cluster.Distance = math.Ldexp(w.Cluster.Size, power[1]*e), math.Ldexp(w.Cluster.Distance, e)
		if g != w {
			t.Errorf("%s, times 2^%d: %+v, want %+v", name, e, g, w)
			return
		}
	}
}

// TestFeaturesOfAnySizeAreTaken has the largest finite numbers.
func TestFeaturesOfAnySizeAreTaken(t *testing.T) {
	t.Parallel()
	for _, c := range selectiontest.Cases()[:3] {
		p := c.Problem
		p.Mode = selection.TP
		for _, m := range freeOfScale[float64]() {
			want := mustSelect(t, m, p).Rows()
			if got := mustSelect(t, m, inUnit(p, 1020)).Rows(); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", c.Name, m.Name(), got, want)
			}
		}
	}
}

// failing is a kernel whose values are not finite.
type failing struct{ selectiontest.Laplace[float64] }

func (failing) Diag(_ context.Context, dst []float64, _ matrix.Dense[float64]) error {
	for i := range dst {
		dst[i] = math.Inf(1)
	}
	return nil
}

// TestRandomUsesNoKernel draws the same rows with a kernel that fails, and finds
// features that are not finite all the same.
func TestRandomUsesNoKernel(t *testing.T) {
	t.Parallel()
	p := constrained(selection.Constraints{}, 9, selection.P)
	want := mustSelect(t, selection.Random{}, p)
	p.Kernel = failing{selectiontest.Laplace[float64]{Width: p.Pool.Cols}}
	got := mustSelect(t, selection.Random{}, p)
	if !slices.Equal(got.Rows(), want.Rows()) || got.Picks[0].Labelled != -1 {
		t.Errorf("%+v, want %+v", got.Picks, want.Picks)
	}
	p.Train = p.Train.Clone()
	p.Train.Set(3, 0, math.NaN())
	var row *selection.RowError
	if _, err := selection.Select(t.Context(), selection.Random{}, p); !errors.As(err, &row) ||
		row.Row != 3 || row.Set != "train" {
		t.Errorf("a feature is NaN: %v", err)
	}
}
