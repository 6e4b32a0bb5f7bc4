package learner

import (
	"testing"

	"github.com/nextbatch/nextbatch/network"
)

// TestLimits: with labels below a limit that are known to be below it, a Gaussian process predicts these better than
// with the limit as their label, on its own and on another scale; a prediction that keeps to a limit is no error.
func TestLimits(t *testing.T) {
	t.Parallel()
	const limit = -0.4
	whole := made(340)
	below := 0
	s := network.Sample{X: whole.X.Slice(0, 60), Unlabelled: whole.Unlabelled}
	for _, y := range whole.Y[:60] {
		s.Y, s.Sides = append(s.Y, max(y, limit)), append(s.Sides, 0)
		if y < limit {
			s.Sides[len(s.Sides)-1] = -1
			below++
		}
	}
	if below < 10 {
		t.Fatalf("%d labels are below the limit; the test needs more", below)
	}
	tests := whole.X.Slice(60, 340)
	off := func(s network.Sample) float64 {
		t.Helper()
		m := fit(t, t.Context(), s, processLearner{})
		if got := m.Intervals().Rows; s.Sides != nil && got != 60-below {
			t.Errorf("intervals are based on %d rows, want %d", got, 60-below)
		}
		u := predict(t, t.Context(), m, tests)
		var errors []float64
		for i, y := range whole.Y[60:] {
			if y < limit {
				errors = append(errors, u.Mean[i]-y)
			}
		}
		return rootMeanSquare(errors, nil)
	}
	known := off(s)
	s.Sides = nil
	if as := off(s); !(known < 0.7*as) {
		t.Errorf("the error below the limit is %v, and %v with limits as labels", known, as)
	}
	sides := []int8{-1, 0, 1}
	for row, want := range []float64{0, -0.5, -0.5} {
		if got := errorOf(0.5, 1, row, sides); got != want {
			t.Errorf("row %d: error %v, want %v", row, got, want)
		}
	}
	s.Sides = []int8{1}
	if _, err := Fit(t.Context(), s, small()); err == nil {
		t.Error("one side for sixty labels is accepted")
	}
}
