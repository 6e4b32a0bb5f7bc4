package benchmark

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestPairedInterval: differences 0.1, 0.2, 0.3 and 0.4 have mean 0.25 and deviation
// √(0.05/3); t(0.95, 3) is 2.3533634; with 1/4 + 20/80 the factor is √0.5.
func TestPairedInterval(t *testing.T) {
	t.Parallel()
	got := pairedInterval([]float64{0.1, 0.2, 0.3, 0.4}, SplitSizes{Test: 20, Learn: 80}, 0.9)
	half := 2.3533634 * math.Sqrt(0.05/3) * math.Sqrt(0.5)
	for _, c := range []struct{ got, want float64 }{{got.Value, 0.25}, {got.Low, 0.25 - half}, {got.High, 0.25 + half}} {
		if math.Abs(c.got-c.want) > 1e-7 {
			t.Errorf("%+v, want 0.25 ± %v", got, half)
		}
	}
	if one := pairedInterval([]float64{0.1}, SplitSizes{Test: 20, Learn: 80}, 0.9); one.Value != 0.1 ||
		!math.IsInf(one.Low, -1) || !math.IsInf(one.High, 1) {
		t.Errorf("one difference: %+v", one)
	}
	if same := pairedInterval([]float64{0, 0, 0}, SplitSizes{Test: 20, Learn: 80}, 0.9); same != (Interval{}) {
		t.Errorf("equal differences: %+v", same)
	}
}

// TestPairedIntervalCovers draws tables of rows with an effect each, and splits of each
// table. The interval must contain the mean effect of all tables as often as it claims;
// one that takes the splits as independent contains it far less often.
func TestPairedIntervalCovers(t *testing.T) {
	t.Parallel()
	const tables, rows, splits = 4000, 100, 10
	sizes := SplitSizes{Test: rows / 5, Learn: rows - rows/5}
	stream := rng.New(1, "coverage")
	corrected, naive := 0, 0
	for range tables {
		effects := make([]float64, rows)
		for i := range effects {
			effects[i] = 0.3 + stream.NormFloat64()
		}
		differences := make([]float64, splits)
		for j := range differences {
			for _, row := range stream.Perm(rows)[:sizes.Test] {
				differences[j] += effects[row] / float64(sizes.Test)
			}
		}
		covers := func(i Interval) int {
			if i.Low <= 0.3 && 0.3 <= i.High {
				return 1
			}
			return 0
		}
		corrected += covers(pairedInterval(differences, sizes, 0.9))
		naive += covers(pairedInterval(differences, SplitSizes{Learn: 1}, 0.9))
	}
	if share := float64(corrected) / tables; share < 0.88 || share > 0.95 {
		t.Errorf("the intervals at 90 %% contain the true value in %.3f of the tables", share)
	}
	if share := float64(naive) / tables; share > 0.75 {
		t.Errorf("without the correction they contain it in %.3f of the tables: the test shows nothing", share)
	}
}

func TestReductionText(t *testing.T) {
	t.Parallel()
	reduction := func(ratio float64) float64 { return -math.Log(ratio) }
	for _, c := range []struct {
		value, low, high float64 // ratios of errors
		want             string
	}{
		{0.88, 0.95, 0.81, "12 % lower (90 % interval 5 to 19 %)"},
		{1.2, 1.5, 1.05, "20 % higher (90 % interval 5 to 50 %)"},
		{0.97, 1.04, 0.9, "3 % lower (90 % interval 4 % higher to 10 % lower)"},
		{0.996, 1.004, 0.99, "0.4 % lower (90 % interval 0.4 % higher to 1 % lower)"},
		{0.5, 3, 0.001, "50 % lower (90 % interval 3.0 times as high to over 99 % lower)"},
		{3, 2638, 2.5, "3.0 times as high (90 % interval 2.5 times as high to over 10 times as high)"},
		{1, math.Inf(1), 0, "0.0 % higher (90 % interval over 10 times as high to over 99 % lower)"},
	} {
		interval := Interval{reduction(c.value), reduction(c.low), reduction(c.high)}
		if got := ReductionText(interval, 0.9).String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
