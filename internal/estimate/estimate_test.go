package estimate

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// population draws errors with an RMSE of 1.
type population struct {
	name     string
	draw     func(*rng.Stream) float64
	mae, q95 float64
}

var populations = []population{
	{"normal", (*rng.Stream).NormFloat64, math.Sqrt(2 / math.Pi), 1.959964},
	{"double exponential", func(s *rng.Stream) float64 {
		return math.Log(1-s.Float64()) * float64(1-2*s.IntN(2)) / math.Sqrt2
	}, 1 / math.Sqrt2, math.Log(20) / math.Sqrt2},
	{"Student, 5 degrees of freedom", func(s *rng.Stream) float64 {
		sum := 0.0
		for range 5 {
			sum += math.Pow(s.NormFloat64(), 2)
		}
		return s.NormFloat64() / math.Sqrt(sum/3)
	}, 0.9490 * math.Sqrt(0.6), 2.570582 * math.Sqrt(0.6)},
}

// simulate draws the predictions of a campaign: 16 audit rows in each batch of 128
// after 256 labels, and rows that each network holds out.
func simulate(s *rng.Stream, p population, slope float64, batches, heldOut int) (audited []Audited, labels int) {
	row := 0
	for batch := range batches + 1 {
		labels = 256 + 128*batch
		rows := 16
		if batch == batches {
			rows = heldOut
		}
		for range rows {
			e := p.draw(s) * math.Pow(float64(labels), slope)
			audited = append(audited, Audited{Row: int64(row), Labels: labels, Prediction: 5 + e, Label: 5})
			row++
		}
	}
	return audited, labels
}

// TestIntervalsHold draws errors along known curves: nine of ten intervals hold the
// truth, within what chance explains.
func TestIntervalsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many campaigns")
	}
	t.Parallel()
	const rounds = 40
	all, campaigns := map[string]int{}, 0
	for i, p := range populations {
		for j, slope := range []float64{0, -0.5} {
			for k, batches := range []int{1, 8} {
				held := map[string]int{}
				for round := range rounds {
					stream := rng.New(uint64(round), "simulated campaigns", uint64(i), uint64(j), uint64(k))
					audited, labels := simulate(stream, p, slope, batches, 20)
					c, err := FitCurve(audited, labels)
					if err != nil {
						t.Fatal(err)
					}
					rmse := math.Pow(float64(labels), slope)
					goal := rmse * math.Pow(1.5, slope) // with half as many labels again
					for _, one := range []struct {
						name  string
						truth float64
						in    Interval
					}{
						{"rmse", rmse, c.RMSE}, {"mae", p.mae * rmse, c.MAE}, {"q95", p.q95 * rmse, c.Q95}, {"slope", slope, c.Slope},
						{"forecast", 1.5 * float64(labels), c.labelsFor(RMSE, goal)},
					} {
						if one.in.Low <= one.truth && one.truth <= one.in.High {
							held[one.name]++
						}
					}
				}
				t.Logf("%s, slope %v, %d batches: %v of %d", p.name, slope, batches, held, rounds)
				for name, n := range held {
					all[name] += n
					if n < leastHeld(rounds) {
						t.Errorf("%s, slope %v, %d batches: %d of %d intervals of the %s hold it", p.name, slope,
							batches, n, rounds, name)
					}
				}
				campaigns += rounds
			}
		}
	}
	t.Logf("all: %v of %d", all, campaigns)
	for name, n := range all {
		if n < leastHeld(campaigns) {
			t.Errorf("%d of %d intervals of the %s hold it", n, campaigns, name)
		}
	}
}

// leastHeld is how many of n intervals at least hold the truth, but for one time in a
// thousand.
func leastHeld(n int) int {
	return int(math.Ceil(float64(n) * (Coverage - 3*math.Sqrt(Coverage*(1-Coverage)/float64(n)))))
}

func TestFitCurveNeedsRandomRows(t *testing.T) {
	t.Parallel()
	audited, labels := simulate(rng.New(1, "few"), populations[0], -0.3, 0, LeastAudited)
	for i := range audited[1:] {
		audited[1+i].Label = math.NaN()
	}
	_, err := FitCurve(audited, labels)
	few := (*TooFewError)(nil)
	if !errors.As(err, &few) || few.Rows != 1 || few.Need != LeastAudited {
		t.Errorf("one label: %v", err)
	}
	for i := range audited {
		audited[i].Row, audited[i].Label = 7, 5
	}
	if _, err := FitCurve(audited, labels); !errors.As(err, &few) {
		t.Errorf("predictions for one row: %v", err)
	}
}

// TestGainMeter: random selection has a known curve, and the campaign is where it would
// need twice the labels.
func TestGainMeter(t *testing.T) {
	t.Parallel()
	const rounds, rows, slope = 25, 240, -0.4
	held := 0
	for round := range uint64(rounds) {
		stream := rng.New(round, "gain")
		audited, labels := simulate(stream, populations[1], slope, 6, 60)
		for i := range audited { // half the labels of random selection
			e := audited[i].Prediction - audited[i].Label
			audited[i].Prediction = audited[i].Label + e*math.Pow(2, slope)
		}
		current, err := FitCurve(audited, labels)
		if err != nil {
			t.Fatal(err)
		}
		random := make([]Random, rows)
		for i := range random {
			random[i] = Random{int64(i), 7}
		}
		networks := 0
		g, err := MeasureGain(t.Context(), random, current, func(_ context.Context, learn,
			predict []int64) ([]float64, error) {
			networks++
			for _, row := range predict {
				if slices.Contains(learn, row) {
					t.Fatalf("row %d is learnt from and predicted", row)
				}
			}
			p := make([]float64, len(predict))
			for i := range p {
				p[i] = 7 + populations[1].draw(stream)*math.Pow(float64(len(learn)), slope)
			}
			return p, nil
		})
		if err != nil || networks != 9 || g.Rows != rows || g.Labels != labels {
			t.Fatalf("%v after %d networks: %+v", err, networks, g)
		}
		if g.Factor.Low <= 2 && 2 <= g.Factor.High {
			held++
		}
		if round == 0 {
			t.Log(g)
		}
	}
	t.Logf("%d of %d intervals hold the gain", held, rounds)
	if held < leastHeld(rounds) {
		t.Errorf("%d of %d intervals hold the gain", held, rounds)
	}
	few := (*TooFewError)(nil)
	if _, err := MeasureGain(t.Context(), make([]Random, leastRandom), nil, nil); !errors.As(err, &few) || few.Rows != 1 {
		t.Errorf("one row again and again: %v", err)
	}
}
