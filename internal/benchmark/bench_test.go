package benchmark_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/internal/benchmark/storetest"
	"github.com/nextbatch/nextbatch/internal/device/devicetest"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/network"
)

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "results.db") }

func open(t testing.TB, path string) benchmark.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// do performs the runs in a file and returns the outcome of each round.
func do(t testing.TB, path string, runs []benchmark.Run, jobs int) []string {
	t.Helper()
	return storetest.Do(t.Context(), t, open(t, path), runs, jobs)
}

func TestJobsAndThreadsDoNotMatter(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0, 1)
	want := do(t, newPath(t), runs, 1)
	if len(want) != len(runs)*4 {
		t.Fatalf("%d rounds of %d runs", len(want), len(runs))
	}
	storetest.MustBeSame(t, "three jobs", do(t, newPath(t), runs, 3), want)
	slices.Reverse(runs)
	one := storetest.Do(linalg.WithThreads(t.Context(), 1), t, open(t, newPath(t)), runs, 1)
	storetest.MustBeSame(t, "another order, with one thread", one, want)
}

// TestGatheredRunsAreTheSame trains the networks of 1, 3 and 8 runs together, on a device that
// is the CPU.
func TestGatheredRunsAreTheSame(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0, 1)
	want := do(t, newPath(t), runs, 1)
	for _, jobs := range []int{1, 3, 8} {
		got := storetest.Do(network.WithDevice(t.Context(), devicetest.CPU{}), t, open(t, newPath(t)), runs, jobs)
		storetest.MustBeSame(t, fmt.Sprintf("%d jobs", jobs), got, want)
	}
}

// TestGatheredRunsFailApart has one run of several fail that train together.
func TestGatheredRunsFailApart(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0, 1)
	runs[3].Rounds, runs[3].BatchSize = 2, 1000 // more rows than there are
	s := open(t, newPath(t))
	storetest.Join(t, s)
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 5}
	summary, err := b.Run(network.WithDevice(t.Context(), devicetest.CPU{}), runs)
	if err != nil || summary != (benchmark.Summary{Done: 9, Failed: 1}) {
		t.Fatalf("%+v, %v", summary, err)
	}
}

func TestMethodsShareTheSplitAndTheFirstNetwork(t *testing.T) {
	t.Parallel()
	s := open(t, newPath(t))
	storetest.Do(t.Context(), t, s, storetest.Runs(t, 0, 1), 2)
	results, err := benchmark.ReadResults(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	first := map[int]benchmark.Round{}
	last := map[float64]bool{}
	for _, r := range results {
		spec, _ := r.Method()
		if spec.Members() > 1 {
			continue
		}
		if r.Round == r.Rounds {
			last[r.Test.RMSE] = true
		}
		if r.Round > 0 {
			continue
		}
		if f, ok := first[r.Split]; ok && f.Test != r.Test {
			t.Errorf("%v and %v start from %v and %v", f.Run, r.Run, f.Test, r.Test)
		}
		first[r.Split] = r
	}
	if len(first) != 2 || first[0].Test == first[1].Test {
		t.Errorf("two splits start from %+v", first)
	}
	if len(last) != 8 {
		t.Errorf("8 runs end with %d different errors", len(last))
	}
}

func TestPicksOfARun(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	do(t, path, storetest.Runs(t, 0, 1), 1)
	records, err := open(t, path).Records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, _ := storetest.Waves("")
	random := map[int][]int{}
	seen := map[benchmark.Run]map[int]bool{}
	for _, r := range records {
		pool, err := benchmark.PoolOf(data, storetest.Settings(), r.Split, r.Compat)
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.Run] == nil {
			seen[r.Run] = map[int]bool{}
		}
		want := r.BatchSize
		if r.Round.Round == r.Rounds {
			want = 0
		}
		if len(r.Picked) != want || r.Labels != 12+8*r.Round.Round {
			t.Errorf("%v, round %d: %d labels, %d picks", r.Run, r.Round.Round, r.Labels, len(r.Picked))
		}
		for _, row := range r.Picked {
			if seen[r.Run][row] || !slices.Contains(pool, row) {
				t.Errorf("%v, round %d: row %d is no longer in the pool", r.Run, r.Round.Round, row)
			}
			seen[r.Run][row] = true
		}
		if r.Spec == "random" && r.Round.Round == 0 {
			for _, row := range r.Picked {
				random[r.Split] = append(random[r.Split], slices.Index(pool, row))
			}
		}
		if known := !math.IsNaN(r.EffectiveDimension); known != (want > 0 && r.Spec != "random") {
			t.Errorf("%v, round %d: effective dimension %v", r.Run, r.Round.Round, r.EffectiveDimension)
		}
	}
	if slices.Equal(random[0], random[1]) {
		t.Error("random selection draws the same rows in two splits")
	}
}

