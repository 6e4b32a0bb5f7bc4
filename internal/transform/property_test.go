package transform_test

import (
	"context"
	"math"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// hidden hides the features of a kernel, so that its posterior is computed in
// kernel space.
type hidden struct{ of kernel.Kernel[float64] }

func (h hidden) Inputs() int { return h.of.Inputs() }
func (h hidden) Diag(ctx context.Context, dst []float64, x matrix.Dense[float64]) error {
	return h.of.Diag(ctx, dst, x)
}
func (h hidden) Cross(ctx context.Context, dst, a, b matrix.Dense[float64]) error {
	return h.of.Cross(ctx, dst, a, b)
}

func posteriorOf(t testing.TB, k kernel.Kernel[float64], rows matrix.Dense[float64],
	sigma2 float64) (kernel.Kernel[float64], transform.Fit) {
	t.Helper()
	after, fit, err := transform.Posterior(t.Context(), k, rows, sigma2)
	if err != nil {
		t.Fatal(err)
	}
	return after, fit
}

// TestNoiseOfRows: a row with half the noise is as good as the row twice, in feature space and in kernel space, and
// both agree where features are scaled before.
func TestNoiseOfRows(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	k := base(t, "silu", "ll", 0)
	noise := make([]float64, train.Rows)
	for i := range noise {
		noise[i] = 1
	}
	noise[2] = 0.5
	want, _ := posteriorOf(t, k, matrix.Stack(train, train.Slice(2, 3)), 1e-2)
	var scaled []matrix.Dense[float64]
	for _, one := range []kernel.Kernel[float64]{k, hidden{k}} {
		got, _, err := transform.Posterior(t.Context(), one, train, 1e-2, noise...)
		if err != nil {
			t.Fatal(err)
		}
		golden.MustMatch(t, "post", cross(t, got, pool, pool), cross(t, want, pool, pool), 1e-7)
		normal, _, err := transform.Train(t.Context(), one, train, 1e-2, noise...)
		if err != nil {
			t.Fatal(err)
		}
		scaled = append(scaled, cross(t, normal, pool, pool))
	}
	golden.MustMatch(t, "train", scaled[1], scaled[0], 1e-7)
}

func TestKernelSpaceIsFeatureSpace(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	for _, name := range []string{"ll", "lin"} {
		k := base(t, "silu", name, 0)
		inFeatures, fit := posteriorOf(t, k, train, 1e-4)
		inKernel, other := posteriorOf(t, hidden{k}, train, 1e-4)
		if !fit.FeatureSpace || other.FeatureSpace {
			t.Fatalf("feature space: %v and %v", fit, other)
		}
		golden.MustMatch(t, name, cross(t, inKernel, pool, train), cross(t, inFeatures, pool, train), 1e-7)
		golden.MustMatchVector(t, name, diag(t, inKernel, pool), diag(t, inFeatures, pool), 1e-7)
		acs, _, err := transform.ACSGrad(t.Context(), k, train, 1e-4, transform.Paper)
		if err != nil {
			t.Fatal(err)
		}
		hiddenACS, _, err := transform.ACSGrad(t.Context(), hidden{k}, train, 1e-4, transform.Paper)
		if err != nil {
			t.Fatal(err)
		}
		golden.MustMatch(t, name+">acs-grad", cross(t, hiddenACS, pool, train), cross(t, acs, pool, train), 1e-7)
		golden.MustMatchVector(t, name+">acs-grad", diag(t, hiddenACS, pool), diag(t, acs, pool), 1e-7)
	}
}

// The paper's bound: feature space up to max(1024, 3·N) features.
func TestChoiceOfSpace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dim, rows int
		features  bool
	}{{1024, 1, true}, {1025, 1, false}, {1026, 342, true}, {1027, 342, false}} {
		rows := matrix.New[float64](test.rows, test.dim)
		for i := range rows.Rows {
			rows.Row(i)[i] = 1
		}
		_, fit := posteriorOf(t, kernel.NewLinear[float64](test.dim), rows, 1)
		if fit.FeatureSpace != test.features {
			t.Errorf("%d features, %d rows: in feature space: %v", test.dim, test.rows, fit.FeatureSpace)
		}
	}
}

