package transform_test

import (
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// Check every kernel of the paper's tables that is deterministic given the draws.
func TestConformRowKernels(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long")
	}
	eachRowKernel(t, func(t *testing.T, _ string, _ rowKernel, k kernel.Kernel[float64]) {
		_, pool := trainAndPool(t)
		rows := pool.Slice(0, 30)
		kerneltest.Conform(t, k, rows, 1e-9)
	})
}

// Check compositions that the golden numbers do not cover: in the paper's variant,
// in kernel space, in several steps.
func TestConformCompositions(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	few, rows := train.Slice(0, 15), pool.Slice(0, 30)
	const sigma2 = 1e-2
	post := func(k kernel.Kernel[float64], rows matrix.Dense[float64]) kernel.Kernel[float64] {
		k, _, err := transform.Posterior(t.Context(), k, rows, sigma2)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	acs := func(k kernel.Kernel[float64]) kernel.Kernel[float64] {
		k, _, err := transform.ACSGrad(t.Context(), k, train, sigma2, transform.Paper)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sketch := func(k kernel.Kernel[float64], p int) kernel.Kernel[float64] {
		return must(transform.Sketch(k.(kernel.FeatureMap[float64]), p, transform.Seeded(1, "sketch"), transform.Paper))
	}
	sum := func(members ...kernel.Kernel[float64]) kernel.Kernel[float64] {
		return must(transform.Ensemble(members...))
	}
	rf := func(k kernel.Kernel[float64]) kernel.Kernel[float64] {
		m, _, err := transform.ACSRandomFeatures(t.Context(), k.(kernel.FeatureMap[float64]), train, 20, sigma2,
			transform.Seeded(1, "acs"), transform.Paper)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	hyper := func(k kernel.Kernel[float64]) kernel.Kernel[float64] {
		labels := golden.Vector(t, "y_train.npy")
		m, _, err := transform.ACSRandomFeaturesHyper(t.Context(), k.(kernel.FeatureMap[float64]), train, labels, 20,
			transform.Seeded(1, "acs"), transform.Paper)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	matern := must(kernels.NewStationary[float64](kernel.Stationary{Shape: kernel.Matern52, Variance: 1.5,
		Lengths: []float64{1, 2, 0.7, 3, 1, 2}}))
	rbf := must(kernels.NewStationary[float64](kernel.Stationary{Shape: kernel.RBF, Variance: 0.8,
		Lengths: []float64{2, 2, 3, 1, 4, 2}}))
	laplace := must(kernels.NewLaplace[float64](6, 0.3))
	rff := func(k kernel.Kernel[float64], n int) kernel.Kernel[float64] {
		return must(transform.RandomFourier(k, n, transform.Seeded(1, "rff")))
	}
	leaf := kernel.Kernel[float64](must(kernels.NewLeaf[float64](kerneltest.NewStumps(6, 40, 8))))
	predictions := kernel.Kernel[float64](must(kernels.NewPredictions[float64](kerneltest.NewStumps(6, 9, 8))))
	grad, ll, nngp, linear := base(t, "relu", "grad", 0), base(t, "relu", "ll", 0), base(t, "relu", "nngp", 0),
		base(t, "relu", "lin", 0)
	for name, k := range map[string]kernel.Kernel[float64]{
		"grad>sketch":                sketch(grad, 40),
		"grad>sketch>sketch":         sketch(sketch(grad, 40), 10),
		"ll>sketch":                  sketch(ll, 40),
		"grad>post>post":             post(post(grad, few), train),
		"nngp>post":                  post(nngp, train),
		"nngp>post>post":             post(post(nngp, few), train),
		"ll>post>post":               post(post(ll, few), train),
		"grad>acs-grad":              acs(grad),
		"nngp>acs-grad":              acs(nngp),
		"matern>post":                post(matern, train),
		"matern>post>post":           post(post(matern, few), train),
		"matern>acs-grad":            acs(matern),
		"rbf>post":                   post(rbf, train),
		"rbf>acs-grad":               acs(rbf),
		"rbf, nngp>ens":              sum(rbf, nngp),
		"matern>rff":                 rff(matern, 50),
		"laplace>rff":                rff(laplace, 50),
		"matern, rbf>ens>rff>post":   post(rff(sum(matern, rbf), 34), train),
		"leaf>post":                  post(leaf, train),
		"leaf>sketch":                sketch(leaf, 40),
		"leaf>acs-grad":              acs(leaf),
		"leaf, ll>ens>sketch>post":   post(sketch(sum(leaf, ll), 40), train),
		"predictions>post":           post(predictions, train),
		"ll>acs-grad>sketch":         sketch(acs(ll), 30),
		"linear>acs-grad>acs-grad":   acs(acs(linear)),
		"linear>acs-grad>ens>sketch": sketch(sum(acs(linear), acs(linear)), 30),
		"grad>ens":                   sum(grad, base(t, "relu", "grad", 1)),
		"grad, nngp>ens":             sum(grad, nngp),
		"grad>sketch>acs-rf":         rf(sketch(grad, 40)),
		"grad>sketch>acs-rf-hyper":   hyper(sketch(grad, 40)),
		"grad>scale(t.Context(), 3)": must(transform.ScaleBy(grad, 3)),
	} {
		t.Run(name, func(t *testing.T) { kerneltest.Conform(t, k, rows, 1e-9) })
	}
}

// Two transformations of one ensemble both append to its list of widths.
func TestTransformsOfOneKernelStayApart(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	rows := pool.Slice(0, 30)
	nngp := base(t, "relu", "nngp", 0)
	three := must(transform.Ensemble(nngp, nngp, nngp))
	post := func(n int) kernel.Kernel[float64] {
		k, _, err := transform.Posterior(t.Context(), three, train.Slice(0, n), 1e-2)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	acs := func(n int) kernel.Kernel[float64] {
		k, _, err := transform.ACSGrad(t.Context(), three, train.Slice(0, n), 1e-2, transform.Paper)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	scaled := must(transform.ScaleBy(three, 3))
	made := []kernel.Kernel[float64]{post(5), post(8), acs(6), acs(9), scaled,
		must(transform.Ensemble(three, nngp)), three}
	for i, first := range made {
		for _, second := range made[i+1:] {
			kerneltest.Apart(t, first, second, rows, 1e-9)
		}
	}
}

// Check kernels in float32, as selection by distances uses them.
func TestConform32(t *testing.T) {
	t.Parallel()
	net := &kerneltest.Network[float32]{SigmaW: 1, SigmaB: 0.3, Activation: kerneltest.SiLU}
	stream := rng.New(1, "network")
	for _, shape := range [][2]int{{5, 14}, {14, 11}, {11, 1}} {
		w, b := matrix.New[float32](shape[0], shape[1]), make([]float32, shape[1])
		rng.FillNormal(stream, w.Data)
		rng.FillNormal(stream, b)
		net.Weights, net.Biases = append(net.Weights, w), append(net.Biases, b)
	}
	rows := matrix.New[float32](30, 5)
	rng.FillNormal(stream, rows.Data)
	one := must(transform.Sketch(kernels.NewGrad(net), 33, transform.Seeded(1, "sketch"), transform.Paper))
	kerneltest.Conform(t, must(transform.Ensemble[float32](one, one)), rows, 1e-5)
	scaled, _, err := transform.Scale[float32](t.Context(), one, rows)
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.Conform(t, scaled, rows, 1e-5)
	// Convert to float64, then compute a posterior.
	double := matrix.Converted[float64](rows)
	after, _, err := transform.Train(t.Context(), kernels.ToFloat64(one), double, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	kerneltest.Conform(t, after, double, 1e-8)
}
