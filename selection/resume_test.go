package selection

import (
	"errors"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// TestResume cuts runs off after some steps: going on gives the batch of a whole run, to the
// last bit.
func TestResume(t *testing.T) {
	rows := func(n int, seed uint64) matrix.Dense[float64] {
		return hardrows.Matrix[float64](hardrows.All()["decaying"], n, 24, seed)
	}
	p := Problem[float64]{Pool: rows(900, 1), Train: rows(30, 2), Batch: 40, Seed: 3, Pending: []int{5, 9},
		Constraints: Constraints{Require: []int{3, 4}, Exclude: []int{0}}}
	for _, e := range Methods() {
		for _, p.Mode = range []Mode{P, TP} {
			t.Run(e.Name+"-"+p.Mode.String(), func(t *testing.T) {
				m, whole := e.New(Settings{Sigma2: 1e-3}), p
				var chosen []Choice
				whole.Picked = func(c Choice) { chosen = append(chosen, c) }
				want, err := Select(t.Context(), m, whole)
				must(t, err)
				for _, done := range []int{1, 17, len(chosen)} {
					part := p
					part.Resume = chosen[:done]
					got, err := Select(t.Context(), m, part)
					if refused := (*MethodError)(nil); e.Name == "bait-fb" && errors.As(err, &refused) {
						continue
					}
					must(t, err)
					if !slices.Equal(got.Picks, want.Picks) || !slices.Equal(got.Notes, want.Notes) {
						t.Errorf("after %d rows: %v, want %v", done, got.Rows(), want.Rows())
					}
				}
			})
		}
	}
}

func TestResumeOfAnotherProblem(t *testing.T) {
	p := Problem[float64]{Pool: hardrows.Matrix[float64](hardrows.All()["decaying"], 50, 4, 1), Batch: 3}
	for name, rows := range map[string][]int{"no such row": {50}, "negative": {-1}, "twice": {1, 1},
		"too many": {1, 2, 3, 4}} {
		for _, row := range rows {
			p.Resume = append(p.Resume, Choice{Row: row})
		}
		_, err := Select(t.Context(), LCMD{}, p)
		if wrong := (*ProblemError)(nil); !errors.As(err, &wrong) || wrong.Field != "Resume" {
			t.Errorf("%s: %v", name, err)
		}
		p.Resume = nil
	}
	p.Resume = []Choice{{Row: 49}}
	if _, err := Select(t.Context(), MaxDet{Sigma2: 1}, p); err == nil {
		t.Error("a row that MaxDet does not choose is taken over")
	}
}
