package kernels_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// someRows returns normal rows; the last one repeats the first.
func someRows[T matrix.Float](n, width int) matrix.Dense[T] {
	rows := matrix.New[T](n, width)
	rng.FillNormal(rng.New(1, "rows"), rows.Data)
	copy(rows.Row(n-1), rows.Row(0))
	return rows
}

// someNetwork returns a network with normal weights and biases.
func someNetwork[T matrix.Float](activation kernel.Activation, sizes ...int) *kerneltest.Network[T] {
	n := &kerneltest.Network[T]{SigmaW: 1.2, SigmaB: 0.4, Activation: activation}
	stream := rng.New(2, "weights")
	for l, d := range sizes[:len(sizes)-1] {
		w, b := matrix.New[T](d, sizes[l+1]), make([]T, sizes[l+1])
		rng.FillNormal(stream, w.Data)
		rng.FillNormal(stream, b)
		n.Weights, n.Biases = append(n.Weights, w), append(n.Biases, b)
	}
	return n
}

func tanh(z float64) (value, slope float64) {
	v := math.Tanh(z)
	return v, 1 - v*v
}

// conform runs the suite on all base kernels.
func conform[T matrix.Float](t *testing.T, tol float64) {
	const width = 5
	rows := someRows[T](31, width)
	net := someNetwork[T](kerneltest.SiLU, width, 12, 9, 1)
	deep := kernel.InfiniteNetwork{Inputs: width, Layers: 4, SigmaW: 1.1, SigmaB: 0.3}
	smooth := deep
	smooth.Activation = tanh
	shallow := kernel.InfiniteNetwork{Inputs: width, Layers: 1, SigmaW: 1}
	squares := must(kernel.NewFunc(width, 2*width, func(dst, rows matrix.Dense[T]) error {
		for i := range rows.Rows {
			for j, v := range rows.Row(i) {
				dst.Set(i, 2*j, v)
				dst.Set(i, 2*j+1, v*v)
			}
		}
		return nil
	}))
	for name, k := range map[string]kernel.Kernel[T]{
		"linear":          kernel.NewLinear[T](width),
		"gradient":        kernels.NewGrad[T](net),
		"last layer":      lastLayers[T](t, net, 1),
		"last two layers": lastLayers[T](t, net, 2),
		"linear model":    kernels.NewGrad[T](someNetwork[T](kerneltest.ReLU, width, 1)),
		"laplace":         must(kernels.NewLaplace[T](width, 0.7)),
		"rbf": must(kernels.NewStationary[T](kernel.Stationary{Variance: 2,
			Lengths: []float64{1, 0.5, 3, 1e3, 2}})),
		"matern": must(kernels.NewStationary[T](kernel.Stationary{Shape: kernel.Matern52, Variance: 0.5,
			Lengths: []float64{1, 0.5, 3, 1e3, 2}})),
		"nngp":           must(kernels.NewNNGP[T](deep)),
		"ntk":            must(kernels.NewNTK[T](deep)),
		"nngp, tanh":     must(kernels.NewNNGP[T](smooth)),
		"ntk, tanh":      must(kernels.NewNTK[T](smooth)),
		"ntk, one layer": must(kernels.NewNTK[T](shallow)),
		"user-defined":   squares,
		"leaf":           must(kernels.NewLeaf[T](kerneltest.NewStumps(width, 40, 3))),
		"predictions":    must(kernels.NewPredictions[T](kerneltest.NewStumps(width, 7, 5))),
	} {
		t.Run(name, func(t *testing.T) {
			bound := tol
			if strings.HasPrefix(name, "ntk") {
				bound = math.Sqrt(tol) // the arccosine magnifies rounding errors near 1
			}
			kerneltest.Conform(t, k, rows, bound)
		})
	}
}

func TestConform64(t *testing.T) { conform[float64](t, 1e-14) }
func TestConform32(t *testing.T) { conform[float32](t, 3e-6) }

func TestConformToFloat64(t *testing.T) {
	t.Parallel()
	rows := matrix.Converted[float64](someRows[float32](20, 5))
	net := someNetwork[float32](kerneltest.ReLU, 5, 8, 7, 1)
	kerneltest.Conform[float64](t, kernels.ToFloat64(lastLayers[float32](t, net, 1)), rows, 1e-12)
	kerneltest.Conform[float64](t, kernels.NewGrad(kernels.TapsToFloat64(net)), rows, 1e-12)
}
