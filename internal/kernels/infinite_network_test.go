package kernels_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

func gelu(z float64) (value, slope float64) {
	below := 0.5 * math.Erfc(-z/math.Sqrt2)
	return z * below, below + z*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
}

// Compare the quadrature of ReLU, which has a kink, with its closed form.
func TestQuadratureOfReLU(t *testing.T) {
	t.Parallel()
	rows := someRows[float64](20, 6)
	closed := kernel.InfiniteNetwork{Inputs: 6, Layers: 3, SigmaW: 1.3, SigmaB: 0.2}
	numeric := closed
	numeric.Activation = kerneltest.ReLU
	golden.MustMatch(t, "NNGP", cross(t, must(kernels.NewNNGP[float64](numeric)), rows, rows),
		cross(t, must(kernels.NewNNGP[float64](closed)), rows, rows), 3e-3)
	golden.MustMatch(t, "NTK", cross(t, must(kernels.NewNTK[float64](numeric)), rows, rows),
		cross(t, must(kernels.NewNTK[float64](closed)), rows, rows), 0.05)
}

// A linear function is a polynomial: its quadrature is exact, and the kernel of L
// layers is that of one layer, scaled L times.
func TestQuadratureOfALine(t *testing.T) {
	t.Parallel()
	rows := someRows[float64](20, 6)
	w := kernel.InfiniteNetwork{Inputs: 6, Layers: 3, SigmaW: 0.5,
		Activation: func(z float64) (float64, float64) { return z, 1 }}
	want := cross(t, kernel.NewLinear[float64](6), rows, rows)
	for i := range want.Data {
		want.Data[i] *= math.Pow(0.25, 3) / 6
	}
	golden.MustMatch(t, "NNGP", cross(t, must(kernels.NewNNGP[float64](w)), rows, rows), want, 1e-13)
	for i := range want.Data {
		want.Data[i] *= 3
	}
	golden.MustMatch(t, "NTK", cross(t, must(kernels.NewNTK[float64](w)), rows, rows), want, 1e-13)
}

// Compare with the double integral, computed by brute force, for one layer.
func TestQuadratureOfSmoothFunctions(t *testing.T) {
	t.Parallel()
	rows := someRows[float64](4, 3)
	for name, activation := range map[string]kernel.Activation{"silu": kerneltest.SiLU, "gelu": gelu, "tanh": tanh} {
		w := kernel.InfiniteNetwork{Inputs: 3, Layers: 2, SigmaW: 1, SigmaB: 0.5, Activation: activation}
		one := kernel.InfiniteNetwork{Inputs: 3, Layers: 1, SigmaW: 1, SigmaB: 0.5}
		first := cross(t, must(kernels.NewNNGP[float64](one)),
			rows, rows)
		nngp, ntk := matrix.New[float64](4, 4), matrix.New[float64](4, 4)
		for i := range 4 {
			for j := range 4 {
				value, slope := plainExpectation(activation, first.At(i, i), first.At(i, j), first.At(j, j))
				nngp.Set(i, j, value+0.25)
				ntk.Set(i, j, value+0.25+first.At(i, j)*slope)
			}
		}
		golden.MustMatch(t, name+", NNGP", cross(t, must(kernels.NewNNGP[float64](w)), rows, rows), nngp, 1e-7)
		golden.MustMatch(t, name+", NTK", cross(t, must(kernels.NewNTK[float64](w)), rows, rows), ntk, 1e-6)
	}
}

// plainExpectation sums over a fine grid, which converges fast for smooth
// functions that vanish at the edges.
func plainExpectation(f kernel.Activation, a, b, c float64) (value, slope float64) {
	const step, edge = 0.04, 9.0
	u := max(-1, min(b/math.Sqrt(a*c), 1))
	for p := -edge; p <= edge; p += step {
		x, xs := f(math.Sqrt(a) * p)
		for q := -edge; q <= edge; q += step {
			y, ys := f(math.Sqrt(c) * (u*p + math.Sqrt((1-u)*(1+u))*q))
			weight := step * step / (2 * math.Pi) * math.Exp(-(p*p+q*q)/2)
			value += weight * x * y
			slope += weight * xs * ys
		}
	}
	return value, slope
}

