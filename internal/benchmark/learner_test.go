package benchmark_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

func TestLearnersComeBeforeMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind         learner.Kind
		method, text string
	}{
		{learner.NetworkAlone, "random", "random"}, {learner.Auto, "lcmd-tp:grad", "auto, lcmd-tp:grad"},
		{learner.GaussianOnly, "random@compat", "gp, random@compat"},
		{learner.NetworkAlone, "other, random", "other, random"}, {learner.NetworkAlone, ", random", ", random"},
	} {
		if got := benchmark.JoinSpec(c.kind, c.method); got != c.text {
			t.Errorf("%s and %s become %q", c.kind, c.method, got)
		}
		if kind, method := benchmark.SplitSpec(c.text); kind != c.kind || method != c.method {
			t.Errorf("%q becomes %s and %s", c.text, kind, method)
		}
	}
	run := benchmark.Run{DataSet: "waves", Activation: "relu", BatchSize: 8, Rounds: 2}
	for text, wrong := range map[string]string{
		"random": "", "auto, random": "", "auto, lcmd-tp:leaf": "", "trees, lcmd-tp:predictions": "",
		"gp, lcmd-tp:matern": "",
		"network, random":    `canonical text of "network, random" is "random"`, "gp, lcmd-tp:leaf": "needs trees",
		"lcmd-tp:predictions": "needs a blend",
		"forest, random":      "forest",
	} {
		run.Spec = text
		if err := run.Check(); (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGridOfLearners(t *testing.T) {
	t.Parallel()
	g := benchmark.Grid{
		Sets: []string{"a", "b"}, Activations: []string{"relu"}, Splits: []int{0}, Specs: []string{"random", "lcmd-tp:leaf"},
		Schedules: []benchmark.Schedule{{Rounds: 1, Batch: 1}}, Learners: []string{"network", "auto"},
	}
	runs, err := g.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range runs {
		texts = append(texts, r.DataSet+" "+r.Spec)
	}
	if want := []string{"a random", "a auto, random", "a auto, lcmd-tp:leaf", "b random", "b auto, random",
		"b auto, lcmd-tp:leaf"}; !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
	if left := g.Omitted(); len(left) != 1 || !strings.HasPrefix(left[0],
		"network, lcmd-tp:leaf is left out: the kernel leaf needs trees") {
		t.Errorf("%q", left)
	}
	g.Learners = []string{"network", "gp"}
	if _, err := g.Runs(); err == nil || !strings.Contains(err.Error(), "needs trees") {
		t.Errorf("no learner has leaves: %v", err)
	}
	g.Learners = []string{"forest"}
	if _, err := g.Runs(); err == nil || !strings.Contains(err.Error(), `not "forest"`) {
		t.Errorf("an unknown learner: %v", err)
	}
}

// TestLearnersOnJobsAndThreads: the results of learners do not depend on jobs, threads or a device, and a run that
// was stopped after a round resumes.
func TestLearnersOnJobsAndThreads(t *testing.T) {
	t.Parallel()
	runs := storetest.Learners(t, 0)
	want := do(t, newPath(t), runs, 1)
	if len(runs) != 8 || len(want) != 3*len(runs) {
		t.Fatalf("%d rounds of %d runs", len(want), len(runs))
	}
	for _, text := range want {
		if !strings.Contains(text, benchmark.ChoiceNote) {
			t.Errorf("the choice is missing: %s", text)
		}
	}
	storetest.MustBeSame(t, "three jobs", do(t, newPath(t), runs, 3), want)
	one := storetest.Do(linalg.WithThreads(t.Context(), 1), t, open(t, newPath(t)), runs, 1)
	storetest.MustBeSame(t, "one thread", one, want)
	device := storetest.Do(network.WithDevice(t.Context(), devicetest.CPU{}), t, open(t, newPath(t)), runs, 3)
	storetest.MustBeSame(t, "on a device", device, want)

	s := open(t, newPath(t))
	storetest.Join(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 2,
		Watch: func(benchmark.Event) { cancel() }}
	if _, err := b.Run(ctx, runs); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if _, err := b.Run(t.Context(), runs); err != nil {
		t.Fatal(err)
	}
	storetest.MustBeSame(t, "resumed", storetest.Outcomes(t, s), want)
}

// TestLearnersGetTheSameRandomRows: by random selection, learners are compared on the same rows.
func TestLearnersGetTheSameRandomRows(t *testing.T) {
	t.Parallel()
	data, _ := storetest.Waves("")
	s := storetest.Settings()
	s.Valid = benchmark.NoValidation
	var runs []benchmark.Run
	for _, kind := range learner.Kinds() {
		runs = append(runs, benchmark.Run{DataSet: "waves", Activation: "relu", Spec: benchmark.JoinSpec(kind, "random"),
			BatchSize: 8, Rounds: 2})
	}
	picked, rmses := map[string]bool{}, map[float64]bool{}
	results, err := benchmark.Replay(t.Context(), data, s, runs, func(r benchmark.Record) {
		if r.Round.Round < r.Rounds {
			picked[fmt.Sprint(r.Round.Round, r.Picked)] = true
		}
		rmses[r.Test.RMSE] = true
	})
	if all := 3 * len(learner.Kinds()); err != nil || len(results) != all || len(picked) != 2 || len(rmses) != all {
		t.Errorf("%d rounds, %d different batches, %d different errors: %v", len(results), len(picked), len(rmses), err)
	}
}

// TestLearnersSeeCategories: trees get categories as such, and every target is predicted.
func TestLearnersSeeCategories(t *testing.T) {
	t.Parallel()
	draw := rng.New(1, "categories")
	size, kind := dataset.NewNumeric("size"), dataset.NewCategorical("kind", "a", "b", "c", "d", "e", "f")
	y, z := dataset.NewNumeric("y"), dataset.NewNumeric("z")
	for range 400 {
		x, k := draw.NormFloat64(), draw.IntN(6)
		size.Append(x)
		kind.Append(int32(k))
		y.Append(10 + 3*float64(k%2)*x)
		z.Append(float64(k))
	}
	table, err := dataset.NewTable(size, kind, y, z)
	if err != nil {
		t.Fatal(err)
	}
	data,
		err := sets.Prepare(table, sets.Preparation{Targets: []encode.Target{{Columns: []string{"y"}},
		{Columns: []string{"z"}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := benchmark.Settings{Start: 60, Valid: benchmark.NoValidation, Hidden: []int{24}, Epochs: 20}
	runs := []benchmark.Run{{DataSet: "c", Activation: "relu", Spec: "auto, lcmd-tp:leaf>sketch(64)",
		BatchSize: 60, Rounds: 1}}
	results, err := benchmark.Replay(t.Context(), data, s, runs, nil)
	if err != nil || len(results) != 2 {
		t.Fatal(len(results), err)
	}
	last := results[1]
	if len(last.Targets) != 2 || last.Targets[1].Target != "z" || !(last.Targets[1].RMSE < 0.1) ||
		!(last.Test.RMSE < 0.4) || math.IsNaN(results[0].EffectiveDimension) {
		t.Errorf("errors %+v, of targets %+v, dimension %v", last.Test, last.Targets, results[0].EffectiveDimension)
	}
}

// TestSingleMember: with so few labels, trees are one member, whose predictions do not make a kernel.
func TestSingleMember(t *testing.T) {
	t.Parallel()
	data, _ := storetest.Waves("")
	run := benchmark.Run{DataSet: "waves", Activation: "relu", Spec: "trees, lcmd-tp:predictions", BatchSize: 4, Rounds: 1}
	results, err := benchmark.Replay(t.Context(), data, storetest.Settings(), []benchmark.Run{run},
		func(r benchmark.Record) {
			if warned := strings.Contains(strings.Join(r.Warnings, "\n"), "single member"); warned != (r.Round.Round == 0) ||
				len(r.Picked) != r.Fallbacks {
				t.Errorf("round %d: %q, %d fallbacks, %d rows", r.Round.Round, r.Warnings, r.Fallbacks, len(r.Picked))
			}
		})
	if err != nil || len(results) != 2 {
		t.Errorf("%d rounds, %v", len(results), err)
	}
}
