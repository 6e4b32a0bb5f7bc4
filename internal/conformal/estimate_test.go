package conformal

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// TestRMSEIntervalHolds draws errors from populations with a known RMSE: normal,
// double exponential, Student with 5 degrees of freedom, one row in ten three times as
// hard, and a scale that varies from row to row. Nine of ten intervals hold the RMSE.
func TestRMSEIntervalHolds(t *testing.T) {
	t.Parallel()
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	stream := rng.New(1, "populations")
	normal := stream.NormFloat64
	for _, population := range []struct {
		name string
		draw func() float64
		rmse float64
	}{
		{"normal", normal, 1},
		{"double exponential", func() float64 { return math.Log(1-stream.Float64()) * float64(1-2*stream.IntN(2)) },
			math.Sqrt2},
		{"Student", func() float64 {
			sum := 0.0
			for range 5 {
				sum += math.Pow(normal(), 2)
			}
			return normal() / math.Sqrt(sum/5)
		}, math.Sqrt(5.0 / 3)},
		{"hard rows", func() float64 {
			if stream.Float64() < 0.1 {
				return 3 * normal()
			}
			return normal()
		}, math.Sqrt(1.8)},
		{"varying scale", func() float64 { return normal() * math.Exp(normal()/2) }, math.Exp(0.25)},
	} {
		for _, n := range []int{LeastErrors, 25, 50, 200} {
			held := 0
			for range rounds {
				errors := make([]float64, n)
				for i := range errors {
					errors[i] = population.draw()
				}
				e, err := EstimateRMSE(errors)
				if err != nil || !(e.Low < e.RMSE && e.RMSE < e.High) || e.Rows != n {
					t.Fatalf("%+v, %v", e, err)
				}
				if e.Low <= population.rmse && population.rmse <= e.High {
					held++
				}
			}
			share := float64(held) / float64(rounds)
			t.Logf("%s, %d rows: %.3f", population.name, n, share)
			if noise := 2 * math.Sqrt(0.09/float64(rounds)); share < rmseCoverage-noise {
				t.Errorf("%s, %d rows: %.3f of the intervals hold the RMSE", population.name, n, share)
			}
		}
	}
}

func TestEstimateRMSE(t *testing.T) {
	t.Parallel()
	if _, err := EstimateRMSE(make([]float64, LeastErrors-1)); err == nil {
		t.Error("seven errors suffice")
	}
	if e, err := EstimateRMSE(make([]float64, 20)); err != nil || e.RMSE != 0 || e.Low != 0 || e.High != 0 {
		t.Errorf("no errors at all: %+v, %v", e, err)
	}
	same := make([]float64, 50)
	for i := range same {
		same[i] = 3
	}
	if e, err := EstimateRMSE(same); err != nil || math.Abs(e.RMSE-3) > 1e-12 || !(e.Low < 2.6 && e.High > 3.4) {
		t.Errorf("errors of one size: %+v, %v", e, err)
	}
	// From tables of Student's distribution.
	for freedom, want := range map[int]float64{7: 2.365, 10: 2.228, 30: 2.042, 1000: 1.962} {
		if got := studentQuantile(freedom); math.Abs(got-want) > 2e-3 {
			t.Errorf("%d degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
}
