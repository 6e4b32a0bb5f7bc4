package trees

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestCrossFitEqualsThePlainVersion fits each model on its own and checks the chosen
// number of rounds against the errors of all numbers up to twice as many.
func TestCrossFitEqualsThePlainVersion(t *testing.T) {
	ctx := context.Background()
	d := simulated(150, 4)
	d.Weights = slices.Repeat([]float64{1, 2, 0.5}, 50)
	c := BoostingConfig{Rate: 0.2, Patience: 15, MaxRounds: 150}.withDefaults(150)
	held := folds(150, 9)
	got := must(CrossFitBoosting(ctx, d, held, c, 3))(t)

	sums := make([]float64, min(2*got.Rounds, c.MaxRounds)+1)
	for k, rows := range held {
		var train []int
		for i := range 150 {
			if !slices.Contains(rows, i) {
				train = append(train, i)
			}
		}
		alone, out := c, d.Subset(rows)
		alone.Rounds = len(sums) - 1
		m := must(FitBoosting(ctx, d.Subset(train), alone, 3))(t)
		for rounds := len(sums) - 1; rounds >= 0; rounds-- {
			m.truncate(rounds)
			p := predict(t, m, out.Inputs)
			for i, y := range out.Labels {
				sums[rounds] += out.Weights[i] * (y - p[i]) * (y - p[i])
			}
			if rounds == got.Rounds {
				if !slices.Equal(saved(t, m), saved(t, got.Models[k])) || !slices.Equal(p, got.Predictions[k]) {
					t.Errorf("model %d is not the one fitted alone", k)
				}
			}
		}
	}
	for rounds, sum := range sums[:min(len(sums), got.Rounds+c.Patience)] {
		if sum < sums[got.Rounds]-1e-6 {
			t.Errorf("%d rounds were chosen with the error %v; %d have %v", got.Rounds, sums[got.Rounds], rounds, sum)
		}
	}
}

// TestNoiseNeedsNoTrees checks that few trees are kept where inputs say nothing.
func TestNoiseNeedsNoTrees(t *testing.T) {
	d := numeric(200, 5, 1)
	copy(d.Labels, numeric(200, 5, 2).Labels)
	m := must(FitBoosting(context.Background(), d, BoostingConfig{}, 1))(t)
	if m.Trees() > 40 {
		t.Errorf("%d trees for noise", m.Trees())
	}
}

func TestCrossFitMistakes(t *testing.T) {
	d := numeric(10, 2, 1)
	for want, held := range map[string][][]int{
		"no held-out rows": nil,
		"row 10 is":        {{10}},
		"row -1 is":        {{-1}},
		"row 3 is":         {{1, 3, 3}},
		"at least one row": {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		if _, err := CrossFitBoosting(context.Background(), d, held, BoostingConfig{}, 1); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

func TestFoldsHoldEachRowOnce(t *testing.T) {
	for _, n := range []int{2, 4, 5, 23} {
		held := folds(n, 1)
		all := slices.Concat(held...)
		slices.Sort(all)
		if len(all) != n || len(slices.Compact(all)) != n || len(held) != int(math.Min(5, float64(n))) {
			t.Errorf("the folds of %d rows are %v", n, held)
		}
	}
}
