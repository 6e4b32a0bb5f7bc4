package budget

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLeft: costs that are within what others leave of a budget are within it together, in exact arithmetic, and dearer
// ones are not.
func TestLeft(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		unit, rows := math.Pow(10, float64(r.IntN(9))), 1+r.IntN(20)
		var before, after Costs
		whole := 0
		for i := range 2 * rows {
			cost := r.IntN(100_000)
			whole += cost
			if i < rows {
				before.Add(float64(cost) / unit)
			} else {
				after.Add(float64(cost) / unit)
			}
		}
		within := func(budget int) bool {
			given := float64(budget) / unit
			return Within(before.Sum(), given) && Within(after.Sum(), Left(given, before.Sum()))
		}
		if !within(whole) || !within(whole+1) || within(whole-1) {
			t.Fatalf("%v and %v of %v: %v, %v, %v", before.Sum(), after.Sum(), float64(whole)/unit, within(whole),
				within(whole+1), within(whole-1))
		}
	}
	if Left(0.5, 0) != 0.5 || Left(0.3, 0.1+0.2) != 0 &&
		!Within(0, Left(0.3, 0.1+0.2)) {
		t.Error("nothing spent, or all")
	}
}
