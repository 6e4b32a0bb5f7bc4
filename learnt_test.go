package nextbatch_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// learntProblem is smallProblem with a fitted process, trees and the members of an ensemble.
func learntProblem(t testing.TB) nextbatch.Problem {
	t.Helper()
	p := smallProblem(t)
	p.Learnt = nextbatch.Learnt{
		Processes: []kernel.Process{{Stationary: kernel.Stationary{Shape: kernel.Matern52, Variance: 1.5,
			Lengths: []float64{1, 2, 3, math.MaxFloat64}}, Noise: 0.01}},
		Leaves: kerneltest.NewStumps(4, 30, 6), Members: kerneltest.NewStumps(4, 7, 6),
	}
	return p
}

// learntSpecs use what other learners than networks have learnt.
var learntSpecs = []string{
	"lcmd-tp:matern", "maxdet-p:matern>train", "bait-f-p:matern>rff(24)>train", "lcmd-tp:matern>rff(24)",
	"lcmd-tp:rbf>rff(24)", "maxdist-tp:laplace>scale>rff(24)",
	"lcmd-tp:leaf", "maxdet-p:leaf>train", "lcmd-tp:leaf>sketch(24)", "bait-f-p:leaf>sketch(24)>train",
	"lcmd-tp:predictions", "bait-f-p:predictions>train",
	"lcmd-tp:grad>sketch(24)+0.5*matern>rff(24)", "bait-f-p:(grad>sketch(24)+0.5*matern>rff(24))>train",
	"lcmd-tp:grad+0.5*matern", "lcmd-tp:grad>sketch(24)+0.5*matern",
	"maxdet-p:(grad+0.5*matern+leaf)>train", "lcmd-tp:(grad+leaf)>sketch(24)",
	"bait-f-p:(ll>ens(2)+leaf)>sketch(24)>train", "kmeanspp-tp:(2*matern+rbf)>rff(24)",
	"maxdet-p:(linear+nngp)>acs-grad", "frankwolfe-p:(predictions+linear)>acs-rf-hyper(8)",
}

// TestSelectFromWhatIsLearnt picks on one processor and on three.
func TestSelectFromWhatIsLearnt(t *testing.T) {
	p := learntProblem(t)
	for _, text := range learntSpecs {
		t.Run(text, func(t *testing.T) {
			first := rowsOn(t, 1, spec.MustParse(text), p)
			checkRows(t, first, p)
			if again := rowsOn(t, 3, spec.MustParse(text), p); !slices.Equal(first, again) {
				t.Fatalf("one processor picks %v, three pick %v", first, again)
			}
		})
	}
}

// TestMaternIsTheFittedProcess: matern is the kernel of the fitted processes, of each target with
// its weight, in units in which the noise is σ², and needs no labels then.
func TestMaternIsTheFittedProcess(t *testing.T) {
	p := learntProblem(t)
	smooth := kernel.Process{Stationary: kernel.Stationary{Shape: kernel.RBF, Variance: 3,
		Lengths: []float64{2, 1, 1, 1}}, Noise: 0.5}
	p.Learnt.Processes, p.Weights = append(p.Learnt.Processes, smooth), []float64{2, 5}
	p.Labels, p.Train = matrix.Dense[float64]{}, matrix.Dense[float32]{}
	rows := p.Pool.Slice(0, 9)
	got, err := nextbatch.Gram(t.Context(), spec.MustParse("maxdist-p:matern"), p, rows, rows)
	if err != nil {
		t.Fatal(err)
	}
	want := matrix.New[float32](9, 9)
	for i, process := range p.Learnt.Processes {
		process.Variance *= p.Weights[i] * spec.DefaultSigma2 / process.Noise
		k, err := kernels.NewStationary[float32](process.Stationary)
		if err != nil {
			t.Fatal(err)
		}
		one := matrix.New[float32](9, 9)
		if err := k.Cross(t.Context(), one, rows, rows); err != nil {
			t.Fatal(err)
		}
		for i, v := range one.Data {
			want.Data[i] += v
		}
	}
	for i, w := range want.Data {
		if math.Abs(float64(got.Single.Data[i]-w)) > 1e-6*float64(want.Data[0]) {
			t.Fatalf("element %d is %v, want %v", i, got.Single.Data[i], w)
		}
	}
}