func TestInterruptedRunResumes(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	want := do(t, newPath(t), runs, 1)
	path := newPath(t)
	s := open(t, path)
	storetest.Join(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	rounds := 0
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 2,
		Watch: func(benchmark.Event) {
			if rounds++; rounds == 5 {
				cancel()
			}
		}}
	if _, err := b.Run(ctx, runs); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if n := len(storetest.Outcomes(t, s)); n < 5 || n > 6 {
		t.Fatalf("%d rounds after an interrupt at 5", n)
	}
	b.Watch = nil
	if _, err := b.Run(context.Background(), runs); err != nil {
		t.Fatal(err)
	}
	storetest.MustBeSame(t, "resumed", storetest.Outcomes(t, s), want)
}

// appends counts the rounds that a store is given.
type appends struct {
	benchmark.Store
	second chan struct{} // closed by the second
	count  atomic.Int32
}

func (s *appends) Append(c *benchmark.Claim, r benchmark.Record) error {
	err := s.Store.Append(c, r)
	if s.count.Add(1) == 2 {
		close(s.second)
	}
	return err
}

// TestWatchHoldsUpNobody: while Watch deals with an event of one run, another run
// finishes a round.
func TestWatchHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := &appends{Store: open(t, newPath(t)), second: make(chan struct{})}
	storetest.Join(t, s)
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 2,
		Watch: func(benchmark.Event) { <-s.second }}
	summary, err := b.Run(t.Context(), storetest.Runs(t, 0)[:2])
	if err != nil || summary.Done != 2 {
		t.Fatalf("%+v, error %v", summary, err)
	}
}

func TestFailingRun(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	runs[1].Rounds, runs[1].BatchSize = 2, 1000 // more rows than there are
	path := newPath(t)
	s := open(t, path)
	storetest.Join(t, s)
	var failed []benchmark.Run
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Load: storetest.Waves, Jobs: 1,
		Watch: func(e benchmark.Event) {
			if e.Failed != nil {
				failed = append(failed, e.Run)
			}
		}}
	summary, err := b.Run(context.Background(), runs)
	if err != nil || summary != (benchmark.Summary{Done: 4, Failed: 1}) || len(failed) != 1 || failed[0] != runs[1] {
		t.Fatalf("%+v, failed %v, error %v", summary, failed, err)
	}
}

// A data set that cannot be loaded is reported once, and the others go on.
func TestMissingSet(t *testing.T) {
	t.Parallel()
	runs := storetest.Runs(t, 0)
	for _, r := range storetest.Runs(t, 0, 1) {
		r.DataSet = "nowhere"
		runs = append([]benchmark.Run{r}, runs...)
	}
	s := open(t, newPath(t))
	storetest.Join(t, s)
	failures, givenUp := 0, 0
	b := benchmark.Bench{Store: s, Settings: storetest.Settings(), Jobs: 2, Watch: func(e benchmark.Event) {
		if e.Failed != nil {
			failures++
			givenUp += 1 + len(e.Others)
		}
	}, Load: func(name string) (*sets.Regression, error) {
		if name == "nowhere" {
			return nil, errors.New("no such file")
		}
		return storetest.Waves(name)
	}}
	summary, err := b.Run(context.Background(), runs)
	if err != nil || summary != (benchmark.Summary{Done: 5, Failed: 10}) || failures > 2 || givenUp != 10 {
		t.Fatalf("%+v, %d reports about %d runs, error %v", summary, failures, givenUp, err)
	}
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range status {
		if (r.Run.DataSet == "nowhere") != strings.Contains(r.Failure, "data set nowhere: no such file") {
			t.Errorf("%v: failure %q", r.Run, r.Failure)
		}
	}
}
