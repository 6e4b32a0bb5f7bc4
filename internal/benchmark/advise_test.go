package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/spec"
)

// question asks about n rows with a smooth label, with networks so small that the
// answer is immediate.
func question(n int) Question {
	stream := rng.New(1, "advise test")
	data := &sets.Regression{X: matrix.New[float32](n, 2), Y: make([]float64, n)}
	for i := range n {
		a, b := stream.Float64(), stream.Float64()
		data.X.Set(i, 0, float32(a))
		data.X.Set(i, 1, float32(b))
		data.Y[i] = math.Sin(4*a) + b
	}
	return Question{Data: data, Specs: []string{"lcmd-tp:linear"}, Hidden: []int{8}, Epochs: 3, Rounds: 2, Repeats: 3}
}

func TestAdvise(t *testing.T) {
	t.Parallel()
	steps := 0
	q := question(300)
	q.Progress = func(done, of int, _ Record) {
		steps++
		if done != steps || done > of {
			t.Errorf("step %d of %d after %d", done, of, steps)
		}
	}
	a, err := q.Advise(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if a.Because.String() == "" || a.Method == "" || len(a.Comparison.Methods) != 1 || a.Comparison.Splits != 3 ||
		!(a.Variation.Ratio > 1) || a.Variation.Labels != 140 {
		t.Errorf("%+v", a)
	}
	if want := (ReplaySizes{Rows: 300, Test: 60, Valid: 30, Start: 48, Batch: 46, Rounds: 2,
		Repeats: 3}); a.Sizes != want {
		t.Errorf("sizes %+v", a.Sizes)
	}
	again, err := q.withoutProgress().Advise(linalg.WithThreads(t.Context(), 1))
	if err != nil || again.Comparison.Methods[0].Reduction != a.Comparison.Methods[0].Reduction ||
		again.Variation != a.Variation || again.Batch != a.Batch {
		t.Errorf("a second time, with one thread: %+v and %+v, %v", a, again, err)
	}
}

func (q Question) withoutProgress() Question {
	q.Progress = nil
	return q
}

func TestAdviseFewRows(t *testing.T) {
	t.Parallel()
	for n, batch := range map[int]int{5: 2, 64: 16, 99: 25} {
		a, err := question(n).Advise(context.Background())
		if err != nil || a.Verdict != Unclear || a.Comparison != nil || a.More != 100-n || a.Batch != batch {
			t.Errorf("%d rows: %+v, %v", n, a, err)
		}
		if want := fmt.Sprintf("%d rows have a label", n); !strings.Contains(a.Because.String(), want) {
			t.Errorf("%q is not in %q", want, a.Because)
		}
	}
}

// TestReplaySizes: a replay uses most of the labels, leaves a choice, and its batches are
// in proportion to them.
func TestReplaySizes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]ReplaySizes{
		100:    {100, 20, 10, 13, 11, 3, 10},
		1500:   {1500, 300, 150, 175, 175, 3, 10},
		20_000: {20_000, 4000, 512, 256, 256, 3, 10},
	} {
		s := replaySizes(n, 3, 10, "")
		if s != want {
			t.Errorf("%d rows: %+v, want %+v", n, s, want)
		}
		if last := s.Start + s.Rounds*s.Batch; last > s.Rows-s.Test-s.Valid-s.Batch {
			t.Errorf("%d rows: after %d labels too few are left to choose from: %+v", n, last, s)
		}
	}
}

