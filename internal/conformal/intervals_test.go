package conformal

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// held makes outcomes in five folds: errors of the given size for a predicted
// deviation that varies by a factor of up to twenty.
func held(n int, size func(relative, normal float64) float64) []Outcome {
	stream := rng.New(4, "outcomes")
	list := make([]Outcome, n)
	for i := range list {
		relative := math.Exp(1.5 * (2*stream.Float64() - 1))
		list[i] = Outcome{Row: i, Fold: i % 5, Residual: size(relative, stream.NormFloat64()), Relative: relative}
	}
	return list
}

func TestChooseFloor(t *testing.T) {
	t.Parallel()
	if floor, constant,
		adaptive := chooseFloor(held(200, func(r, z float64) float64 { return r * z })); floor != floors[0] ||
		!(adaptive < 0.9*constant) {
		t.Errorf("errors in proportion to the deviation: floor %v, scores %v and %v", floor, constant, adaptive)
	}
	if floor, constant,
		adaptive := chooseFloor(held(200, func(_, z float64) float64 { return z })); floor != constantLength ||
		!(adaptive > constant) {
		t.Errorf("errors of one size: floor %v, scores %v and %v", floor, constant, adaptive)
	}
	if floor, _, _ := chooseFloor(held(200, func(r, z float64) float64 { return z / r })); floor != constantLength {
		t.Errorf("errors that fall with the deviation: floor %v", floor)
	}
	if floor, constant, adaptive := chooseFloor(held(10, func(r, z float64) float64 { return r * z })); floor != 0 ||
		constant != 0 || adaptive != 0 {
		t.Errorf("ten rows: floor %v, scores %v and %v", floor, constant, adaptive)
	}
}

// TestIntervalScoreByHand: two folds of ten rows with errors 1 … 10, radius 10 at 0.9.
func TestIntervalScoreByHand(t *testing.T) {
	t.Parallel()
	var list []Outcome
	for fold := range 2 {
		for i := range 10 {
			list = append(list, Outcome{Fold: fold, Residual: float64(i+1) * float64(1+fold), Relative: 1})
		}
	}
	scores := intervalScores(list, constantLength)
	// Rows of fold 0 have the radius 20 of fold 1; those of fold 1 the radius 10, which
	// 12, 14, 16, 18 and 20 exceed by 30 in all.
	if got, want := mean(scores[:10]), 40.0; got != want {
		t.Errorf("fold 0: %v, want %v", got, want)
	}
	if got, want := mean(scores[10:]), 20+20*3.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("fold 1: %v, want %v", got, want)
	}
}
