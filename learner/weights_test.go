package learner

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// someErrors returns random errors of candidates, which they share in part.
func someErrors(seed uint64, rows, candidates int) matrix.Dense[float64] {
	r := rng.New(seed, "errors of candidates")
	e := matrix.New[float64](rows, candidates)
	for i := range rows {
		common := r.NormFloat64()
		for k := range candidates {
			e.Set(i, k, common+r.NormFloat64()*(0.5+float64(k)))
		}
	}
	return e
}

// TestWeightsAreBest: no weights on a fine grid have a lower objective.
func TestWeightsAreBest(t *testing.T) {
	for seed := range uint64(20) {
		e := someErrors(seed, 30, 3)
		w, g := leastSquares(e), gram(e)
		best := lowest(g)
		pull := shrinkage * g.At(best, best) / 30
		found := objective(g, w, best, pull)
		const steps = 200
		for a := range steps + 1 {
			for b := range steps + 1 - a {
				x := []float64{float64(a) / steps, float64(b) / steps, float64(steps-a-b) / steps}
				if v := objective(g, x, best, pull); v < found*(1-1e-9) {
					t.Fatalf("seed %d: weights %v have %v, weights %v only %v", seed, w, found, x, v)
				}
			}
		}
	}
}

// TestWeightsAreShares: weights are not negative and sum to 1, whatever the errors.
func TestWeightsAreShares(t *testing.T) {
	same := someErrors(3, 10, 4)
	for i := range 10 {
		for k := range 4 {
			same.Set(i, k, same.At(i, 0))
		}
	}
	perfect := someErrors(4, 10, 4)
	for i := range 10 {
		perfect.Set(i, 2, 0)
	}
	for name, e := range map[string]matrix.Dense[float64]{
		"random": someErrors(1, 50, 5), "fewer rows than candidates": someErrors(2, 2, 6), "one": someErrors(3, 5, 1),
		"the same errors": same, "a perfect one": perfect, "no errors": matrix.New[float64](5, 3),
	} {
		sum := 0.0
		for _, w := range blendWeights(e, nil) {
			if !(w >= 0) {
				t.Errorf("%s: a weight is %v", name, w)
			}
			sum += w
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the weights sum to %v", name, sum)
		}
	}
	if w := blendWeights(perfect, nil); w[2] != 1 {
		t.Errorf("a candidate without errors has weights %v", w)
	}
}

// TestLargeErrorsDoNotDecide: one row on which the better candidate is far off does not give the other one
// all the weight.
func TestLargeErrorsDoNotDecide(t *testing.T) {
	e := matrix.New[float64](50, 2)
	r := rng.New(1, "large errors")
	for i := range 50 {
		e.Set(i, 0, 0.1*r.NormFloat64())
		e.Set(i, 1, r.NormFloat64())
	}
	e.Set(7, 0, 20)
	e.Set(7, 1, 0)
	if plain, w := leastSquares(e), blendWeights(e, nil); plain[0] > 0.5 || w[0] < 0.7 {
		t.Errorf("the better candidate has the weight %v, and %v by least squares", w[0], plain[0])
	}
}
