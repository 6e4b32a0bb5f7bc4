package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// exact is the tolerance for kernels in float64, relative to the largest entry.
const exact = 1e-10

// network returns the golden network "relu" or "silu".
func network(t testing.TB, act string) *kerneltest.Network[float64] {
	n := &kerneltest.Network[float64]{
		SigmaW:     golden.Scalar(t, act+"/sigma_w"),
		SigmaB:     golden.Scalar(t, act+"/sigma_b"),
		Activation: kerneltest.ReLU,
	}
	if act == "silu" {
		n.Activation = kerneltest.SiLU
	}
	for l := 1; l <= 3; l++ {
		n.Weights = append(n.Weights, golden.Matrix(t, fmt.Sprintf("%s/model0/W%d.npy", act, l)))
		n.Biases = append(n.Biases, golden.Vector(t, fmt.Sprintf("%s/model0/b%d.npy", act, l)))
	}
	return n
}

func trainAndPool(t testing.TB) (train, pool matrix.Dense[float64]) {
	return golden.Matrix(t, "X_train.npy"), golden.Matrix(t, "X_pool.npy")
}

func cross[T matrix.Float](t testing.TB, k kernel.Kernel[T], a, b matrix.Dense[T]) matrix.Dense[T] {
	t.Helper()
	dst := matrix.New[T](a.Rows, b.Rows)
	if err := k.Cross(t.Context(), dst, a, b); err != nil {
		t.Fatal(err)
	}
	return dst
}

func diag[T matrix.Float](t testing.TB, k kernel.Kernel[T], rows matrix.Dense[T]) []T {
	t.Helper()
	dst := make([]T, rows.Rows)
	if err := k.Diag(t.Context(), dst, rows); err != nil {
		t.Fatal(err)
	}
	return dst
}

func features[T matrix.Float](t testing.TB, m kernel.FeatureMap[T], rows matrix.Dense[T]) matrix.Dense[T] {
	t.Helper()
	dst, err := kernels.FeatureMatrix(t.Context(), m, rows)
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestGoldenGradient(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	for _, act := range []string{"relu", "silu"} {
		k := kernels.NewGrad(network(t, act))
		golden.MustMatch(t, act+", train", cross(t, k, train, train), golden.Matrix(t, act+"/k_grad_train_train.npy"), exact)
		golden.MustMatch(t, act+", train and pool", cross(t, k, train, pool),
			golden.Matrix(t, act+"/k_grad_train_pool.npy"), exact)
		golden.MustMatchVector(t, act+", diagonal", diag(t, k, pool), golden.Vector(t, act+"/k_grad_pool_diag.npy"), exact)
		golden.MustMatch(t, act+", features", features(t, k, train), golden.Matrix(t, act+"/grad_full_train.npy"), exact)
	}
}

func TestGoldenFactors(t *testing.T) {
	t.Parallel()
	train, _ := trainAndPool(t)
	for _, act := range []string{"relu", "silu"} {
		e, _ := kernels.Decompose(kernels.NewGrad(network(t, act)))
		parts, err := e.Embed(t.Context(), train)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"in1", "out1", "in2", "out2", "in3"} {
			golden.MustMatch(t, act+", "+name, parts[i], golden.Matrix(t, act+"/grad_"+name+"_train.npy"), exact)
		}
	}
}

func TestGoldenLastLayer(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	for _, act := range []string{"relu", "silu"} {
		k := lastLayers(t, network(t, act), 1)
		golden.MustMatch(t, act+", train", features(t, k, train), golden.Matrix(t, act+"/phi_ll_train.npy"), exact)
		golden.MustMatch(t, act+", pool", features(t, k, pool), golden.Matrix(t, act+"/phi_ll_pool.npy"), exact)
	}
}

func lastLayers[T matrix.Float](t testing.TB, taps kernel.Taps[T], n int) kernel.FeatureMap[T] {
	t.Helper()
	k, err := kernels.NewLastLayers(taps, n)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestGoldenInfiniteNetworksAndLaplace(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	plain := kernel.InfiniteNetwork{Inputs: 6, Layers: 3, SigmaW: 0.2}
	biased := kernel.InfiniteNetwork{Inputs: 6, Layers: 3, SigmaW: 1.3, SigmaB: 0.4}
	for name, k := range map[string]kernel.Kernel[float64]{
		"nngp":         must(kernels.NewNNGP[float64](plain)),
		"ntk":          must(kernels.NewNTK[float64](plain)),
		"nngp_wb":      must(kernels.NewNNGP[float64](biased)),
		"ntk_wb":       must(kernels.NewNTK[float64](biased)),
		"laplace":      must(kernels.NewLaplace[float64](6, 1)),
		"laplace_s0.3": must(kernels.NewLaplace[float64](6, 0.3)),
	} {
		folder := "kernel_" + name + "/"
		golden.MustMatch(t, name+", train and pool", cross(t, k, train, pool),
			golden.Matrix(t, folder+"train_pool.npy"), exact)
		golden.MustMatchVector(t, name+", diagonal", diag(t, k, pool), golden.Vector(t, folder+"pool_diag.npy"), exact)
		want := golden.Matrix(t, folder+"train_train.npy")
		got := cross(t, k, train, train)
		for i := range train.Rows {
			// The published Laplace kernel of a row with itself is NaN, or the
			// exponential of a rounding error.
			if d := want.At(i, i); !math.IsNaN(d) && math.Abs(got.At(i, i)-d) > lastBit*want.At(i, i) {
				t.Errorf("%s, train row %d with itself: %v, want %v", name, i, got.At(i, i), d)
			}
			want.Set(i, i, got.At(i, i))
		}
		golden.MustMatch(t, name+", train", got, want, exact)
	}
}

// lastBit bounds the error of a cross matrix where a row meets itself. There the
// correlation is 1; if rounding makes it the number just below 1, the arccosine
// of the tangent kernel and the root in the published Laplace kernel magnify
// that to the seventh digit.
const lastBit = 1e-7

// Diag has no such error.
func TestTangentKernelOfOneRow(t *testing.T) {
	t.Parallel()
	_, pool := trainAndPool(t)
	k := must(kernels.NewNTK[float64](kernel.InfiniteNetwork{Inputs: 6, Layers: 3, SigmaW: 0.2}))
	want := diag(t, kernel.NewLinear[float64](6), pool)
	for i, norm := range want {
		// ReLU halves the second moment: k_3 = σ_w⁶·|x|²/(4d), and Θ_3 is three times that.
		want[i] = 0.75 * math.Pow(0.2, 6) / 6 * norm
	}
	golden.MustMatchVector(t, "NTK, diagonal", diag(t, k, pool), want, 1e-14)
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
