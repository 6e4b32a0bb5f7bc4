package nextbatch_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// smallProblem trains three small networks on a smooth function.
func smallProblem(t testing.TB) nextbatch.Problem {
	t.Helper()
	stream := rng.New(3, "select test")
	draw := func(rows int) matrix.Dense[float32] {
		m := matrix.New[float32](rows, 4)
		rng.FillNormal(stream, m.Data)
		return m
	}
	p := nextbatch.Problem{Train: draw(40), Pool: draw(150), Batch: 12, Seed: 1}
	y := matrix.New[float32](40, 1)
	p.Labels = matrix.New[float64](40, 1)
	for i := range y.Rows {
		x := p.Train.Row(i)
		v := math.Sin(float64(x[0])) + float64(x[1]*x[2])
		y.Set(i, 0, float32(v))
		p.Labels.Set(i, 0, v)
	}
	c := network.Config{Architecture: network.Architecture{Hidden: []int{16, 16}},
		Training: network.Training{Epochs: 20, Batch: 20}}
	nets, _, err := network.CPU{}.Train(context.Background(), c, 3, network.Data{X: p.Train, Y: y}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Models = nextbatch.Models(nets)
	return p
}

// small replaces the sizes in a published spec by smaller ones.
func small(t testing.TB, s spec.Spec) spec.Spec {
	t.Helper()
	smaller, err := spec.Parse(strings.ReplaceAll(s.String(), "(512)", "(24)"))
	if err != nil {
		t.Fatal(err)
	}
	return smaller
}

// TestSelectAllPublishedSpecs runs every configuration of the paper's tables
// twice, on one processor and on three.
func TestSelectAllPublishedSpecs(t *testing.T) {
	p := smallProblem(t)
	for _, published := range spec.Published() {
		for _, compat := range []bool{false, true} {
			spec := small(t, published)
			spec.Compat = compat
			t.Run(spec.String(), func(t *testing.T) {
				first := rowsOn(t, 1, spec, p)
				checkRows(t, first, p)
				if again := rowsOn(t, 3, spec, p); !slices.Equal(first, again) {
					t.Fatalf("one processor picks %v, three pick %v", first, again)
				}
			})
		}
	}
}

func rowsOn(t *testing.T, processors int, spec spec.Spec, p nextbatch.Problem) []int {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	batch, err := nextbatch.Select(t.Context(), spec, p)
	if err != nil {
		t.Fatal(err)
	}
	if batch.Missing != 0 || !batch.Spec.Equal(spec) {
		t.Fatalf("%d rows are missing; the batch says it is from %v", batch.Missing, batch.Spec)
	}
	return batch.Rows()
}

func checkRows(t *testing.T, rows []int, p nextbatch.Problem) {
	t.Helper()
	seen := map[int]bool{}
	for _, r := range rows {
		if r < 0 || r >= p.Pool.Rows || seen[r] {
			t.Fatalf("row %d is out of range or picked twice: %v", r, rows)
		}
		seen[r] = true
	}
	if len(rows) != p.Batch {
		t.Fatalf("%d rows, want %d", len(rows), p.Batch)
	}
}

// TestSelectOtherKernels covers what the paper's tables leave out.
func TestSelectOtherKernels(t *testing.T) {
	p := smallProblem(t)
	for _, text := range []string{
		"maxdist-tp:laplace(0.5)", "maxdet-p:ntk>train", "maxdet-p:matern>train", "maxdet-p:matern>post", "lcmd-tp:rbf",
		"maxdist-p:rbf>train", "lcmd-tp:features", "bait-f-p:features>train",
		"lcmd-tp:grad", "maxdet-tp:grad>scale", "kmeanspp-tp:ll(2)>scale(2)>sketch(8)", "lcmd-tp:ll>post@sigma2(0.01)",
		"frankwolfe-p:features>scale", "bait-fb-tp:linear>scale(2)", "maxdist-p:ll(2)>acs-grad",
		"maxdet-p:ll>train>ens(3)", "lcmd-p:grad>train>ens(2)", "frankwolfe-p:ll>acs-grad>ens(3)>sketch(8)",
		"bait-f-p:grad>sketch(24)>acs-rf(16)>ens(3)>scale", "kmeanspp-p:ll>acs-rf-hyper(8)>ens(2)@compat",
	} {
		t.Run(text, func(t *testing.T) {
			checkRows(t, rowsOn(t, 2, spec.MustParse(text), p), p)
		})
	}
}

// TestSelectManyFeatures: more features than the posterior takes to feature space
// by default, for methods and transformations that need features.
func TestSelectManyFeatures(t *testing.T) {
	stream := rng.New(4, "many features")
	p := nextbatch.Problem{Train: matrix.New[float32](5, 1100), Pool: matrix.New[float32](20, 1100), Batch: 3}
	rng.FillNormal(stream, p.Train.Data)
	rng.FillNormal(stream, p.Pool.Data)
	for _, text := range []string{
		"bait-f-p:features>train", "frankwolfe-p:features>post", "lcmd-p:linear>train>sketch(8)",
		"lcmd-p:features>acs-grad>sketch(8)",
	} {
		t.Run(text, func(t *testing.T) {
			checkRows(t, rowsOn(t, 2, spec.MustParse(text), p), p)
		})
	}
}

// TestEnsembleOfPosteriors: the kernel of an ensemble is the sum of its members' kernels,
// each after its own posterior, and so is its diagonal.
func TestEnsembleOfPosteriors(t *testing.T) {
	p := smallProblem(t)
	p.Batch = p.Pool.Rows
	want := make([]float64, p.Pool.Rows)
	for i := range p.Models {
		one := p
		one.Models = p.Models[i : i+1]
		addScores(t, want, "maxdiag:ll>train", one)
	}
	got := make([]float64, p.Pool.Rows)
	addScores(t, got, "maxdiag:ll>train>ens(3)", p)
	for i, w := range want {
		if math.Abs(got[i]-w) > 1e-12*w {
			t.Fatalf("row %d has the variance %v, the members add up to %v", i, got[i], w)
		}
	}
}

// TestCompatReachesEveryPart: compat changes the numbers of exactly those parts of a
// spec in which the published code differs.
func TestCompatReachesEveryPart(t *testing.T) {
	p := smallProblem(t)
	smooth, err := network.NewMLP(4, network.Architecture{Hidden: []int{16}, Activation: network.SiLU}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	ofSmooth := p
	ofSmooth.Models = nextbatch.Models(network.Ensemble{smooth})
	for _, c := range []struct {
		spec    string
		problem nextbatch.Problem
		differs bool
	}{
		{"maxdiag:ll>sketch(8)", p, true},
		{"maxdiag:ll>train>sketch(8)", p, false},
		{"maxdiag:ll>acs-grad", p, true},
		{"maxdiag:ll>acs-rf(8)", p, true},
		{"maxdiag:ll>acs-rf-hyper(8)", p, true},
		{"bait-f-p:ll>train", p, true},
		{"maxdiag:ll>train", p, false},
		{"maxdiag:nngp", p, false},
		{"maxdiag:nngp", ofSmooth, true},
		{"maxdiag:ntk", ofSmooth, true},
	} {
		c.problem.Batch = p.Pool.Rows
		paper, published := make([]float64, p.Pool.Rows), make([]float64, p.Pool.Rows)
		addScores(t, paper, c.spec, c.problem)
		addScores(t, published, c.spec+"@compat", c.problem)
		if differs := !slices.Equal(paper, published); differs != c.differs {
			t.Errorf("%s: compat gives other scores: %v", c.spec, differs)
		}
	}
}

// TestDrawsOfMembersDiffer: two equal networks get different sketches, so their sum is
// not twice the first.
func TestDrawsOfMembersDiffer(t *testing.T) {
	p := smallProblem(t)
	p.Models[1] = p.Models[0]
	p.Batch = p.Pool.Rows
	for _, chain := range []string{"ll>sketch(8)", "ll>acs-rf(8)"} {
		one, two := make([]float64, p.Pool.Rows), make([]float64, p.Pool.Rows)
		addScores(t, one, "maxdiag:"+chain, p)
		addScores(t, two, "maxdiag:"+chain+">ens(2)", p)
		if math.Abs(two[0]-2*one[0]) < 1e-3*one[0] {
			t.Errorf("%s: k(x, x) is %v for one network, %v for two", chain, one[0], two[0])
		}
	}
}

func addScores(t *testing.T, sums []float64, text string, p nextbatch.Problem) {
	t.Helper()
	batch, err := nextbatch.Select(t.Context(), spec.MustParse(text), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, pick := range batch.Picks {
		sums[pick.Row] += pick.Score
	}
}

// TestNoiseOfLabels: of two directions that are labelled, methods pick from the one whose label is noisy; a pending
// row has the usual noise.
func TestNoiseOfLabels(t *testing.T) {
	rows := matrix.View(3, 2, []float32{1, 0, 0, 1, 0.1, 0.1})
	for place := range 4 {
		s, noisy := spec.MustParse([]string{"maxdiag:linear>train", "bait-f-p:linear>train"}[place/2]), place%2
		p := nextbatch.Problem{Train: rows.Slice(0, 2), Pool: rows, Batch: 1, Noise: []float64{1, 1}, Pending: []int{2}}
		p.Noise[noisy] = 50
		b, err := nextbatch.Select(t.Context(), s, p)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Rows(); !slices.Equal(got, []int{noisy}) {
			t.Errorf("%v, noise %v: rows %v are picked", s, p.Noise, got)
		}
	}
}

// TestSelectSeed: the seed matters where something is drawn, and only there.
func TestSelectSeed(t *testing.T) {
	p, other := smallProblem(t), smallProblem(t)
	other.Seed = 2
	for text, drawn := range map[string]bool{"lcmd-tp:grad>sketch(24)": true, "random": true, "lcmd-tp:ll": false} {
		spec := spec.MustParse(text)
		if same := slices.Equal(rowsOn(t, 2, spec, p), rowsOn(t, 2, spec, other)); same == drawn {
			t.Errorf("%s: two seeds give the same batch: %v", text, same)
		}
	}
}

func TestSelectRefuses(t *testing.T) {
	good := smallProblem(t)
	for name, c := range map[string]struct {
		spec   string
		change func(*nextbatch.Problem)
		want   string
	}{
		"columns":  {"lcmd-tp:grad", func(p *nextbatch.Problem) { p.Train = matrix.New[float32](3, 5) }, "5 columns"},
		"networks": {"lcmd-tp:ll>ens(4)", func(*nextbatch.Problem) {}, "needs 4 trained networks, but there are 3"},
		"width": {"lcmd-tp:ll", func(p *nextbatch.Problem) {
			p.Pool, p.Train = matrix.New[float32](9, 2),
				matrix.New[float32](3, 2)
		}, "network 0 takes 4 columns"},
		"labels": {"maxdiag:ll>acs-rf-hyper(8)", func(p *nextbatch.Problem) { p.Labels = matrix.Dense[float64]{} },
			"labels"},
		"batch": {"lcmd-tp:ll", func(p *nextbatch.Problem) { p.Batch = -1 }, "positive number of rows, not -1"},
		"pool":  {"lcmd-tp:ll", func(p *nextbatch.Problem) { p.Pool = p.Pool.Slice(0, 0) }, "the pool is empty"},
		"train": {"lcmd-tp:ll", func(p *nextbatch.Problem) { p.Train = p.Train.Slice(0, 0) },
			"lcmd-tp:ll counts the labelled rows as selected"},
		"nan": {"lcmd-tp:ll", func(p *nextbatch.Problem) {
			p.Pool = p.Pool.Clone()
			p.Pool.Set(7, 1, float32(math.NaN()))
		}, "pool: row 7, input 1 is NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			c.change(&p)
			_, err := nextbatch.Select(t.Context(), spec.MustParse(c.spec), p)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

// TestFeaturesKeepTheirDigits has features whose digits beyond float32 decide: rows
// of a line that differ by less than 2^-24 of themselves. A method that computes in
// float64 picks what package selection picks on them.
func TestFeaturesKeepTheirDigits(t *testing.T) {
	stream := rng.New(7, "digits")
	draw := func(rows int) matrix.Dense[float64] {
		m := matrix.New[float64](rows, 2)
		for i := range m.Data {
			m.Data[i] = 1 + 1e-8*stream.NormFloat64()
		}
		return m
	}
	train, pool := draw(10), draw(200)
	for text, method := range map[string]selection.Method{
		"frankwolfe-p:features": selection.FrankWolfe{},
		"maxdet-p:features":     selection.MaxDet{},
		"bait-f-p:features":     selection.BAIT{},
	} {
		want, err := selection.Select(t.Context(), method, selection.Problem[float64]{Train: train,
			Pool: pool, Batch: 8, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := nextbatch.Problem{Batch: 8, Seed: 1}.WithFeatures(train, pool, matrix.Dense[float64]{})
		got, err := nextbatch.Select(t.Context(), spec.MustParse(text), p)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Rows(), want.Rows()) {
			t.Errorf("%s: %v, want %v", text, got.Rows(), want.Rows())
		}
		p.Exact = nextbatch.Sets[float64]{}
		if rounded, err := nextbatch.Select(t.Context(), spec.MustParse(text), p); err != nil ||
			slices.Equal(rounded.Rows(), want.Rows()) {
			t.Errorf("%s: the test has no such rows, error %v", text, err)
		}
		p.Exact = nextbatch.Sets[float64]{Pool: pool}
		if _, err := nextbatch.Select(t.Context(), spec.MustParse(text), p); err == nil {
			t.Errorf("%s: missing rows in float64 are accepted", text)
		}
	}
}

// identity is a model from elsewhere that has only features: the rows themselves and a
// constant.
type identity struct{ inputs int }

func (m identity) Inputs() int                      { return m.inputs }
func (m identity) Taps() kernel.Taps[float32]       { return m }
func (m identity) Infinite() kernel.InfiniteNetwork { return kernel.InfiniteNetwork{} }
func (m identity) Widths() (in, grad []int)         { return []int{m.inputs + 1}, []int{0} }

func (m identity) Block(_ context.Context, rows matrix.Dense[float32], _ int) (in, grad []matrix.Dense[float32]) {
	return []matrix.Dense[float32]{withOnes(rows)}, nil
}

func withOnes(rows matrix.Dense[float32]) matrix.Dense[float32] {
	x := matrix.New[float32](rows.Rows, rows.Cols+1)
	for i := range rows.Rows {
		copy(x.Row(i), rows.Row(i))
		x.Set(i, rows.Cols, 1)
	}
	return x
}

// TestModelsFromElsewhere: Select needs only the taps of a model. A model that provides
// features picks what the kernel features picks on them.
func TestModelsFromElsewhere(t *testing.T) {
	p := smallProblem(t)
	own := p
	own.Train, own.Pool = withOnes(p.Train), withOnes(p.Pool)
	p.Models = []nextbatch.Model{identity{p.Pool.Cols}}
	for _, method := range []string{"lcmd-tp:", "bait-f-p:", "maxdet-p:"} {
		want, err := nextbatch.Select(t.Context(), spec.MustParse(method+"features"), own)
		if err != nil {
			t.Fatal(err)
		}
		got, err := nextbatch.Select(t.Context(), spec.MustParse(method+"ll"), p)
		if err != nil || !slices.Equal(got.Rows(), want.Rows()) {
			t.Errorf("%s: %v, want %v (%v)", method, got.Rows(), want.Rows(), err)
		}
	}
}

// decaying returns rows whose features fall in size, as those of networks do.
func decaying(seed uint64, rows, cols int) matrix.Dense[float32] {
	x := matrix.New[float32](rows, cols)
	rng.FillNormal(rng.New(seed, "file test"), x.Data)
	for i := range rows {
		for j := range cols {
			x.Row(i)[j] /= float32(1 + j)
		}
	}
	return x
}

func mustSelect(t *testing.T, s spec.Spec, p nextbatch.Problem) *nextbatch.Batch {
	t.Helper()
	b, err := nextbatch.Select(t.Context(), s, p)
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return b
}
