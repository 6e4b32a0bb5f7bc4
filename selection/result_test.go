package selection_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// line returns rows on a line.
func line(x ...float64) matrix.Dense[float64] {
	m := matrix.New[float64](len(x), 1)
	copy(m.Data, x)
	return m
}

// TestPicksSayWhatTheyRepresent follows LCMD by hand: training rows at 0 and 10,
// a crowd near 0 and one row far from 10.
func TestPicksSayWhatTheyRepresent(t *testing.T) {
	t.Parallel()
	p := selection.Problem[float64]{Pool: line(2, 2.5, -2, 1, 13), Train: line(0, 10), Mode: selection.TP, Batch: 2}
	r := mustSelect(t, selection.LCMD{}, p)
	// Sizes: 4 + 6.25 + 4 + 1 = 15.25 at 0 and 9 at 10.
	want := []selection.Pick{
		{Row: 1, Step: 1, Score: 6.25, Labelled: 0, Distance: 2.5,
			Cluster: selection.Cluster{Centre: selection.Centre{Set: selection.TrainSet, Row: 0}, Size: 15.25,
				Rows: 4, Distance: 2.5}},
		// Now 2 and 1 are split: 0.25 at row 1, 4 + 1 at 0; 9 at 10 is largest.
		{Row: 4, Step: 2, Score: 9, Labelled: 1, Distance: 3,
			Cluster: selection.Cluster{Centre: selection.Centre{Set: selection.TrainSet, Row: 1}, Size: 9,
				Rows: 1, Distance: 3}},
	}
	if !slices.Equal(r.Picks, want) {
		t.Errorf("got  %+v\nwant %+v", r.Picks, want)
	}
	if r.Method != "lcmd" || r.Mode != selection.TP || r.Timing.Total <= 0 || len(r.Fallbacks) > 0 {
		t.Errorf("result %+v", r)
	}
}

func TestClustersOfOtherMethods(t *testing.T) {
	t.Parallel()
	p := selection.Problem[float64]{Pool: line(2, 2.5, -2, 1, 13), Train: line(0, 10), Mode: selection.TP, Batch: 1}
	pick := mustSelect(t, selection.MaxDist{}, p).Picks[0]
	want := selection.Cluster{Centre: selection.Centre{Set: selection.TrainSet, Row: 1}, Size: 9, Rows: 1, Distance: 3}
	if pick.Row != 4 || pick.Cluster != want {
		t.Errorf("maxdist: %+v", pick)
	}
	p.Mode = selection.P
	pick = mustSelect(t, selection.MaxDet{}, p).Picks[0]
	if pick.Row != 4 || pick.Cluster != (selection.Cluster{}) || pick.Labelled != 1 || pick.Distance != 3 {
		t.Errorf("maxdet: %+v", pick)
	}
	p.Train = matrix.Dense[float64]{}
	if pick = mustSelect(t, selection.MaxDet{}, p).Picks[0]; pick.Labelled != -1 {
		t.Errorf("without training rows: %+v", pick)
	}
}

// TestFallbacksSaySo uses rows that lie on the training row: k-means++ has
// nothing to draw from after the one that does not.
func TestFallbacksSaySo(t *testing.T) {
	t.Parallel()
	p := selection.Problem[float64]{Pool: line(1, 1, 5, 1, 1), Train: line(1), Mode: selection.TP, Batch: 4, Seed: 9}
	for _, m := range []selection.Method{selection.KMeansPP{}, selection.GreedyKMeansPP{}} {
		r := mustSelect(t, m, p)
		if len(r.Picks) != 4 || r.Picks[0].Row != 2 || len(r.Fallbacks) != 1 {
			t.Fatalf("%s: %+v", m.Name(), r)
		}
		f := r.Fallbacks[0]
		if f.Step != 2 || f.Reason == "" || !slices.Equal(f.Rows, r.Rows()[1:]) || r.Picks[1].Why != selection.Filled {
			t.Errorf("%s: %+v, picks %v", m.Name(), f, r.Rows())
		}
		again := mustSelect(t, m, p)
		if !slices.Equal(again.Rows(), r.Rows()) {
			t.Errorf("%s fills %v, then %v", m.Name(), r.Rows(), again.Rows())
		}
	}
}

// TestFrankWolfeHasNoUseForZero picks rows with a direction first.
func TestFrankWolfeHasNoUseForZero(t *testing.T) {
	t.Parallel()
	p := selection.Problem[float64]{Pool: line(0, 0, 3, -1, 0), Batch: 4}
	for _, in := range []selection.Implementation{selection.InFeatureSpace, selection.InKernelSpace} {
		r := mustSelect(t, selection.FrankWolfe{In: in}, p)
		if r.Picks[0].Row != 2 || r.Picks[1].Row != 3 || len(r.Fallbacks) != 1 || r.Fallbacks[0].Step != 3 ||
			len(r.Fallbacks[0].Rows) != 2 {
			t.Errorf("picks %v, fallbacks %+v", r.Rows(), r.Fallbacks)
		}
	}
}