// Callers that need features can have them beyond that bound, too.
func TestFeaturesBeyondTheChoice(t *testing.T) {
	t.Parallel()
	rows := matrix.New[float64](12, 1100)
	rng.FillNormal(rng.New(1, "wide rows"), rows.Data)
	m, train := kernel.NewLinear[float64](1100), rows.Slice(0, 4)
	type result struct {
		k   kernel.Kernel[float64]
		fit transform.Fit
		err error
	}
	in := func(k kernel.Kernel[float64], fit transform.Fit, err error) result { return result{k, fit, err} }
	inFeatures := func(k kernel.FeatureMap[float64], fit transform.Fit, err error) result { return result{k, fit, err} }
	for name, pair := range map[string][2]result{
		"post": {in(transform.Posterior(t.Context(), m, train, 1e-2)),
			inFeatures(transform.PosteriorFeatures(t.Context(), m, train, 1e-2))},
		"train": {in(transform.Train(t.Context(), m, train, 1e-2)),
			inFeatures(transform.TrainFeatures(t.Context(), m, train, 1e-2))},
		"acs-grad": {in(transform.ACSGrad(t.Context(), m, train, 1e-2, transform.Paper)),
			inFeatures(transform.ACSGradFeatures(t.Context(), m, train, 1e-2, transform.Paper))},
	} {
		chosen, forced := pair[0], pair[1]
		if chosen.err != nil || forced.err != nil || chosen.fit.FeatureSpace || !forced.fit.FeatureSpace {
			t.Fatalf("%s: %+v and %+v", name, chosen, forced)
		}
		golden.MustMatch(t, name, cross(t, forced.k, rows, rows), cross(t, chosen.k, rows, rows), 1e-10)
	}
}

// Paper, equation "posterior_composition".
func TestPosteriorInTwoSteps(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	const sigma2 = 1e-3
	for _, name := range []string{"ll", "lin", "grad", "nngp"} {
		k := base(t, "silu", name, 0)
		atOnce, _ := posteriorOf(t, k, train, sigma2)
		first, _ := posteriorOf(t, k, train.Slice(0, 13), sigma2)
		then, _ := posteriorOf(t, first, train.Slice(13, 40), sigma2)
		golden.MustMatch(t, name, cross(t, then, pool, pool), cross(t, atOnce, pool, pool), 1e-7)
	}
}

// MaxDet conditions on one row after another by the rank-1 step
//
//	k ← k − k(·, x)·k(x, ·)/(k(x, x) + σ²),
//
// and on the training rows first, after which its kernel is the posterior.
func TestGreedyConditioningIsThePosterior(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	const sigma2 = 1e-3
	k, _, err := transform.Scale(t.Context(), base(t, "relu", "grad", 0), train)
	if err != nil {
		t.Fatal(err)
	}
	all := matrix.New[float64](train.Rows+60, train.Cols)
	matrix.Copy(all.Slice(0, train.Rows), train)
	matrix.Copy(all.Slice(train.Rows, all.Rows), pool.Slice(0, 60))
	left := cross(t, k, all, all)
	for x := range train.Rows {
		column := append([]float64(nil), left.Row(x)...)
		for i := range left.Rows {
			for j := range left.Cols {
				left.Row(i)[j] -= column[i] * column[j] / (column[x] + sigma2)
			}
		}
	}
	want, _ := posteriorOf(t, k, train, sigma2)
	golden.MustMatch(t, "posterior", left, cross(t, want, all, all), 1e-9)
}

// Train is scale, then posterior.
func TestTrainIsScaleThenPosterior(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	for _, name := range []string{"ll", "nngp"} {
		k := base(t, "relu", name, 0)
		scaled, lambda, err := transform.Scale(t.Context(), k, train)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := posteriorOf(t, scaled, train, 1e-4)
		got, fit, err := transform.Train(t.Context(), k, train, 1e-4)
		if err != nil || math.Abs(fit.Lambda-lambda) > 1e-12*lambda {
			t.Fatalf("λ is %v, %v in two steps; error %v", fit.Lambda, lambda, err)
		}
		golden.MustMatch(t, name, cross(t, got, pool, pool), cross(t, want, pool, pool), 1e-7)
	}
}

