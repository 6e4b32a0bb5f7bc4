package conformal

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

func TestRadius(t *testing.T) {
	t.Parallel()
	errs := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for coverage, want := range map[float64]float64{0.9: 9, 0.85: 9, 0.8: 8, 0.75: 8, 0.5: 5, 0.05: 1} {
		if got, err := Radius(errs, coverage); err != nil || got != want {
			t.Errorf("coverage %v: %v (%v), want %v", coverage, got, err, want)
		}
	}
	_, err := Radius(errs, 0.95)
	if e := (*CoverageError)(nil); !errors.As(err, &e) || *e != (CoverageError{0.95, 9, 19}) {
		t.Errorf("error %v", err)
	}
	for coverage, want := range map[float64]int{0.95: 19, 0.9: 9, 0.99: 99, 0.5: 1, 0.1: 1, 0.999: 999} {
		if got := rowsFor(coverage); got != want {
			t.Errorf("coverage %v needs %d rows, want %d", coverage, got, want)
		}
	}
	for _, coverage := range []float64{0, 1, -1, math.NaN()} {
		if _, err := Radius(errs, coverage); err == nil {
			t.Errorf("coverage %v is taken", coverage)
		}
	}
}

// TestRadiusOf: over many samples, an interval contains a new label with a probability of
// ⌈(n+1)·coverage⌉/(n+1).
func TestRadiusOf(t *testing.T) {
	t.Parallel()
	const samples, rows, coverage, want = 4000, 24, 0.9, 23.0 / 25
	draw, held := rng.New(1, "conformal"), 0
	for range samples {
		errs := make([]float64, rows)
		for i := range errs {
			errs[i] = draw.NormFloat64() * math.Exp(draw.NormFloat64())
		}
		before := slices.Clone(errs)
		r, err := RadiusOf(errs, coverage)
		if err != nil || !slices.Equal(errs, before) {
			t.Fatalf("%v; the errors were %v, and are %v", err, before, errs)
		}
		if math.Abs(draw.NormFloat64()*math.Exp(draw.NormFloat64())) <= r {
			held++
		}
	}
	if share, deviation := float64(held)/samples, math.Sqrt(want*(1-want)/samples); math.Abs(share-want) > 3*deviation {
		t.Errorf("%.4f of the intervals contain the label, want %v ± %.4f", share, want, 3*deviation)
	}
	few := (*CoverageError)(nil)
	if _, err := RadiusOf([]float64{1, 2, 3}, 0.9); !errors.As(err, &few) || few.Need != 9 {
		t.Errorf("three errors: %v", err)
	}
}

// TestWeightedRadius: weights that are all 1 change next to nothing; where new rows are like the hard half of the
// held-out rows, weights give the coverage that they ask for.
func TestWeightedRadius(t *testing.T) {
	t.Parallel()
	errs := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	ones := slices.Repeat([]float64{1}, len(errs))
	for _, coverage := range []float64{0.5, 0.8, 0.9, 0.95} {
		plain, _ := Radius(errs, coverage)
		if got, err := WeightedRadius(errs, ones, coverage); err != nil || math.Abs(got/plain-1) > 0.01 {
			t.Errorf("coverage %v: %v (%v), unweighted %v", coverage, got, err, plain)
		}
	}
	const samples, rows, coverage = 2000, 100, 0.9
	draw, held := rng.New(2, "weighted conformal"), 0
	for range samples {
		list := make([]Outcome, rows)
		for i := range list {
			list[i] = Outcome{Row: i, Fold: i % 5, Residual: draw.NormFloat64(), Relative: 1, Weight: 0.4}
			if i%2 == 0 {
				list[i].Residual, list[i].Weight = 3*list[i].Residual, 1.6
			}
		}
		_, scores, weights := LearnWeighted(list, 5, 1)
		r, err := WeightedRadius(scores, weights, coverage)
		if err != nil {
			t.Fatal(err)
		}
		size := 1.0
		if draw.Float64() < 0.8 { // four of five new rows are hard
			size = 3
		}
		if math.Abs(size*draw.NormFloat64()) <= r {
			held++
		}
	}
	if share := float64(held) / samples; share < 0.88 || share > 0.93 {
		t.Errorf("%.3f of the intervals contain the label, want %v", share, coverage)
	}
}
