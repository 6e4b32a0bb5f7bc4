package benchmark

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/stats"
)

// powerResults makes learning curves RMSE = labels^−b. A method is as good as
// random selection with ahead times the labels, up to some wobble between splits.
func powerResults(splits int, ahead map[string]float64, wobble float64) (results Results) {
	const b = 0.5
	for split := range splits {
		for _, spec := range []string{"random", "lcmd-tp:linear", "maxdist-p:linear"} {
			for round, labels := range []int{100, 200, 400, 800} {
				factor := 1.0
				if round > 0 && spec != "random" {
					factor = ahead[spec] * math.Exp(wobble*float64(split%3-1))
				}
				results = append(results, Round{
					Run: Run{Spec: spec, Split: split, Rounds: 3}, Round: round, Labels: labels,
					Test: stats.Metrics{RMSE: math.Pow(float64(labels)*factor, -b), MAE: 0.1},
				})
			}
		}
	}
	return results
}

var fifth = SplitSizes{Test: 1, Learn: 4}

func TestCompare(t *testing.T) {
	t.Parallel()
	c, err := Compare(powerResults(6, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 0.8}, 0), fifth, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	lcmd, maxdist := c.Methods[0], c.Methods[1]
	for _, n := range []struct {
		name      string
		got, want float64
	}{
		{"fall", c.Fall.Value, 0.5 * math.Log(8)}, {"reduction", lcmd.Reduction.Value, 0.5 * math.Log(2)},
		{"labels", lcmd.Labels.Value, 400}, {"least labels", lcmd.Labels.Low, 400}, {"most labels", lcmd.Labels.High, 400},
		{"reduction of a worse method", maxdist.Reduction.Value, 0.5 * math.Log(0.8)},
	} {
		if math.Abs(n.got-n.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", n.name, n.got, n.want)
		}
	}
	if !math.IsNaN(maxdist.Labels.Value) {
		t.Errorf("a worse method reaches the error of random with %v labels", maxdist.Labels)
	}
	if got := c.LabelsText(maxdist).String(); got != "more than 800 labels, beyond the range of the replay" {
		t.Error(got)
	}
}

// TestCompareIntervals: Student's interval with the correction, at the confidence for each
// of two methods.
func TestCompareIntervals(t *testing.T) {
	t.Parallel()
	c, err := Compare(powerResults(6, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 1}, 0.3), fifth, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	const quantile = 2.5705818356363146    // Student's t, 5 degrees of freedom, 0.975
	spread := 0.5 * 0.3 * math.Sqrt(4.0/5) // of the reductions 0.5·(log 2 + 0.3·{-1, 0, 1, -1, 0, 1})
	half := quantile * spread * math.Sqrt(1.0/6+0.25)
	if got := c.Methods[0].Reduction; math.Abs(got.High-got.Value-half) > 1e-9 || math.Abs(got.Value-got.Low-half) > 1e-9 {
		t.Errorf("reduction %+v, want ± %v", got, half)
	}
	// In round 2 lcmd has the error that random has at last, ± half: the limits lie
	// between rounds, at 400 labels times or divided by exp(half/b).
	at := c.Methods[0].Labels
	for _, n := range []struct{ got, want float64 }{{at.Value, 400}, {at.Low, 400 * math.Exp(-half/0.5)},
		{at.High, 400 * math.Exp(half/0.5)}} {
		if math.Abs(n.got-n.want) > 1e-6 {
			t.Errorf("labels %+v, want %v", at, n.want)
		}
	}
}

// TestCrossing: what counts is from where on a line stays at most zero.
func TestCrossing(t *testing.T) {
	t.Parallel()
	c := &curves{labels: []int{100, 200, 400}}
	for _, n := range []struct {
		above []float64
		want  float64
	}{
		{[]float64{1, -1, -2}, 100 * math.Sqrt2}, {[]float64{-1, 1, -1}, 200 * math.Sqrt2}, {[]float64{3, 1, 0}, 400},
		{[]float64{-1, -1, -1}, 100}, {[]float64{1, -1, 1}, math.NaN()},
	} {
		if got := c.crossing(n.above); math.Abs(got-n.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(n.want) {
			t.Errorf("%v: %v, want %v", n.above, got, n.want)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	all := powerResults(2, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 1}, 0)
	infinite := powerResults(2, map[string]float64{"lcmd-tp:linear": 0, "maxdist-p:linear": 1}, 0)
	for name, results := range map[string]Results{"nothing": nil, "a round is missing": all[:len(all)-1],
		"no start": all[1:], "an infinite error": infinite, "one split": all[:12],
		"random alone": slices.Concat(all[:4], all[12:16])} {
		if _, err := Compare(results, fifth, 0.9); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
