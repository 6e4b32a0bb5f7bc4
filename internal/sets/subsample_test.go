package sets

import (
	"math"
	"testing"
)

// TestSubsampleIsUniform counts how often each of 20 rows is among the 5
// chosen: equally often, up to five standard deviations.
func TestSubsampleIsUniform(t *testing.T) {
	t.Parallel()
	const rows, most, draws = 20, 5, 20_000
	var stays [rows]int
	for seed := range uint64(draws) {
		s := NewSubsample(rows, most, seed)
		total := 0
		for row := range rows {
			if s.Next() {
				stays[row]++
				total++
			}
		}
		if total != most || s.Next() {
			t.Fatalf("%d rows were kept", total)
		}
	}
	const p = float64(most) / rows
	for row, n := range stays {
		if off := math.Abs(float64(n)-p*draws) / math.Sqrt(p*(1-p)*draws); off > 5 {
			t.Errorf("row %d was kept %d times out of %d", row, n, draws)
		}
	}
}

func TestSubsampleKeepsAllIfFew(t *testing.T) {
	t.Parallel()
	s := NewSubsample(3, 5, 1)
	for row := range 3 {
		if !s.Next() {
			t.Errorf("row %d was not kept", row)
		}
	}
	if s.Next() {
		t.Error("a row beyond the last was kept")
	}
}

// TestSubsampleIsFrozen: a prepared data set has the same rows in every version.
func TestSubsampleIsFrozen(t *testing.T) {
	t.Parallel()
	s := NewSubsample(1000, 8, 12345)
	var rows []int
	for row := range 1000 {
		if s.Next() {
			rows = append(rows, row)
		}
	}
	mustEqual(t, "rows", rows, []int{80, 211, 296, 303, 493, 577, 617, 841})
}