// The mean over many sketches is close to the kernel, with an error that the
// spread of the sketches explains. The same holds for the mean and the variance
// of a squared norm.
func TestSketchIsUnbiased(t *testing.T) {
	t.Parallel()
	const p, times = 16, 2500
	_, pool := trainAndPool(t)
	rows := pool.Slice(0, 6)
	acs, _, err := transform.ACSGrad(t.Context(), base(t, "silu", "lin", 0), rows, 1, transform.Paper)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]kernel.Kernel[float64]{
		"plain":      base(t, "silu", "lin", 0),
		"sum":        must(transform.Ensemble(base(t, "silu", "lin", 0), base(t, "silu", "ll", 0))),
		"product":    acs,
		"gradient":   base(t, "silu", "grad", 0),
		"last layer": base(t, "silu", "ll", 0),
	} {
		for _, v := range []transform.Variant{transform.Paper, transform.Published} {
			want := cross(t, k, rows, rows)
			sum, squares := matrix.New[float64](6, 6), matrix.New[float64](6, 6)
			parts := embedded(t, k, rows)
			for i := range times {
				s := must(transform.Sketch(parts, p, transform.Seeded(5, "sketch", uint64(i)), v))
				got := cross[float64](t, s, rows, rows)
				for j, x := range got.Data {
					sum.Data[j] += x
					squares.Data[j] += x * x
				}
			}
			for j, w := range want.Data {
				mean := sum.Data[j] / times
				deviation := math.Sqrt((squares.Data[j]/times - mean*mean) / times)
				if math.Abs(mean-w) > 5*deviation {
					t.Errorf("%s, variant %d: element %d is %v on average, want %v; standard error %v", name, v, j, mean, w, deviation)
				}
			}
			if name == "last layer" {
				// Relative variance of the squared norm: 2/p, and 8/p with the
				// factor 1 sketched.
				variance := (squares.Data[0]/times - math.Pow(sum.Data[0]/times, 2)) / (want.Data[0] * want.Data[0])
				if expected := []float64{2, 8}[v] / p; math.Abs(variance/expected-1) > 0.25 {
					t.Errorf("variant %d: relative variance %v, want %v", v, variance, expected)
				}
			}
		}
	}
}

