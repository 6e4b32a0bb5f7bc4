package transform_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// Tolerances, relative to the largest entry.
const (
	exact     = 1e-10
	withNoise = 1e-7 // where σ² = 1e-6 is subtracted from numbers of about 1
)

// recorded plays back normal numbers.
type recorded struct {
	t    testing.TB
	left []float64
}

func (r *recorded) NormFloat64() float64 {
	if len(r.left) == 0 {
		r.t.Fatal("more numbers are drawn than were recorded")
	}
	v := r.left[0]
	r.left = r.left[1:]
	return v
}

// done fails the test if some recorded numbers were not drawn.
func (r *recorded) done() {
	r.t.Helper()
	if len(r.left) > 0 {
		r.t.Errorf("%d recorded numbers were not drawn", len(r.left))
	}
}

func record(t testing.TB, arrays ...string) *recorded {
	r := &recorded{t: t}
	for _, name := range arrays {
		r.left = append(r.left, golden.Matrix(t, name+".npy").Data...)
	}
	return r
}

// networks caches what goldenNet has read, because the manifest is long. Tests run in parallel.
var networks sync.Map // from the name to a *kerneltest.Network[float64]

// goldenNet returns member number model of the golden networks "relu" or "silu".
func goldenNet(t testing.TB, act string, model int) *kerneltest.Network[float64] {
	name := fmt.Sprintf("%s/model%d", act, model)
	if n, known := networks.Load(name); known {
		return n.(*kerneltest.Network[float64])
	}
	n := &kerneltest.Network[float64]{
		SigmaW:     golden.Scalar(t, act+"/sigma_w"),
		SigmaB:     golden.Scalar(t, act+"/sigma_b"),
		Activation: kerneltest.ReLU,
	}
	if act == "silu" {
		n.Activation = kerneltest.SiLU
	}
	for l := 1; l <= 3; l++ {
		n.Weights = append(n.Weights, golden.Matrix(t, fmt.Sprintf("%s/W%d.npy", name, l)))
		n.Biases = append(n.Biases, golden.Vector(t, fmt.Sprintf("%s/b%d.npy", name, l)))
	}
	networks.Store(name, n)
	return n
}

func trainAndPool(t testing.TB) (train, pool matrix.Dense[float64]) {
	return golden.Matrix(t, "X_train.npy"), golden.Matrix(t, "X_pool.npy")
}

