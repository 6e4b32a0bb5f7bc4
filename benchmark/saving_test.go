package benchmark

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/network"
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
					Test: network.Metrics{RMSE: math.Pow(float64(labels)*factor, -b), MAE: 0.1},
				})
			}
		}
	}
	return results
}

func TestCompare(t *testing.T) {
	s, err := Compare(powerResults(6, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 0.8}, 0), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	lcmd, maxdist := s.Methods[0], s.Methods[1]
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"slope", s.Slope.Value, 0.5}, {"gain", lcmd.Gain.Value, 0.5 * math.Log(2)}, {"share", lcmd.Share.Value, 0.5}, {"low", lcmd.Share.Low, 0.5}, {"high", lcmd.Share.High, 0.5},
		{"share of a worse method", maxdist.Share.Value, 1 - 1/0.8},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if !lcmd.Reached || maxdist.Reached {
		t.Errorf("%+v, %+v", lcmd, maxdist)
	}
}

// TestCompareIntervals: the jackknife of a mean gives Student's interval, at the
// confidence level for each of two methods.
func TestCompareIntervals(t *testing.T) {
	s, err := Compare(powerResults(6, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 1}, 0.3), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	const quantile = 3.1633814497486       // Student's t, 5 degrees of freedom, 0.9875
	spread := 0.5 * 0.3 * math.Sqrt(4.0/5) // of the gains 0.5·(log 2 + 0.3·{-1, 0, 1, -1, 0, 1})
	want := quantile * spread / math.Sqrt(6)
	if got := s.Methods[0].Gain; math.Abs(got.High-got.Value-want) > 1e-9 || math.Abs(got.Value-got.Low-want) > 1e-9 {
		t.Errorf("gain %+v, want ± %v", got, want)
	}
	if share := s.Methods[1].Share; !(share.Low < 0 && share.High > 0) {
		t.Errorf("a method as good as random saves %+v", share)
	}
}

func TestCompareRefuses(t *testing.T) {
	all := powerResults(2, map[string]float64{"lcmd-tp:linear": 2, "maxdist-p:linear": 1}, 0)
	for name, results := range map[string]Results{"nothing": nil, "a round is missing": all[:len(all)-1], "no start": all[1:]} {
		if _, err := Compare(results, 0.95); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	one, err := Compare(all[:12], 0.95)
	if err != nil || !math.IsNaN(one.Methods[0].Share.Low) || one.Methods[0].Share.Value == 0 {
		t.Errorf("one split: %+v, %v", one, err)
	}
}