// embedded returns a kernel equal to k that embeds the given rows only once,
// because a plain network is slow.
func embedded(t testing.TB, k kernel.Kernel[float64], rows matrix.Dense[float64]) kernel.FeatureMap[float64] {
	e, f := kernels.Decompose(k)
	parts, err := e.Embed(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return kernels.Compose[float64](fixed{e, parts}, f).(kernel.FeatureMap[float64])
}

type fixed struct {
	kernels.Embedding[float64]
	parts []matrix.Dense[float64]
}

func (f fixed) Embed(context.Context, matrix.Dense[float64]) ([]matrix.Dense[float64], error) {
	return f.parts, nil
}

// Paper, theorem "Variant of the Johnson-Lindenstrauss Lemma": with
// p ≥ 8·log(n²/δ)/ε² a Gaussian sketch preserves all distances between n rows up
// to a factor 1 ± ε, with probability 1 − δ.
func TestSketchKeepsDistances(t *testing.T) {
	t.Parallel()
	const n, epsilon, delta, times = 40, 0.5, 0.05, 100
	rows := matrix.New[float64](n, 300)
	rng.FillNormal(rng.New(1, "rows"), rows.Data)
	k := kernel.NewLinear[float64](300)
	p := int(math.Ceil(8 * math.Log(n*n/delta) / (epsilon * epsilon)))
	failures := 0
	for i := range times {
		s := must(transform.Sketch(k, p, transform.Seeded(1, "sketch", uint64(i)), transform.Paper))
		largest, mean := distanceErrors(cross(t, s, rows, rows), cross(t, k, rows, rows))
		if largest > epsilon {
			failures++
		}
		if mean > epsilon/5 {
			t.Errorf("distances are off by %v on average", mean)
		}
	}
	if failures > delta*times {
		t.Errorf("%d of %d sketches are off by more than %v", failures, times, epsilon)
	}
}

// distanceErrors returns the largest and the mean relative error of the distances between rows
// whose kernel matrix is given, compared with those of another kernel.
func distanceErrors(got, want matrix.Dense[float64]) (largest, mean float64) {
	distance := func(k matrix.Dense[float64], i, j int) float64 {
		return math.Sqrt(max(0, k.At(i, i)+k.At(j, j)-2*k.At(i, j)))
	}
	pairs := 0.0
	for i := range got.Rows {
		for j := range i {
			off := math.Abs(distance(got, i, j)/distance(want, i, j) - 1)
			largest, mean, pairs = max(largest, off), mean+off, pairs+1
		}
	}
	return largest, mean / pairs
}

// Sketching the sum of plain maps is sketching the map of all features.
func TestSketchOfASumOfPlainMaps(t *testing.T) {
	t.Parallel()
	_, pool := trainAndPool(t)
	a, b := base(t, "relu", "lin", 0), base(t, "relu", "ll", 0)
	sum := must(transform.Ensemble(a, b)).(kernel.FeatureMap[float64])
	all := features[float64](t, sum, pool)
	one := must(transform.Sketch(sum, 20, transform.Seeded(1, "sketch"), transform.Paper))
	two := must(transform.Sketch(kernel.NewLinear[float64](sum.Dim()), 20, transform.Seeded(1, "sketch"), transform.Paper))
	golden.MustMatch(t, "sketch", features[float64](t, one, pool), features[float64](t, two, all), 1e-13)
}

// A sketch of the gradient follows its definition: Σ_l √p·(x̃A)⊙(gB).
func TestSketchByDefinition(t *testing.T) {
	t.Parallel()
	train, _ := trainAndPool(t)
	const p = 7
	k := base(t, "relu", "grad", 0)
	got := features[float64](t, must(transform.Sketch(k.(kernel.FeatureMap[float64]), p, transform.Seeded(3, "sketch"),
		transform.Paper)), train)
	in, grad := goldenNet(t, "relu", 0).Block(t.Context(), train, 0)
	draws := transform.Seeded(3, "sketch")
	want := matrix.New[float64](train.Rows, p)
	project := func(x matrix.Dense[float64]) matrix.Dense[float64] {
		u := matrix.New[float64](x.Cols, p)
		for i := range u.Data {
			u.Data[i] = draws.NormFloat64() / math.Sqrt(p)
		}
		dst := matrix.New[float64](x.Rows, p)
		linalg.Gemm(nil, dst, 1, x, linalg.NoTrans, u, linalg.NoTrans, 0)
		return dst
	}
	for l := range in {
		x := project(in[l])
		if l < len(grad) {
			g := project(grad[l])
			for i := range x.Data {
				x.Data[i] *= math.Sqrt(p) * g.Data[i]
			}
		}
		for i := range x.Data {
			want.Data[i] += x.Data[i]
		}
	}
	golden.MustMatch(t, "sketch", got, want, 1e-13)
}

// The inner products of many random features approach the paper's expectation
// k_{→acs} (equation "acs_kernel"), here in closed form through the moments of a
// normal variable.
func TestACSRandomFeaturesConverge(t *testing.T) {
	t.Parallel()
	train, pool := trainAndPool(t)
	const sigma2, p = 0.5, 60000
	k := base(t, "silu", "ll", 0).(kernel.FeatureMap[float64])
	m, _, err := transform.ACSRandomFeatures(t.Context(), k, train, p, sigma2, transform.Seeded(1, "acs"), transform.Paper)
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := transform.Train(t.Context(), k, train, sigma2)
	if err != nil {
		t.Fatal(err)
	}
	rows := pool.Slice(0, 5)
	kappa, covariance := diag(t, after, rows), cross(t, after, rows, rows)
	want := matrix.New[float64](5, 5)
	for i := range 5 {
		for j := range 5 {
			a := math.Log1p(kappa[i]/sigma2)/2 - kappa[i]/(2*sigma2)
			b := math.Log1p(kappa[j]/sigma2)/2 - kappa[j]/(2*sigma2)
			both := kappa[i]*kappa[j] + 2*math.Pow(covariance.At(i, j), 2) // E[u²v²]
			want.Set(i, j, a*b-(a*kappa[j]+b*kappa[i])/(2*sigma2)+both/(4*sigma2*sigma2))
		}
	}
	golden.MustMatch(t, "acs-rf", cross[float64](t, m, rows, rows), want, 0.05)
}
