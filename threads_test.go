package nextbatch_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// budgetSpecs use every kernel, transformation and method once, and both
// implementations where there are two.
var budgetSpecs = []string{
	"lcmd-tp:grad>sketch(24)", "bait-fb-p:ll>train", "bait-f-p:grad>sketch(24)>train", "maxdet-p:ntk>train",
	"maxdet-tp:grad>scale",
	"maxdist-tp:laplace(0.5)", "maxdet-p:matern>train", "lcmd-tp:rbf", "maxdet-tp:matern", "kmeanspp-tp:nngp",
	"frankwolfe-p:ll>acs-rf-hyper(8)", "frankwolfe-p:ll>acs-grad>sketch(8)",
	"lcmd-p:grad>train>ens(2)", "maxdiag:ll>acs-rf(8)", "random",
	"lcmd-tp:leaf", "lcmd-tp:leaf>sketch(24)", "lcmd-tp:predictions", "lcmd-tp:grad>sketch(24)+0.5*matern>rff(24)",
	"bait-f-p:(ll+0.5*matern>rff(24))>train",
}

// largeProblem has so many rows that every job has parts for more threads than
// other tests start.
func largeProblem(ctx context.Context, t testing.TB) (nextbatch.Problem, *network.Model) {
	t.Helper()
	stream := rng.New(5, "threads test")
	x := matrix.New[float32](6000, 12)
	rng.FillNormal(stream, x.Data)
	y := make([]float64, 400)
	for i := range y {
		y[i] = float64(x.At(i, 0) * x.At(i, 1))
	}
	r, err := network.Fit(ctx, network.Sample{X: x.Slice(0, 400), Y: y, Unlabelled: x.Slice(400, 6000)}, network.Options{
		Members: 2, Config: network.Config{
			Architecture: network.Architecture{Hidden: []int{96, 96}, Activation: network.SiLU},
			Training:     network.Training{Epochs: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PredictStd(ctx, x); err != nil {
		t.Fatal(err)
	}
	return nextbatch.Problem{Models: nextbatch.Models(r.Ensemble()), Train: x.Slice(0, 100),
		Labels: matrix.View(100, 1, y[:100]), Pool: x.Slice(400, 6000), Batch: 8, Seed: 2,
		Learnt: nextbatch.Learnt{Leaves: kerneltest.NewStumps(12, 20, 5), Members: kerneltest.NewStumps(12, 20, 5)}}, r
}

// TestBudgetIsKept: with a budget of one thread, no work starts a goroutine.
func TestBudgetIsKept(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(24))
	before := runtime.NumGoroutine()
	unchanged := func(after string) {
		t.Helper()
		// The runtime's own goroutines count while they run a cleanup, and end soon; workers would stay.
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%s started goroutines:\n%s", after, stacks[:runtime.Stack(stacks, true)])
			}
		}
	}
	ctx := nextbatch.WithThreads(t.Context(), 1)
	p, _ := largeProblem(ctx, t)
	unchanged("training")
	for _, text := range budgetSpecs {
		s := spec.MustParse(text)
		if _, err := nextbatch.Select(ctx, s, p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		unchanged("Select with " + text)
		if !s.UsesKernel() {
			continue
		}
		if _, err := nextbatch.Gram(ctx, s, p, p.Pool.Slice(0, 200), p.Pool); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		unchanged("Gram with " + text)
		k, err := nextbatch.KernelOf(ctx, s, p, 60+p.Pool.Rows)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if _, err := k.Plane(ctx, p.Pool.Slice(0, 60), p.Pool); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		unchanged("Plane with " + text)
	}
}

// TestBudgetsSideBySide: selections that run at the same time, each with its own
// threads, pick what they pick alone.
func TestBudgetsSideBySide(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	p, _ := largeProblem(t.Context(), t)
	for _, text := range []string{"lcmd-tp:grad>sketch(24)", "bait-f-p:ll>train"} {
		alone, err := nextbatch.Select(t.Context(), spec.MustParse(text), p)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for threads := range 4 {
			all.Go(func() {
				batch, err := nextbatch.Select(nextbatch.WithThreads(t.Context(), threads), spec.MustParse(text), p)
				if err != nil || !slices.Equal(batch.Rows(), alone.Rows()) {
					t.Errorf("%s with %d threads beside others: %v, %v", text, threads, batch.Rows(), err)
				}
			})
		}
		all.Wait()
	}
}
