package transform_test

import (
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// rootMeanSquare is the difference between two kernels on the same rows, over that many pairs.
func rootMeanSquare[T matrix.Float](t *testing.T, a, b kernel.Kernel[T], rows matrix.Dense[T]) float64 {
	t.Helper()
	grams := [2]matrix.Dense[T]{}
	for i, k := range []kernel.Kernel[T]{a, b} {
		grams[i] = matrix.New[T](rows.Rows, rows.Rows)
		if err := k.Cross(t.Context(), grams[i], rows, rows); err != nil {
			t.Fatal(err)
		}
	}
	sum := 0.0
	for i, v := range grams[0].Data {
		d := float64(v) - float64(grams[1].Data[i])
		sum += d * d / float64(len(grams[0].Data))
	}
	return math.Sqrt(sum)
}

// TestRandomFourierConverges: the error of n features falls like 1/√n, and the variance is exact.
func TestRandomFourierConverges(t *testing.T) {
	t.Parallel()
	rows := normalRows(40, 4)
	matern := must(kernels.NewStationary[float64](kernel.Stationary{Shape: kernel.Matern52, Variance: 2,
		Lengths: []float64{1, 2, 0.5, math.MaxFloat64}}))
	rbf := must(kernels.NewStationary[float64](kernel.Stationary{Shape: kernel.RBF, Variance: 0.5,
		Lengths: []float64{3, 1, 1, 1}}))
	laplace := must(kernels.NewLaplace[float64](4, 0.8))
	for name, test := range map[string]struct {
		k        kernel.Kernel[float64]
		variance float64
	}{
		"matern": {matern, 2}, "rbf": {rbf, 0.5}, "laplace": {laplace, 1},
		"scaled": {must(transform.ScaleBy(matern, 3)), 18},
		"sum":    {must(transform.Ensemble(matern, must(transform.ScaleBy(rbf, 2)), laplace)), 5},
	} {
		for _, n := range []int{64, 1024, 16384} {
			m := must(transform.RandomFourier(test.k, n, transform.Seeded(5, "rff")))
			// A pair of features errs by v·cos, whose variance is at most v²/2 and that of its mean 1/n.
			if got, most := rootMeanSquare(t, m, test.k, rows), 1.5*test.variance/math.Sqrt(float64(n)); got > most || got == 0 {
				t.Errorf("%s: %d features err by %.3g, want at most %.3g", name, n, got, most)
			}
			diag := make([]float64, rows.Rows)
			if err := m.Diag(t.Context(), diag, rows); err != nil {
				t.Fatal(err)
			}
			for i, v := range diag {
				if math.Abs(v-test.variance) > 1e-12*test.variance {
					t.Errorf("%s: the variance of row %d is %v, not %v", name, i, v, test.variance)
				}
			}
		}
	}
}

// TestRandomFourierInBothPrecisions: float32 has the features of float64, up to rounding.
func TestRandomFourierInBothPrecisions(t *testing.T) {
	t.Parallel()
	s := kernel.Stationary{Shape: kernel.Matern52, Variance: 2, Lengths: []float64{1, 2, 0.5}}
	rows := matrix.Converted[float32](normalRows(30, 3))
	single := must(transform.RandomFourier(must(kernels.NewStationary[float32](s)), 100, transform.Seeded(5, "rff")))
	double := must(transform.RandomFourier(must(kernels.NewStationary[float64](s)), 100, transform.Seeded(5, "rff")))
	kerneltest.Conform(t, single, rows, 1e-5)
	a := must(kernels.FeatureMatrix[float32](t.Context(), single, rows))
	b := must(kernels.FeatureMatrix[float64](t.Context(), double, matrix.Converted[float64](rows)))
	for i, v := range b.Data {
		if math.Abs(v-float64(a.Data[i])) > 1e-5 {
			t.Fatalf("feature %d is %v in float32, %v in float64", i, a.Data[i], v)
		}
	}
}

func TestRandomFourierRefuses(t *testing.T) {
	t.Parallel()
	matern := must(kernels.NewStationary[float64](kernel.Stationary{Variance: 1, Lengths: []float64{1, 1}}))
	linear := kernel.Kernel[float64](kernel.NewLinear[float64](2))
	for _, k := range []kernel.Kernel[float64]{linear, must(transform.Ensemble(matern, linear))} {
		if _, err := transform.RandomFourier(k, 10, transform.Seeded(1, "rff")); err == nil {
			t.Error("a kernel that is not stationary is accepted")
		}
	}
	for _, n := range []int{-2, 0, 1, 7} {
		if _, err := transform.RandomFourier(matern, n, transform.Seeded(1, "rff")); err == nil {
			t.Errorf("%d features are accepted", n)
		}
	}
}

// TestLeafSketchConverges: the sketch errs as little as one of the same features by normal numbers.
func TestLeafSketchConverges(t *testing.T) {
	t.Parallel()
	rows := normalRows(40, 4)
	leaf := must(kernels.NewLeaf[float64](kerneltest.NewStumps(4, 50, 6)))
	plain := must(kernel.NewFunc(4, leaf.Dim(), func(dst, rows matrix.Dense[float64]) error {
		return leaf.Features(t.Context(), dst, rows)
	}))
	mean := func(m kernel.FeatureMap[float64], p int) float64 {
		const draws = 20
		sum := 0.0
		for seed := range draws {
			sum += rootMeanSquare[float64](t, must(transform.Sketch(m, p, transform.Seeded(uint64(seed), "sketch"),
				transform.Paper)), leaf, rows) / draws
		}
		return sum
	}
	for _, p := range []int{33, 512} {
		got, want := mean(leaf, p), mean(plain, p)
		t.Logf("%d features: %.4f, by normal numbers %.4f", p, got, want)
		if got > 1.05*want {
			t.Errorf("%d features err by %.4f, those of normal numbers by %.4f", p, got, want)
		}
	}
}
