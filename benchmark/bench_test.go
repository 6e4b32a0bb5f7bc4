package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// tiny are settings under which a round takes milliseconds.
var tiny = Settings{Seed: 3, Start: 12, Valid: 20, Hidden: []int{24, 16}, Epochs: 20}

// tinyRuns has methods of each kind: random, with and without σ², with an
// ensemble, and one that draws.
func tinyRuns(t testing.TB, splits ...int) []Run {
	t.Helper()
	runs, err := Grid{
		Sets: []string{"waves"}, Activations: []string{"relu"}, Compat: true, Splits: splits,
		Specs: []string{
			"random", "lcmd-tp:grad>sketch(16)", "bait-f-p:grad>sketch(16)>train",
			"kmeanspp-p:grad>sketch(16)>acs-rf(16)", "maxdet-p:ll>ens(2)>sketch(16)>train",
		},
		Schedules: []Schedule{{Rounds: 3, Batch: 8}},
	}.Runs()
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// waves is a data set to learn.
func waves(string) (*dataset.Regression, error) {
	d := &dataset.Regression{X: matrix.New[float32](400, 3), Y: make([]float64, 400)}
	rng.FillNormal(rng.New(1, "waves"), d.X.Data)
	for i := range d.Y {
		row := d.X.Row(i)
		d.Y[i] = 100 + 7*math.Sin(float64(2*row[0]+row[1])) + float64(row[2])
	}
	return d, nil
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "results.db") }

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func join(t testing.TB, s *Store) {
	t.Helper()
	leave, err := s.Join(Process{Version: "test"}, tiny)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leave() })
}

// do does the runs and returns the outcome of each round.
func do(t testing.TB, path string, runs []Run, jobs int) []string {
	t.Helper()
	s := open(t, path)
	join(t, s)
	b := Bench{Store: s, Settings: tiny, Load: waves, Jobs: jobs}
	if summary, err := b.Run(context.Background(), runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v of %d runs: %v", summary, len(runs), err)
	}
	return outcomes(t, path)
}

// outcomes returns all rounds of a file as texts, without what differs from time
// to time: numbers are printed so that they read back to the same bits.
func outcomes(t testing.TB, path string) []string {
	t.Helper()
	s, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	records, err := s.Records()
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = fmt.Sprintf("%v, round %d: %d labels, %+v, dimension %v, %d fallbacks, picked %v, warnings %q",
			r.Run, r.Round.Round, r.Labels, r.Test, r.EffectiveDimension, r.Fallbacks, r.Picked, r.Warnings)
	}
	return texts
}

func mustBeSame(t testing.TB, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rounds, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: round %d is\n%s\nwant\n%s", what, i, got[i], want[i])
		}
	}
}

func TestJobsAndThreadsDoNotMatter(t *testing.T) {
	runs := tinyRuns(t, 0, 1)
	want := do(t, newPath(t), runs, 1)
	if len(want) != len(runs)*4 {
		t.Fatalf("%d rounds of %d runs", len(want), len(runs))
	}
	mustBeSame(t, "three jobs", do(t, newPath(t), runs, 3), want)
	slices.Reverse(runs)
	linalg.SetThreads(1)
	mustBeSame(t, "another order", do(t, newPath(t), runs, 1), want)
}

func TestMethodsShareTheSplitAndTheFirstNetwork(t *testing.T) {
	path := newPath(t)
	do(t, path, tinyRuns(t, 0, 1), 2)
	results, err := ReadResults(path)
	if err != nil {
		t.Fatal(err)
	}
	first := map[int]Round{}
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
	path := newPath(t)
	do(t, path, tinyRuns(t, 0, 1), 1)
	records, err := open(t, path).Records()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := waves("")
	random := map[int][]int{}
	seen := map[Run]map[int]bool{}
	for _, r := range records {
		split, err := newTask(data, tiny, r.Split, r.Compat)
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
			if seen[r.Run][row] || !slices.Contains(split.split.Pool, row) {
				t.Errorf("%v, round %d: row %d is not in the pool any more", r.Run, r.Round.Round, row)
			}
			seen[r.Run][row] = true
		}
		if r.Spec == "random" && r.Round.Round == 0 {
			for _, row := range r.Picked {
				random[r.Split] = append(random[r.Split], slices.Index(split.split.Pool, row))
			}
		}
		if known := !math.IsNaN(r.EffectiveDimension); known != (want > 0 && r.Spec != "random") {
			t.Errorf("%v, round %d: effective dimension %v", r.Run, r.Round.Round, r.EffectiveDimension)
		}
	}
	if slices.Equal(random[0], random[1]) {
		t.Error("random selection draws the same in two splits")
	}
}

