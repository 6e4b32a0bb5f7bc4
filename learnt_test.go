package nextbatch_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
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
		Processes: []kernel.Process{{Stationary: kernel.Stationary{Shape: kernel.Matern52, Variance: 1.5, Lengths: []float64{1, 2, 3, math.MaxFloat64}}, Noise: 0.01}},
		Leaves:    kerneltest.NewStumps(4, 30, 6), Members: kerneltest.NewStumps(4, 7, 6),
	}
	return p
}

// learntSpecs use what other learners than networks have learnt.
var learntSpecs = []string{
	"lcmd-tp:matern", "maxdet-p:matern>train", "bait-f-p:matern>rff(24)>train", "lcmd-tp:matern>rff(24)", "lcmd-tp:rbf>rff(24)", "maxdist-tp:laplace>scale>rff(24)",
	"lcmd-tp:leaf", "maxdet-p:leaf>train", "lcmd-tp:leaf>sketch(24)", "bait-f-p:leaf>sketch(24)>train",
	"lcmd-tp:predictions", "bait-f-p:predictions>train",
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
	smooth := kernel.Process{Stationary: kernel.Stationary{Shape: kernel.RBF, Variance: 3, Lengths: []float64{2, 1, 1, 1}}, Noise: 0.5}
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
		k, err := kernel.NewStationary[float32](process.Stationary)
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

// TestWhatIsNotLearnt: an error says what a spec lacks, and where it comes from.
func TestWhatIsNotLearnt(t *testing.T) {
	for _, c := range []struct {
		spec, want string
		spoil      func(p *nextbatch.Problem)
	}{
		{"lcmd-tp:leaf", "leaf needs fitted trees, but there are none: choose a learner that fits some, trees or auto", func(p *nextbatch.Problem) { p.Learnt.Leaves = nil }},
		{"lcmd-tp:predictions", "predictions needs the members of an ensemble, but there are none", func(p *nextbatch.Problem) { p.Learnt.Members = nil }},
		{"lcmd-tp:leaf", "the trees take 3 columns, the pool has 4", func(p *nextbatch.Problem) { p.Learnt.Leaves = kerneltest.NewStumps(3, 2, 2) }},
		{"lcmd-tp:predictions", "the members of the ensemble take 5 columns, the pool has 4", func(p *nextbatch.Problem) { p.Learnt.Members = kerneltest.NewStumps(5, 2, 2) }},
		{"lcmd-tp:matern", "takes 2 columns, the pool has 4", func(p *nextbatch.Problem) { p.Learnt.Processes[0].Lengths = []float64{1, 1} }},
		{"lcmd-tp:matern", "processes for 2 targets, but labels for 1", func(p *nextbatch.Problem) { p.Learnt.Processes = slices.Repeat(p.Learnt.Processes, 2) }},
		{"lcmd-tp:matern", "the variance of the noise is 0", func(p *nextbatch.Problem) { p.Learnt.Processes[0].Noise = 0 }},
		{"lcmd-tp:rbf", "rbf needs the labels", func(p *nextbatch.Problem) { p.Labels = matrix.Dense[float64]{} }},
	} {
		p := learntProblem(t)
		c.spoil(&p)
		if _, err := nextbatch.Select(t.Context(), spec.MustParse(c.spec), p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.spec, err, c.want)
		}
	}
}