// TestTies: of equal rows the lowest is picked.
func TestTies(t *testing.T) {
	t.Parallel()
	p := selection.Problem[float64]{Pool: line(1, 3, 3, 2, 3), Train: line(0), Mode: selection.TP, Batch: 1}
	for _, m := range []selection.Method{selection.MaxDiag{}, selection.MaxDist{}, selection.LCMD{},
		selection.MaxDet{}, selection.MaxDet{In: selection.InKernelSpace}, selection.BAIT{}} {
		if row := mustSelect(t, m, p).Picks[0].Row; row != 1 {
			t.Errorf("%s picks row %d", m.Name(), row)
		}
	}
}

func TestBackwardReportsRemovals(t *testing.T) {
	t.Parallel()
	p := constrained(selection.Constraints{}, 10, selection.TP)
	r := mustSelect(t, selection.BAIT{Sigma2: 1e-2, Backward: true}, p)
	if len(r.Removed) != 10 || r.Removed[0].Step != 21 {
		t.Fatalf("removed %+v", r.Removed)
	}
	steps := map[int]bool{}
	for _, pick := range r.Picks {
		steps[pick.Step] = true
	}
	for _, gone := range r.Removed {
		if steps[gone.Picked] || gone.Picked < 1 || gone.Picked > 20 || math.IsNaN(gone.Score) {
			t.Errorf("removal %+v", gone)
		}
		steps[gone.Picked] = true
	}
}

// stubborn is a method that gives up, or picks what it may not.
type stubborn struct {
	space *selection.Space
	row   int
	err   error
}

func (m *stubborn) Name() string { return "stubborn" }
func (m *stubborn) Init(s *selection.Space) (selection.Forward, error) {
	m.space = s
	return m, nil
}
func (m *stubborn) Add([]int) error { return nil }
func (m *stubborn) Next() (selection.Choice, error) {
	return selection.Choice{Row: m.row, Score: 1}, m.err
}

func TestDriverWatchesMethods(t *testing.T) {
	t.Parallel()
	p := selection.Problem[float64]{Pool: line(1, 2, 3), Batch: 2}
	if _, err := selection.Select(t.Context(), &stubborn{row: 1}, p); err == nil {
		t.Error("a row was picked twice")
	}
	r, err := selection.Select(t.Context(), &stubborn{err: &selection.Stuck{Reason: "tired"}}, p)
	if err != nil || len(r.Picks) != 2 || r.Fallbacks[0].Reason != "tired" || r.Fallbacks[0].Step != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDrawnRowsAreNotTied: k-means++ draws its first row without a score, and the
// greedy one scores the last distinct row 0, since it leaves nothing. Neither says
// that no candidate was better, or that rows were taken in order.
func TestDrawnRowsAreNotTied(t *testing.T) {
	t.Parallel()
	one := selection.Problem[float64]{Pool: line(1, 2, 3), Batch: 1}
	duplicates := selection.Problem[float64]{Pool: line(1, 1, 5, 5, 1), Batch: 4}
	for _, m := range []selection.Method{selection.KMeansPP{}, selection.GreedyKMeansPP{}} {
		if r := mustSelect(t, m, one); len(r.Notes) > 0 {
			t.Errorf("%s, batch of 1: %q", m.Name(), r.Notes)
		}
		r := mustSelect(t, m, duplicates)
		if len(r.Notes) > 0 || len(r.Fallbacks) != 1 || r.Fallbacks[0].Step != 3 {
			t.Errorf("%s, duplicates: notes %q, fallbacks %+v", m.Name(), r.Notes, r.Fallbacks)
		}
	}
}

// TestEqualCandidatesAreNoted: where the method cannot distinguish rows, the
// order is that of the rows, and the result says from which step on.
func TestEqualCandidatesAreNoted(t *testing.T) {
	t.Parallel()
	crowd := selection.Problem[float64]{Pool: line(0, 0, 7, 7, 0), Train: line(0), Mode: selection.TP, Batch: 3}
	zeros := selection.Problem[float64]{Pool: line(0, 0, 0), Mode: selection.P, Batch: 3}
	for _, m := range []selection.Method{selection.MaxDist{}, selection.LCMD{}} {
		r := mustSelect(t, m, crowd)
		if !slices.Equal(r.Rows(), []int{2, 0, 1}) || len(r.Notes) != 1 ||
			!strings.HasPrefix(r.Notes[0], "from step 2 on, all candidates are equally good") {
			t.Errorf("%s: %v, notes %q", m.Name(), r.Rows(), r.Notes)
		}
	}
	for _, m := range []selection.Method{selection.MaxDist{}, selection.MaxDiag{}, selection.MaxDet{}} {
		r := mustSelect(t, m, zeros)
		if !slices.Equal(r.Rows(), []int{0, 1, 2}) || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "from step 1 on") {
			t.Errorf("%s of zeros: %v, notes %q", m.Name(), r.Rows(), r.Notes)
		}
	}
	if r := mustSelect(t, selection.LCMD{}, crowd); r.Picks[0].Tied || !r.Picks[1].Tied || !r.Picks[2].Tied {
		t.Errorf("picks %+v", r.Picks)
	}
	for _, p := range []selection.Problem[float64]{crowd, {Pool: line(1, 2, 3), Mode: selection.P, Batch: 3}} {
		p.Mode = selection.P
		p.Train = matrix.Dense[float64]{}
		if r := mustSelect(t, selection.Random{}, p); len(r.Notes) > 0 {
			t.Errorf("random: notes %q", r.Notes)
		}
	}
}