// base returns a base kernel by its name in the golden set.
func base(t testing.TB, act, name string, model int) kernel.Kernel[float64] {
	switch name {
	case "ll":
		return must(kernels.NewLastLayers(goldenNet(t, act, model), 1))
	case "grad":
		return kernels.NewGrad(goldenNet(t, act, model))
	case "lin", "linear":
		return kernel.NewLinear[float64](6)
	case "nngp":
		// The formula for ReLU, whatever the network's activation.
		return must(kernels.NewNNGP[float64](kernel.InfiniteNetwork{Inputs: 6, Layers: 3,
			SigmaW: goldenNet(t, act, 0).SigmaW}))
	}
	t.Fatalf("no base kernel %q", name)
	return nil
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
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

func features[T matrix.Float](t testing.TB, k kernel.Kernel[T], rows matrix.Dense[T]) matrix.Dense[T] {
	t.Helper()
	dst, err := kernels.FeatureMatrix(t.Context(), k.(kernel.FeatureMap[T]), rows)
	if err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestGoldenScale(t *testing.T) {
	t.Parallel()
	train, _ := trainAndPool(t)
	for _, act := range []string{"relu", "silu"} {
		for _, name := range []string{"ll", "grad", "lin", "nngp"} {
			if act == "silu" && (name == "lin" || name == "nngp") {
				continue
			}
			_, lambda, err := transform.Scale(t.Context(), base(t, act, name, 0), train)
			if err != nil {
				t.Fatal(err)
			}
			golden.MustMatchVector(t, act+", "+name, []float64{lambda},
				[]float64{golden.Scalar(t, act+"/"+name+"/scale_factor_lambda")}, exact)
		}
	}
}

func TestGoldenPosterior(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	for _, act := range []string{"relu", "silu"} {
		for _, name := range []string{"ll", "grad", "lin", "nngp"} {
			if act == "silu" && (name == "lin" || name == "nngp") {
				continue
			}
			for text, sigma2 := range map[string]float64{"1e-06": 1e-6, "0.01": 0.01} {
				k, fit, err := transform.Train(t.Context(), base(t, act, name, 0), train, sigma2)
				if err != nil {
					t.Fatal(err)
				}
				array := act + "/posterior/" + name + "_s2_" + text
				golden.MustMatchVector(t, array, diag(t, k, pool), golden.Vector(t, array+"_pool_diag.npy"), withNoise)
				golden.MustMatchVector(t, array, diag(t, k, train), golden.Vector(t, array+"_train_diag.npy"), withNoise)
				some := pool.Slice(0, 50)
				golden.MustMatch(t, array, cross(t, k, some, some), golden.Matrix(t, array+"_pool_block.npy"), withNoise)
				if inFeatures := name == "ll" || name == "lin"; fit.FeatureSpace != inFeatures {
					t.Errorf("%s: in feature space: %v", array, fit.FeatureSpace)
				} else if inFeatures {
					golden.MustMatch(t, array, features(t, k, some), golden.Matrix(t, array+"_features_pool.npy"), withNoise)
				}
			}
		}
	}
}

func TestGoldenSketch(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	const root = 8 // √p: the recorded matrices are divided by it
	draws := record(t, "sketch/grad_A_in1", "sketch/grad_A_out1", "sketch/grad_A_in2", "sketch/grad_A_out2",
		"sketch/grad_A_in3", "sketch/grad_A_out3")
	for i := range draws.left {
		draws.left[i] *= root
	}
	k := must(transform.Sketch(base(t, "relu", "grad", 0).(kernel.FeatureMap[float64]), 64, draws, transform.Published))
	draws.done()
	golden.MustMatch(t, "train", features(t, k, train), golden.Matrix(t, "sketch/grad_features_train.npy"), exact)
	golden.MustMatch(t, "pool", features(t, k, pool), golden.Matrix(t, "sketch/grad_features_pool.npy"), exact)

	draws = record(t, "sketch/lin_A")
	for i := range draws.left {
		draws.left[i] *= root
	}
	k = must(transform.Sketch(kernel.NewLinear[float64](6), 64, draws, transform.Paper))
	draws.done()
	golden.MustMatch(t, "linear", features(t, k, pool), golden.Matrix(t, "sketch/lin_features_pool.npy"), exact)
}

// rowKernel is the kernel of a row of the paper's tables.
type rowKernel struct {
	Base       string              `json:"base_kernel"`
	Transforms [][]json.RawMessage `json:"transforms"`
	Models     int                 `json:"n_models"`
	Draws      int                 `json:"n_draws"`
	Features   int                 `json:"n_features"`
	Centred    float64             `json:"eff_dim_reference_centered"`
	Uncentred  float64             `json:"eff_dim_paper_uncentered"`
}

// steps returns the names of the transformations and their first parameters.
func (r rowKernel) steps(t testing.TB) (names []string, parameters [][]float64) {
	for _, raw := range r.Transforms {
		var name string
		var list []*float64
		if err := json.Unmarshal(raw[0], &name); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw[1], &list); err != nil {
			t.Fatal(err)
		}
		var given []float64
		for _, v := range list {
			if v != nil {
				given = append(given, *v)
			}
		}
		names, parameters = append(names, name), append(parameters, given)
	}
	return names, parameters
}

// build returns the kernel in the published variant, with the recorded draws.
func (r rowKernel) build(t testing.TB, act, folder string) kernel.Kernel[float64] {
	train, _ := trainAndPool(t)
	var arrays []string
	for i := range r.Draws {
		arrays = append(arrays, fmt.Sprintf("%s/draw%d", folder, i))
	}
	draws := record(t, arrays...)
	names, parameters := r.steps(t)
	var members []kernel.Kernel[float64]
	for model := range r.Models {
		members = append(members, base(t, act, r.Base, model))
	}
	k := members[0]
	for i, name := range names {
		k = apply(t, k, members, name, parameters[i], train, draws)
	}
	draws.done()
	return k
}

func apply(t testing.TB, k kernel.Kernel[float64], members []kernel.Kernel[float64], name string, parameters []float64,
	train matrix.Dense[float64], draws kernel.Normals) kernel.Kernel[float64] {
	m, _ := k.(kernel.FeatureMap[float64])
	var err error
	switch name {
	case "scale":
		k, _, err = transform.Scale(t.Context(), k, train)
	case "train":
		k, _, err = transform.Train(t.Context(), k, train, parameters[0]*parameters[0])
	case "ens":
		k, err = transform.Ensemble(members...)
	case "rp":
		k, err = transform.Sketch(m, int(parameters[0]), draws, transform.Published)
	case "acs-grad":
		k, _, err = transform.ACSGrad(t.Context(), k, train, parameters[0]*parameters[0], transform.Published)
	case "acs-rf":
		k, _, err = transform.ACSRandomFeatures(t.Context(), m, train, int(parameters[0]), parameters[1]*parameters[1],
			draws, transform.Published)
	case "acs-rf-hyper":
		labels := golden.Vector(t, "y_train.npy")
		k, _, err = transform.ACSRandomFeaturesHyper(t.Context(), m, train, labels, int(parameters[0]),
			draws, transform.Published)
	default:
		t.Fatalf("no transformation %q", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// eachRowKernel builds the kernels of all deterministic rows of the tables.
func eachRowKernel(t *testing.T, f func(t *testing.T, folder string, r rowKernel, k kernel.Kernel[float64])) {
	for _, act := range []string{"relu", "silu"} {
		var rows map[string]rowKernel
		golden.Entry(t, act+"/rowkernels", &rows)
		for name, r := range rows {
			t.Run(act+"/"+name, func(t *testing.T) {
				folder := act + "/rowkernel/" + name
				f(t, folder, r, r.build(t, act, folder))
			})
		}
	}
}

func TestGoldenRowKernels(t *testing.T) {
	t.Parallel()
	eachRowKernel(t, func(t *testing.T, folder string, r rowKernel, k kernel.Kernel[float64]) {
		train, pool := trainAndPool(t)
		some := pool.Slice(0, 50)
		tol := exact
		if names, _ := r.steps(t); slices.ContainsFunc(names, func(n string) bool {
			return n == "train" ||
				strings.HasPrefix(n, "acs")
		}) {
			tol = withNoise
		}
		golden.MustMatchVector(t, "diagonal", diag(t, k, pool), golden.Vector(t, folder+"/pool_diag.npy"), tol)
		golden.MustMatch(t, "pool", cross(t, k, some, some), golden.Matrix(t, folder+"/pool_block.npy"), tol)
		golden.MustMatch(t, "train and pool", cross(t, k, train, some), golden.Matrix(t, folder+"/train_pool_block.npy"), tol)
		m, finite := k.(kernel.FeatureMap[float64])
		if finite != (r.Features > 0) || finite && m.Dim() != r.Features {
			t.Fatalf("%d features expected", r.Features)
		}
		if finite && r.Features <= 64 {
			golden.MustMatch(t, "features", features(t, k, some), golden.Matrix(t, folder+"/pool_features.npy"), tol)
		}
	})
}