// The labelled rows of a resumed run stand in the order in which they came, and
// in a round in the order of the pool: that order decides about mini-batches.
func TestNewRowsComeInPoolOrder(t *testing.T) {
	data, _ := waves("")
	task, err := newTask(data, tiny, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRunner(tinyRuns(t, 0)[0], tiny, task, nil)
	if err != nil {
		t.Fatal(err)
	}
	pool := task.split.Pool
	if err := r.label([]int{pool[7], pool[2], pool[200]}); err != nil {
		t.Fatal(err)
	}
	if want := slices.Concat(task.split.Train, []int{pool[2], pool[7], pool[200]}); !slices.Equal(r.labelled, want) {
		t.Errorf("labelled %v, want %v", r.labelled, want)
	}
	if len(r.pool) != len(pool)-3 || r.pool[2] != pool[3] || r.next != 1 {
		t.Errorf("the pool has %d rows of %d", len(r.pool), len(pool))
	}
	if err := r.label([]int{pool[7]}); err == nil {
		t.Error("a row was labelled twice")
	}
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	runs := tinyRuns(t, 0)
	want := do(t, newPath(t), runs, 1)
	path := newPath(t)
	s := open(t, path)
	join(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	rounds := 0
	b := Bench{Store: s, Settings: tiny, Load: waves, Jobs: 2, Watch: func(Event) {
		if rounds++; rounds == 5 {
			cancel()
		}
	}}
	if _, err := b.Run(ctx, runs); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if n := len(outcomes(t, path)); n < 5 || n > 6 {
		t.Fatalf("%d rounds after an interrupt at 5", n)
	}
	b.Watch = nil
	if _, err := b.Run(context.Background(), runs); err != nil {
		t.Fatal(err)
	}
	mustBeSame(t, "resumed", outcomes(t, path), want)
}

func TestARunThatFails(t *testing.T) {
	runs := tinyRuns(t, 0)
	runs[1].Rounds, runs[1].BatchSize = 2, 1000 // more than there are
	path := newPath(t)
	s := open(t, path)
	join(t, s)
	var failed []Run
	b := Bench{Store: s, Settings: tiny, Load: waves, Jobs: 1, Watch: func(e Event) {
		if e.Failed != nil {
			failed = append(failed, e.Run)
		}
	}}
	summary, err := b.Run(context.Background(), runs)
	if err != nil || summary != (Summary{Done: 4, Failed: 1}) || len(failed) != 1 || failed[0] != runs[1] {
		t.Fatalf("%+v, failed %v, error %v", summary, failed, err)
	}
}

// A data set that cannot be had is told once, and the others go on.
func TestASetThatIsNotThere(t *testing.T) {
	runs := tinyRuns(t, 0)
	for _, r := range tinyRuns(t, 0, 1) {
		r.DataSet = "nowhere"
		runs = append([]Run{r}, runs...)
	}
	s := open(t, newPath(t))
	join(t, s)
	failures, givenUp := 0, 0
	b := Bench{Store: s, Settings: tiny, Jobs: 2, Watch: func(e Event) {
		if e.Failed != nil {
			failures++
			givenUp += 1 + len(e.Others)
		}
	}, Load: func(name string) (*dataset.Regression, error) {
		if name == "nowhere" {
			return nil, errors.New("no such file")
		}
		return waves(name)
	}}
	summary, err := b.Run(context.Background(), runs)
	if err != nil || summary != (Summary{Done: 5, Failed: 10}) || failures > 2 || givenUp != 10 {
		t.Fatalf("%+v, told %d times of %d runs, error %v", summary, failures, givenUp, err)
	}
	status, err := s.Status()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range status {
		if (r.Run.DataSet == "nowhere") != strings.Contains(r.Failure, "data set nowhere: no such file") {
			t.Errorf("%v: failure %q", r.Run, r.Failure)
		}
	}
}
