package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestLikelihoodGradient compares the gradient with differences, with a length scale
// for each input and with one for all.
func TestLikelihoodGradient(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{30, 7} {
		rows, labels := matrix.New[float64](n, 3), make([]float64, n)
		for i := range rows.Data {
			rows.Data[i] = r.NormFloat64()
		}
		for i := range labels {
			labels[i] = math.Sin(rows.At(i, 0)) + 0.3*rows.At(i, 1) + 0.1*r.NormFloat64()
		}
		for _, shape := range []Shape{RBF, Matern52} {
			l, err := newLikelihood(t.Context(), shape, rows, labels)
			if err != nil {
				t.Fatal(err)
			}
			u := []float64{0.2, 0.1, -0.2, 0.3}[:l.variables()]
			got, unused := make([]float64, len(u)), make([]float64, len(u))
			value := func(u []float64) float64 {
				f, err := l.evaluate(unused, u)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			if _, err := l.evaluate(got, u); err != nil {
				t.Fatal(err)
			}
			const h = 1e-5
			for i := range u {
				was := u[i]
				u[i] = was + h
				above := value(u)
				u[i] = was - h
				below := value(u)
				u[i] = was
				if want := (above - below) / (2 * h); math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("%d rows, shape %d: slope %d is %v, not %v", n, shape, i, got[i], want)
				}
			}
		}
	}
}