// In networks of large finite width with random weights, the mean over neurons is
// close to the expectation.
func TestRandomNetworksOfLargeWidth(t *testing.T) {
	t.Parallel()
	const width, inputs, networks = 384, 4, 128
	rows := someRows[float64](6, inputs)
	for name, activation := range map[string]kernel.Activation{"relu": kerneltest.ReLU, "silu": kerneltest.SiLU} {
		w := kernel.InfiniteNetwork{Inputs: inputs, Layers: 3, SigmaW: 1.2, SigmaB: 0.3, Activation: activation}
		if name == "relu" {
			w.Activation = nil
		}
		nngp, ntk := matrix.New[float64](6, 6), matrix.New[float64](6, 6)
		for i := range networks {
			one, two := randomNetwork(rows, w, activation, width, i)
			for j := range nngp.Data {
				nngp.Data[j] += one.Data[j] / networks
				ntk.Data[j] += two.Data[j] / networks
			}
		}
		golden.MustMatch(t, name+", NNGP", cross(t, must(kernels.NewNNGP[float64](w)), rows, rows), nngp, 0.03)
		golden.MustMatch(t, name+", NTK", cross(t, must(kernels.NewNTK[float64](w)), rows, rows), ntk, 0.03)
	}
}

// randomNetwork returns the two kernels of one random network with two hidden
// layers of the given width, as means over the neurons of each layer.
func randomNetwork(rows matrix.Dense[float64], w kernel.InfiniteNetwork, f kernel.Activation, width,
	index int) (nngp, ntk matrix.Dense[float64]) {
	stream := rng.New(3, "network", uint64(index))
	x := rows
	var theta matrix.Dense[float64]
	for l := range w.Layers {
		// The output of the next layer has the covariance of x̃.
		k := matrix.New[float64](rows.Rows, rows.Rows)
		linalg.Gemm(nil, k, w.SigmaW*w.SigmaW/float64(x.Cols), x, linalg.NoTrans, x, linalg.Trans, 0)
		for i := range k.Data {
			k.Data[i] += w.SigmaB * w.SigmaB
		}
		nngp = k
		if l == 0 {
			theta = k.Clone()
		} else {
			for i := range theta.Data {
				theta.Data[i] += k.Data[i]
			}
		}
		if l == w.Layers-1 {
			return nngp, theta
		}
		weights := matrix.New[float64](x.Cols, width)
		rng.FillNormal(stream, weights.Data)
		z := matrix.New[float64](rows.Rows, width)
		linalg.Gemm(nil, z, w.SigmaW/math.Sqrt(float64(x.Cols)), x, linalg.NoTrans, weights, linalg.NoTrans, 0)
		slopes := matrix.New[float64](rows.Rows, width)
		bias := make([]float64, width)
		rng.FillNormal(stream, bias)
		for i := range z.Data {
			z.Data[i], slopes.Data[i] = f(z.Data[i] + w.SigmaB*bias[i%width])
		}
		s := matrix.New[float64](rows.Rows, rows.Rows)
		linalg.Gemm(nil, s, w.SigmaW*w.SigmaW/float64(width), slopes, linalg.NoTrans, slopes, linalg.Trans, 0)
		for i := range theta.Data {
			theta.Data[i] *= s.Data[i]
		}
		x = z
	}
	panic("unreachable")
}

func TestInfiniteNetworkRefuses(t *testing.T) {
	t.Parallel()
	good := kernel.InfiniteNetwork{Inputs: 2, Layers: 2, SigmaW: 1}
	for word, spoil := range map[string]func(*kernel.InfiniteNetwork){
		"0 inputs":  func(w *kernel.InfiniteNetwork) { w.Inputs = 0 },
		"0 layers":  func(w *kernel.InfiniteNetwork) { w.Layers = 0 },
		"σ_w is 0":  func(w *kernel.InfiniteNetwork) { w.SigmaW = 0 },
		"σ_b is -1": func(w *kernel.InfiniteNetwork) { w.SigmaB = -1 },
		"σ_b is N":  func(w *kernel.InfiniteNetwork) { w.SigmaB = math.NaN() },
	} {
		bad := good
		spoil(&bad)
		if _, err := kernels.NewNNGP[float64](bad); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := kernels.NewLaplace[float32](3, rate); err == nil || !strings.Contains(err.Error(), "rate") {
			t.Errorf("Laplace kernel with rate %v: error %v", rate, err)
		}
	}
}