// TestStationaryKernelsFitAProcess: without a fitted process, rbf and matern are the kernel of the one that package gp
// fits.
func TestStationaryKernelsFitAProcess(t *testing.T) {
	p := smallProblem(t)
	inputs, labels := matrix.Converted[float64](p.Train), p.Labels.Clone().Data
	for kernelName, smooth := range map[string]bool{"rbf": true, "matern": false} {
		got, err := nextbatch.Gram(t.Context(), spec.MustParse("maxdist-p:"+kernelName), p, p.Pool, p.Train)
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := gp.Fit(t.Context(), gp.Data{Inputs: inputs, Labels: labels}, gp.Config{Smooth: smooth})
		if err != nil {
			t.Fatal(err)
		}
		given := p
		given.Learnt.Processes = []kernel.Process{{Stationary: fitted.Kernel(), Noise: fitted.Noise}}
		want, err := nextbatch.Gram(t.Context(), spec.MustParse("maxdist-p:matern"), given, p.Pool, p.Train)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Single.Data, want.Single.Data) {
			t.Errorf("%s differs from the kernel of the process", kernelName)
		}
	}
}

// TestWhatIsNotLearnt: an error says what a spec lacks, and where it comes from.
func TestWhatIsNotLearnt(t *testing.T) {
	for _, c := range []struct {
		spec, want string
		spoil      func(p *nextbatch.Problem)
	}{
		{"lcmd-tp:leaf", "leaf needs fitted trees, but there are none: choose a learner that fits some, trees or auto",
			func(p *nextbatch.Problem) { p.Learnt.Leaves = nil }},
		{"lcmd-tp:predictions", "predictions needs the members of an ensemble, but there are none",
			func(p *nextbatch.Problem) { p.Learnt.Members = nil }},
		{"lcmd-tp:leaf", "the trees take 3 columns, the pool has 4",
			func(p *nextbatch.Problem) { p.Learnt.Leaves = kerneltest.NewStumps(3, 2, 2) }},
		{"lcmd-tp:predictions", "the members of the ensemble take 5 columns, the pool has 4",
			func(p *nextbatch.Problem) { p.Learnt.Members = kerneltest.NewStumps(5, 2, 2) }},
		{"lcmd-tp:matern", "takes 2 columns, the pool has 4",
			func(p *nextbatch.Problem) { p.Learnt.Processes[0].Lengths = []float64{1, 1} }},
		{"lcmd-tp:matern", "processes for 2 targets, but labels for 1",
			func(p *nextbatch.Problem) { p.Learnt.Processes = slices.Repeat(p.Learnt.Processes, 2) }},
		{"lcmd-tp:matern", "the variance of the noise is 0", func(p *nextbatch.Problem) { p.Learnt.Processes[0].Noise = 0 }},
		{"lcmd-tp:rbf", "rbf needs the labels", func(p *nextbatch.Problem) { p.Labels = matrix.Dense[float64]{} }},
	} {
		p := learntProblem(t)
		c.spoil(&p)
		if _, err := nextbatch.Select(t.Context(), spec.MustParse(c.spec), p); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.spec, err, c.want)
		}
	}
}

func init() {
	spec.RegisterKernel(spec.KernelInfo{Name: "test-double", Description: "the inputs, in float64 alone",
		Space: spec.Explicit},
		spec.KernelMaker{Double: func(_ context.Context, s spec.Source[float64]) (kernel.Kernel[float64], error) {
			return kernel.NewLinear[float64](s.Inputs), nil
		}})
}

// TestSumWithATermInDouble: one term in float64 alone has the whole sum in float64.
func TestSumWithATermInDouble(t *testing.T) {
	p := learntProblem(t)
	p.Learnt.Processes = []kernel.Process{} // as good as none
	for _, text := range []string{"lcmd-tp:grad>sketch(24)+2*test-double", "lcmd-tp:(test-double+matern>rff(8))>sketch(8)",
		"bait-f-p:(ll+test-double)>train"} {
		checkRows(t, rowsOn(t, 2, spec.MustParse(text), p), p)
		if n, err := nextbatch.Features(t.Context(), spec.MustParse(text), p, p.Pool); err != nil ||
			n.Double.Rows != p.Pool.Rows {
			t.Errorf("%s: %d rows in float64, %v", text, n.Double.Rows, err)
		}
	}
}

