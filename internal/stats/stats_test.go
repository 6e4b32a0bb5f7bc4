package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// must compares the bits of two numbers.
func must(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestSamples(t *testing.T) {
	draw := rng.New(1, "samples")
	for n := range 40 {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = 1e3+draw.NormFloat64(), draw.NormFloat64()
		}
		must(t, "the mean", Mean(x), stat.Mean(x, nil))
		mean, deviation := MeanStdDev(x)
		wantMean, wantDeviation := stat.MeanStdDev(x, nil)
		must(t, "the mean", mean, wantMean)
		must(t, "the deviation", deviation, wantDeviation)
		alpha, beta := LinearRegression(x, y)
		wantAlpha, wantBeta := stat.LinearRegression(x, y, nil, false)
		must(t, "alpha", alpha, wantAlpha)
		must(t, "beta", beta, wantBeta)
		must(t, "the correlation", Correlation(x, y), stat.Correlation(x, y, nil))
	}
}

func TestDistributions(t *testing.T) {
	for _, p := range []float64{1e-9, 0.025, 0.25, 0.5, 0.75, 0.95, 0.975, 1 - 1e-9} {
		must(t, "a normal quantile", NormalQuantile(p), distuv.UnitNormal.Quantile(p))
		for _, nu := range []float64{1, 1.5, 3.25, 19, 1e4} {
			got, want := StudentsT{Sigma: 2.5, Nu: nu}, distuv.StudentsT{Sigma: 2.5, Nu: nu}
			must(t, "a quantile of t", got.Quantile(p), want.Quantile(p))
		}
		for k := -1; k <= 30; k++ {
			must(t, "a binomial probability", BinomialCDF(k, 29, p), distuv.Binomial{N: 29, P: p}.CDF(float64(k)))
		}
	}
	for _, x := range []float64{-1e9, -3, -0.1, 0, 0.1, 3, 1e9} {
		for _, nu := range []float64{1, 1.5, 3.25, 19, 1e4} {
			must(t, "a tail of t", StudentsT{Sigma: 2.5, Nu: nu}.Survival(x), distuv.StudentsT{Sigma: 2.5, Nu: nu}.Survival(x))
		}
	}
}