func TestAdviseRefuses(t *testing.T) {
	t.Parallel()
	equal := question(200)
	clear(equal.Data.Y)
	unknown, random, once, twice, long := question(200), question(200), question(200), question(200), question(200)
	unknown.Specs = []string{"nothing"}
	random.Specs = []string{"random"}
	once.Repeats = 2
	twice.Specs = append(twice.Specs, twice.Specs...)
	long.Rounds = 200
	for name, q := range map[string]Question{"equal labels": equal, "unknown method": unknown, "random": random,
		"two repeats": once, "a method named twice": twice, "more rounds than rows": long} {
		if _, err := q.Advise(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := question(200).Advise(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

// TestAdviseKnowsGain asks about one table with a gain and one without.
func TestAdviseKnowsGain(t *testing.T) {
	if testing.Short() {
		t.Skip("trains many networks")
	}
	t.Parallel()
	if a := advised(t, gainTable(400, 1), 6); a.Verdict != Beats || a.Method != a.Spec || a.Batch != a.Sizes.Batch {
		t.Errorf("%s: %s; %+v", a.Answer(), a.Because, a)
	}
	if a := advised(t, linearTable(300, 1), 6); a.Verdict == Beats {
		t.Errorf("%s: %s", a.Answer(), a.Because)
	}
}

// blendQuestion asks about a blend whose networks take no time.
func blendQuestion(n int, kind learner.Kind) Question {
	q := question(n)
	q.Learner, q.Specs = kind, nil
	return q
}

// TestAdviseBlends: a blend is chosen once, and its usual method is compared with random rows, whatever the
// number of threads.
func TestAdviseBlends(t *testing.T) {
	t.Parallel()
	for _, kind := range []learner.Kind{learner.Auto, learner.GaussianOnly, learner.TreesOnly} {
		q := blendQuestion(120, kind)
		chosen, rounds := 0, 0
		q.Fitting = func(string, int, int) { chosen++ }
		q.Progress = func(done, of int, r Record) {
			if rounds++; done != rounds || done > of || len(Troubles(r)) > 0 || r.Learner().Blends() {
				t.Errorf("%s: step %d of %d after %d: %+v", kind, done, of, rounds, r)
			}
		}
		a, err := q.Advise(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Chosen) != 1 || !strings.Contains(a.Chosen[0].Learner.String(), "RMSE out of fold") ||
			len(a.Chosen[0].Candidates) == 0 || chosen < 6 || rounds != 3*2*3 {
			t.Errorf("%s: %+v after %d fits and %d rounds", kind, a.Chosen, chosen, rounds)
		}
		if want := (ReplaySizes{Rows: 120, Test: 24, Start: 22, Batch: 21, Rounds: 2, Repeats: 3}); a.Sizes != want {
			t.Errorf("%s: sizes %+v", kind, a.Sizes)
		}
		if len(a.Comparison.Methods) != 1 || a.Comparison.Methods[0].Spec != nextbatch.DefaultSpec(kind, 120) ||
			!(a.Variation.Ratio > 1) {
			t.Errorf("%s: %+v", kind, a.Comparison)
		}
		q.Fitting = nil
		again, err := q.withoutProgress().Advise(linalg.WithThreads(t.Context(), 1))
		if err != nil || fmt.Sprint(again.Chosen) != fmt.Sprint(a.Chosen) ||
			again.Comparison.Methods[0].Reduction != a.Comparison.Methods[0].Reduction {
			t.Errorf("%s: with one thread %+v, %v", kind, again, err)
		}
	}
}

// TestReplayedCandidates: networks take part in a replay only if they have a weight worth their time.
func TestReplayedCandidates(t *testing.T) {
	t.Parallel()
	for weight, want := range map[float64]string{0: "[gp boosting]", 0.05: "[gp boosting]", 0.1: "[gp boosting network]"} {
		all := []learner.Candidate{{Name: "gp"}, {Name: "boosting", Weight: 1 - weight}, {Name: "network", Weight: weight}}
		if got := fmt.Sprint(replayed(all)); got != want {
			t.Errorf("a network of weight %v: %s, want %s", weight, got, want)
		}
	}
}

// TestAdviseBlendsFewRows: without a replay, the model is still chosen.
func TestAdviseBlendsFewRows(t *testing.T) {
	t.Parallel()
	for n, models := range map[int]int{4: 0, 30: 1} {
		a, err := blendQuestion(n, learner.Auto).Advise(t.Context())
		if err != nil || a.Comparison != nil || len(a.Chosen) != models ||
			a.Method != nextbatch.DefaultSpec(learner.Auto, n) {
			t.Errorf("%d rows: %+v, %v", n, a, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	q := blendQuestion(30, learner.Auto)
	q.Fitting = func(string, int, int) { cancel() }
	if _, err := q.Advise(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends while the model is chosen: %v", err)
	}
}

// TestReplaySharesStarts: the first round of a split is fitted once, and the results are those of runs
// that fit their own.
func TestReplaySharesStarts(t *testing.T) {
	t.Parallel()
	data := question(120).Data
	s := Settings{Start: 20, Valid: 12, Hidden: []int{8}, Epochs: 3}
	for _, kind := range []learner.Kind{learner.NetworkAlone, learner.Auto} {
		var runs []Run
		for _, method := range []string{randomSpec, "lcmd-tp:linear", spec.Default} {
			runs = append(runs, Run{DataSet: "table", Activation: "relu", Spec: JoinSpec(kind, method),
				BatchSize: 10, Rounds: 1})
		}
		shared, err := Replay(t.Context(), data, s, runs, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, run := range runs {
			own, err := Replay(t.Context(), data, s, []Run{run}, nil)
			if err != nil || own[0].Test != shared[2*i].Test || own[1].Test != shared[2*i+1].Test {
				t.Errorf("%s: %+v and %+v, %v", run.Spec, own, shared[2*i:2*i+2], err)
			}
		}
	}
}