// TestSumIsTheSumOfItsTerms adds the kernels of the terms up, each over its mean variance on the
// labelled rows, or on the pool.
func TestSumIsTheSumOfItsTerms(t *testing.T) {
	p := learntProblem(t)
	unlabelled := p
	unlabelled.Train, unlabelled.Labels = matrix.Dense[float32]{}, matrix.Dense[float64]{}
	for _, c := range []struct {
		problem nextbatch.Problem
		scale   matrix.Dense[float32]
		head    string
	}{
		{p, p.Train, "maxdist-p:"}, {p, p.Train, "maxdet-p:"}, {unlabelled, p.Pool, "maxdist-p:"},
		{unlabelled, p.Pool, "maxdet-p:"},
	} {
		rows := p.Pool.Slice(0, 9)
		gram := func(text string, a, b matrix.Dense[float32]) matrix.Dense[float64] {
			n, err := nextbatch.Gram(t.Context(), spec.MustParse(c.head+text), c.problem, a, b)
			if err != nil {
				t.Fatal(err)
			}
			if n.Single.Rows > 0 {
				return matrix.Converted[float64](n.Single)
			}
			return n.Double
		}
		want := matrix.New[float64](9, 9)
		for text, weight := range map[string]float64{"grad": 1, "matern": 0.5, "leaf": 3} {
			mean := 0.0
			own := gram(text, c.scale, c.scale)
			for i := range c.scale.Rows {
				mean += own.At(i, i) / float64(c.scale.Rows)
			}
			for i, v := range gram(text, rows, rows).Data {
				want.Data[i] += weight * v / mean
			}
		}
		got := gram("grad+0.5*matern+3*leaf", rows, rows)
		for i, w := range want.Data {
			if math.Abs(got.Data[i]-w) > 1e-5*want.Data[0] {
				t.Fatalf("%s: element %d is %v, want %v", c.head, i, got.Data[i], w)
			}
		}
	}
}

// TestFeaturesOfASum: they are those of the terms side by side, with independent draws.
func TestFeaturesOfASum(t *testing.T) {
	p := learntProblem(t)
	got, err := nextbatch.Features(t.Context(), spec.MustParse("lcmd-tp:matern>rff(16)+4*matern>rff(16)"), p, p.Pool)
	if err != nil {
		t.Fatal(err)
	}
	if got.Single.Cols != 32 {
		t.Fatalf("%d features", got.Single.Cols)
	}
	for i := range p.Pool.Rows {
		first, second, same := 0.0, 0.0, true
		for j, v := range got.Single.Row(i)[:16] {
			w := got.Single.At(i, 16+j)
			first, second, same = first+float64(v*v), second+float64(w*w), same && math.Abs(float64(w-2*v)) < 1e-3
		}
		if math.Abs(first-1) > 1e-5 || math.Abs(second-4) > 1e-5 || same {
			t.Fatalf("row %d: the variances are %v and %v, the draws the same: %v", i, first, second, same)
		}
	}
}

// TestSumOfADeadTerm: a term that is zero everywhere cannot be scaled, and the error names it.
func TestSumOfADeadTerm(t *testing.T) {
	p := learntProblem(t)
	p.Learnt.Members = kerneltest.NewStumps(4, 3, 1) // all members predict the same
	_, err := nextbatch.Select(t.Context(), spec.MustParse("lcmd-tp:linear+predictions"), p)
	if err == nil || !strings.Contains(err.Error(), "term 2 (from 1) of the sum: scale: the kernel is degenerate") {
		t.Error(err)
	}
}

// TestSumOfATermThatIsZeroOnPendingRows: a row in the middle of all candidates is out being labelled, and the linear
// kernel is zero on it.
func TestSumOfATermThatIsZeroOnPendingRows(t *testing.T) {
	pool := matrix.FromRows([][]float32{{0, 0}, {2, 1}, {-2, -1}, {1, -2}, {-1, 2}})
	p := nextbatch.Problem{Pool: pool, Batch: 3, Pending: []int{0}}
	batch, err := nextbatch.Select(t.Context(), spec.MustParse(start), p)
	if err != nil || len(batch.Picks) != 3 || slices.Contains(batch.Rows(), 0) {
		t.Errorf("%v, %v", batch, err)
	}
}
