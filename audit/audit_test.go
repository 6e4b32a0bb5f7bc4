package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// TestTail finds the distribution again that scores were drawn from, also where a
// twentieth of them is far off.
func TestTail(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, nu := range []float64{3, 8, 100} {
		for _, wrong := range []float64{0, 0.05} {
			scores := make([]float64, 20000)
			for i := range scores {
				scores[i] = 2 * math.Abs(student(r, nu))
				if r.Float64() < wrong {
					scores[i] += 30
				}
			}
			slices.Sort(scores)
			got := fitTail(scores)
			if wrong == 0 && (math.Abs(got.Sigma/2-1) > 0.05 || math.Abs(1/got.Nu-1/nu) > 0.05) {
				t.Errorf("ν = %v: found %.3g and scale %.3g", nu, got.Nu, got.Sigma)
			}
			if got.Sigma < 1.8 || got.Sigma > 2.3 {
				t.Errorf("ν = %v, %v wrong: scale %.3g", nu, wrong, got.Sigma)
			}
		}
	}
}

func student(r *rand.Rand, nu float64) float64 {
	chi := 0.0
	for range int(nu) {
		chi += math.Pow(r.NormFloat64(), 2)
	}
	return r.NormFloat64() / math.Sqrt(chi/nu)
}

var _ = fmt.Sprint
var _ = os.Stdout
var _ matrix.Dense[float64]
var _ network.Metrics
