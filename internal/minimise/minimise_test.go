package minimise_test

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/minimise"
)

func TestBFGS(t *testing.T) {
	t.Parallel()
	valley := func(gradient, x []float64) (float64, error) { // of Rosenbrock
		a, b := 1-x[0], x[1]-x[0]*x[0]
		gradient[0], gradient[1] = -2*a-400*x[0]*b, 200*b
		return a*a + 100*b*b, nil
	}
	x, _, value, err := minimise.BFGS(valley, []float64{-1.2, 1}, minimise.MostSteps)
	if err != nil || math.Abs(x[0]-1) > 1e-3 || math.Abs(x[1]-1) > 2e-3 || value > 1e-6 {
		t.Errorf("the minimum is at %v, error %v; want 1, 1", x, err)
	}
}
