// Package storetest provides the tests that every store of results must pass, and
// small runs to try one with.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/matrix"
)

// Opener opens the same store each time, as another process would.
type Opener func(t testing.TB) benchmark.Store

// Test holds a store to the contract of benchmark.Store. Each call of fresh makes a
// new, empty store.
func Test(t *testing.T, fresh func(t testing.TB) Opener) {
	for name, test := range map[string]func(*testing.T, Opener){
		"claims are exclusive":             testClaims,
		"records are kept":                 testRecords,
		"errors of targets are kept":       testTargets,
		"order":                            testOrder,
		"names are kept":                   testNames,
		"out-of-bounds values are refused": testBounds,
		"settings must agree":              testSettings,
		"sets must agree":                  testSets,
		"failures":                         testFailures,
		"status":                           testStatus,
		"the latest rounds":                testLatest,
		"goroutines":                       testGoroutines,
		"two benches share the runs":       testBenches,
		"reading takes a context":          testContext,
		"a stopped bench resumes":          testResume,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

// Settings returns settings with which a round takes milliseconds.
func Settings() benchmark.Settings {
	return benchmark.Settings{Seed: 3, Start: 12, Valid: 20, Hidden: []int{24, 16}, Epochs: 20}
}

// Runs returns runs of methods of each kind: random, with and without σ², with an
// ensemble, and one that draws at random.
func Runs(t testing.TB, splits ...int) []benchmark.Run {
	t.Helper()
	runs, err := benchmark.Grid{
		Sets: []string{"waves"}, Activations: []string{"relu"}, Compat: true, Splits: splits,
		Specs: []string{
			"random", "lcmd-tp:grad>sketch(16)", "bait-f-p:grad>sketch(16)>train",
			"kmeanspp-p:grad>sketch(16)>acs-rf(16)", "maxdet-p:ll>ens(2)>sketch(16)>train",
		},
		Schedules: []benchmark.Schedule{{Rounds: 3, Batch: 8}},
	}.Runs()
	must(t, err)
	return runs
}

// Learners returns runs whose models are not networks alone.
func Learners(t testing.TB, splits ...int) []benchmark.Run {
	t.Helper()
	runs, err := benchmark.Grid{
		Sets: []string{"waves"}, Activations: []string{"relu"}, Splits: splits,
		Learners: []string{"auto", "gp", "trees"}, Specs: []string{"random", "lcmd-tp:leaf>sketch(16)",
			"lcmd-tp:grad>sketch(16)"},
		Schedules: []benchmark.Schedule{{Rounds: 2, Batch: 8}},
	}.Runs()
	must(t, err)
	return runs
}

// Waves returns a data set to learn.
func Waves(string) (*sets.Regression, error) {
	d := &sets.Regression{X: matrix.New[float32](400, 3), Y: make([]float64, 400)}
	rng.FillNormal(rng.New(1, "waves"), d.X.Data)
	for i := range d.Y {
		row := d.X.Row(i)
		d.Y[i] = 100 + 7*math.Sin(float64(2*row[0]+row[1])) + float64(row[2])
	}
	return d, nil
}

// Join joins a store until the test ends.
func Join(t testing.TB, s benchmark.Store) (leave func() error) {
	t.Helper()
	leave, err := s.Join(benchmark.Process{Version: "test"}, Settings())
	must(t, err)
	once := sync.OnceValue(leave)
	t.Cleanup(func() { _ = once() })
	return once
}

// Do performs the runs and returns the outcome of each round.
func Do(ctx context.Context, t testing.TB, s benchmark.Store, runs []benchmark.Run, jobs int) []string {
	t.Helper()
	Join(t, s)
	b := benchmark.Bench{Store: s, Settings: Settings(), Load: Waves, Jobs: jobs}
	if summary, err := b.Run(ctx, runs); err != nil || summary.Done != len(runs) {
		t.Fatalf("%+v of %d runs: %v", summary, len(runs), err)
	}
	return Outcomes(t, s)
}

// Outcomes returns all rounds as texts, without what varies between repetitions;
// numbers are printed so that they parse to the same bits.
func Outcomes(t testing.TB, r benchmark.Reader) []string {
	t.Helper()
	records, err := r.Records(t.Context())
	must(t, err)
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = fmt.Sprintf(
			"%v, round %d: %d labels, %+v, of targets %+v, dimension %v, %d fallbacks, picked %v, warnings %q",
			r.Run, r.Round.Round, r.Labels, r.Test, r.Targets, r.EffectiveDimension, r.Fallbacks, r.Picked, r.Warnings)
	}
	return texts
}

// MustBeSame compares outcomes.
func MustBeSame(t testing.TB, what string, got, want []string) {
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// planned opens a store with runs to claim.
func planned(t *testing.T, open Opener, runs ...benchmark.Run) benchmark.Store {
	t.Helper()
	s := open(t)
	Join(t, s)
	must(t, s.Plan(runs))
	return s
}

func claimed(t *testing.T, s benchmark.Store, run benchmark.Run) *benchmark.Claim {
	t.Helper()
	c, err := s.Claim(run)
	must(t, err)
	return c
}

func round(run benchmark.Run, number int) benchmark.Record {
	return benchmark.Record{Round: benchmark.Round{Run: run, Round: number, Labels: 12 + 8*number, Training: 0.25,
		Elapsed: 0.5, EffectiveDimension: math.NaN()}}
}

func testClaims(t *testing.T, open Opener) {
	runs := Runs(t, 0)
	a := planned(t, open, runs...)
	b := open(t)
	leave := Join(t, b)
	claim := claimed(t, a, runs[0])
	if _, err := b.Claim(runs[0]); !errors.Is(err, benchmark.ErrTaken) {
		t.Errorf("a run with an owner: %v", err)
	}
	claimed(t, a, runs[0]) // its own
	must(t, a.Release(claim, nil))
	theirs := claimed(t, b, runs[0])
	if err := a.Append(claim, round(runs[0], 0)); !errors.Is(err, benchmark.ErrTaken) {
		t.Errorf("a round of a run that was lost: %v", err)
	}
	must(t, a.Release(claim, errors.New("no longer mine")))
	must(t, b.Append(theirs, round(runs[0], 0)))
	must(t, leave())
	if c := claimed(t, a, runs[0]); len(c.Done) != 1 {
		t.Errorf("%d rounds after the other has left", len(c.Done))
	}
	if _, err := a.Claim(Runs(t, 7)[0]); err == nil {
		t.Error("an unplanned run was claimed")
	}
}

// Records are read back as they were written, including numbers that SQL lacks.
func testRecords(t *testing.T, open Opener) {
	run := Runs(t, 4)[2]
	s := planned(t, open, run, run)
	claim := claimed(t, s, run)
	r := benchmark.Record{Round: benchmark.Round{Run: run, Labels: 7, Training: 0.25, EffectiveDimension: math.NaN()},
		Picked: []int{5, 0, 499999}, Warnings: []string{"σ"}, Threads: 2}
	r.Test.RMSE, r.Test.MaxE, r.Test.Q95 = math.NaN(), math.Inf(1), 1.0/3
	must(t, s.Append(claim, r))
	if err := s.Append(claim, r); err == nil {
		t.Error("a round was written twice")
	}
	back, err := open(t).Records(t.Context()) // durable: as another process sees it
	if err != nil || len(back) != 1 {
		t.Fatalf("%d rounds, %v", len(back), err)
	}
	got := back[0]
	if !math.IsNaN(got.Test.RMSE) || !math.IsNaN(got.EffectiveDimension) || got.Test.MaxE != math.Inf(1) ||
		got.Test.Q95 != 1.0/3 {
		t.Errorf("metrics %+v", got.Test)
	}
	if got.Run != run || !slices.Equal(got.Picked, r.Picked) || !slices.Equal(got.Warnings, r.Warnings) ||
		got.Training != 0.25 || got.Threads != 2 {
		t.Errorf("got %+v", got)
	}
	if got.By.Version != "test" || got.Finished.IsZero() {
		t.Errorf("by %+v at %v", got.By, got.Finished)
	}
}

// A round with several targets keeps the errors of each, in their order; one with a single
// target has none.
func testTargets(t *testing.T, open Opener) {
	runs := Runs(t, 0)[:2]
	s := planned(t, open, runs...)
	want := []benchmark.TargetErrors{{Target: "z'\"ß"}, {Target: ""}, {Target: "a"}}
	want[0].MAE, want[0].RMSE, want[0].MaxE, want[0].Q95, want[0].Q99 = 1.0/3, math.Inf(1), 3, 4, 5
	want[1].MAE, want[2].Q99 = 0.5, 0.25
	claims := []*benchmark.Claim{claimed(t, s, runs[0]), claimed(t, s, runs[1])}
	for number := range 2 {
		must(t, s.Append(claims[0], round(runs[0], number)))
		several := round(runs[1], number)
		several.Targets = want[number:]
		must(t, s.Append(claims[1], several))
	}
	unknown := round(runs[1], 2)
	unknown.Targets = []benchmark.TargetErrors{{Target: "y"}}
	unknown.Targets[0].MAE, unknown.Targets[0].RMSE = math.NaN(), math.NaN()
	must(t, s.Append(claims[1], unknown))
	endless := round(runs[1], 3)
	endless.Targets = []benchmark.TargetErrors{{Target: strings.Repeat("x", 1<<20)}}
	if err := s.Append(claims[1], endless); err == nil || !strings.Contains(err.Error(), "name of a target") {
		t.Errorf("a name of a mebibyte: %v", err)
	}
	records, err := open(t).Records(t.Context()) // as another process sees it
	must(t, err)
	claim := claimed(t, s, runs[1])
	for _, list := range [][]benchmark.Record{records, claim.Done} {
		for _, r := range list {
			switch {
			case r.Run == runs[0] && r.Targets == nil:
			case r.Run == runs[1] && r.Round.Round == 2 && len(r.Targets) == 1 && math.IsNaN(r.Targets[0].MAE) &&
				math.IsNaN(r.Targets[0].RMSE):
			case r.Run == runs[1] && r.Round.Round < 2 && slices.Equal(r.Targets, want[r.Round.Round:]):
			default:
				t.Errorf("%v, round %d: targets %+v", r.Run, r.Round.Round, r.Targets)
			}
		}
	}
	if len(records) != 5 || len(claim.Done) != 3 {
		t.Errorf("%d and %d rounds", len(records), len(claim.Done))
	}
}

func testOrder(t *testing.T, open Opener) {
	runs := Runs(t, 1, 0)
	for _, name := range []string{"Waves", "waves!", "ä"} {
		other := runs[0]
		other.DataSet = name
		runs = append(runs, other)
	}
	other := runs[0]
	other.Compat = false
	runs = append(runs, other)
	s := planned(t, open, runs...)
	for _, run := range runs {
		claim := claimed(t, s, run)
		must(t, s.Append(claim, round(run, 0)))
		must(t, s.Append(claim, round(run, 1)))
	}
	want := slices.Clone(runs)
	slices.SortFunc(want, benchmark.Run.Compare)
	status, err := s.Status(t.Context())
	must(t, err)
	records, err := s.Records(t.Context())
	must(t, err)
	for i, run := range want {
		if status[i].Run != run || status[i].Done != 2 {
			t.Errorf("status %d is of %v, want %v", i, status[i].Run, run)
		}
		if a, b := records[2*i], records[2*i+1]; a.Run != run || b.Run != run || a.Round.Round != 0 || b.Round.Round != 1 {
			t.Errorf("records %d are of %v and %v, want %v", 2*i, a.Run, b.Run, run)
		}
	}
}

// A store does not alter names.
func testNames(t *testing.T, open Opener) {
	run := Runs(t, 0)[0]
	run.DataSet = `a'b"c; DROP TABLE runs; -- % _ \ ` + "\x1b[2J\t\nß" + strings.Repeat("x", 900)
	s := planned(t, open, run)
	failure := "x'\x1b\nß"
	must(t, s.Release(claimed(t, s, run), errors.New(failure)))
	status, err := s.Status(t.Context())
	if err != nil || len(status) != 1 || status[0].Run != run || status[0].Failure != failure {
		t.Errorf("%+v, %v", status, err)
	}
}

func testBounds(t *testing.T, open Opener) {
	run := Runs(t, 0)[0]
	s := planned(t, open, run)
	long := run
	long.DataSet = strings.Repeat("x", 1<<20)
	endless := run
	endless.Rounds = math.MaxInt64
	for _, r := range []benchmark.Run{long, endless} {
		if err := s.Plan([]benchmark.Run{run, r}); err == nil {
			t.Errorf("%.40v was planned", r)
		}
	}
	claim := claimed(t, s, run)
	for _, seconds := range []float64{math.Inf(1), math.NaN(), -1, 1e300} {
		r := round(run, 0)
		r.Elapsed = seconds
		if err := s.Append(claim, r); err == nil || !strings.Contains(err.Error(), "seconds") {
			t.Errorf("%v seconds: %v", seconds, err)
		}
	}
	if status, err := s.Status(t.Context()); err != nil || len(status) != 1 || status[0].Done != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

func testSettings(t *testing.T, open Opener) {
	s := open(t)
	if none, err := s.Settings(t.Context()); err != nil || none.Text() != (benchmark.Settings{}).Text() {
		t.Errorf("before any process has joined: %+v, %v", none, err)
	}
	Join(t, s)
	if got, err := open(t).Settings(t.Context()); err != nil || got.Text() != Settings().Text() {
		t.Errorf("%+v, %v", got, err)
	}
	other := Settings()
	other.Epochs++
	if _, err := open(t).Join(benchmark.Process{}, other); err == nil || !strings.Contains(err.Error(), `"epochs":21`) {
		t.Errorf("other settings: %v", err)
	}
}

func testSets(t *testing.T, open Opener) {
	s := open(t)
	Join(t, s)
	want := []benchmark.Set{{Name: "a", Rows: 400, Features: 3, Fingerprint: "x"},
		{Name: "b", Rows: 1, Features: 1, Fingerprint: "y"}}
	must(t, errors.Join(s.CheckSet(want[1]), s.CheckSet(want[0]), s.CheckSet(want[0])))
	if err := open(t).CheckSet(benchmark.Set{Name: "a", Rows: 400, Features: 3, Fingerprint: "z"}); err == nil ||
		!strings.Contains(err.Error(), "changed") {
		t.Errorf("other numbers: %v", err)
	}
	if got, err := s.Sets(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func testFailures(t *testing.T, open Opener) {
	runs := Runs(t, 0)
	s := planned(t, open, runs...)
	failed := func() (texts []string) {
		status, err := s.Status(t.Context())
		must(t, err)
		for _, r := range status {
			if r.Failure != "" {
				texts = append(texts, r.Run.Spec+": "+r.Failure)
			}
		}
		slices.Sort(texts)
		return texts
	}
	must(t, s.Release(claimed(t, s, runs[1]), errors.New("one")))
	claimed(t, s, runs[0])
	must(t, s.Fail([]benchmark.Run{runs[0], runs[2]}, errors.New("two")))
	if got, want := failed(), []string{runs[2].Spec + ": two", runs[1].Spec + ": one"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	claimed(t, s, runs[1])
	if got := failed(); len(got) != 1 {
		t.Errorf("%q after another attempt", got)
	}
}

func testStatus(t *testing.T, open Opener) {
	run := Runs(t, 0)[0]
	s := planned(t, open, run)
	status := func() benchmark.RunStatus {
		list, err := s.Status(t.Context())
		must(t, err)
		return list[0]
	}
	if got := status(); got.Done != 0 || got.Working || got.Seconds != 0 || got.Finished() {
		t.Errorf("a planned run: %+v", got)
	}
	claim := claimed(t, s, run)
	for i := range run.Rounds + 1 {
		must(t, s.Append(claim, round(run, i)))
	}
	if got := status(); got.Done != run.Rounds+1 || !got.Working || got.Seconds != 0.5*float64(run.Rounds+1) ||
		got.Training != got.Seconds/2 || !got.Finished() {
		t.Errorf("a run under way: %+v", got)
	}
	if workers, err := open(t).Workers(t.Context()); err != nil || len(workers) != 1 || workers[0].Runs != 1 ||
		workers[0].Version != "test" || workers[0].PID != os.Getpid() {
		t.Errorf("workers %+v, %v", workers, err)
	}
	must(t, s.Release(claim, nil))
	if status().Working {
		t.Error("a released run is still marked as being worked on")
	}
	if _, err := s.Claim(run); !errors.Is(err, benchmark.ErrFinished) {
		t.Errorf("a finished run: %v", err)
	}
}

func testLatest(t *testing.T, open Opener) {
	runs := Runs(t, 0)[:2]
	s := planned(t, open, runs...)
	if list, err := s.Latest(t.Context(), 5); err != nil || len(list) != 0 {
		t.Errorf("without rounds: %v, %v", list, err)
	}
	claims := []*benchmark.Claim{claimed(t, s, runs[0]), claimed(t, s, runs[1])}
	var want []benchmark.Timing
	for i, by := range []int{1, 0, 0, 1, 1, 0} {
		n := len(slices.DeleteFunc(slices.Clone(want), func(o benchmark.Timing) bool { return o.Run != runs[by] }))
		r := round(runs[by], n)
		r.Training, r.Elapsed = float64(i), float64(2*i)
		must(t, s.Append(claims[by], r))
		want = append(want, benchmark.Timing{Run: runs[by], Round: n, Training: float64(i), Elapsed: float64(2 * i)})
		time.Sleep(2 * time.Millisecond) // stores may keep the time in milliseconds
	}
	for n := range 8 {
		got, err := open(t).Latest(t.Context(), n)
		if err != nil || !slices.Equal(got, want[max(0, len(want)-n):]) {
			t.Errorf("the latest %d: %v, %v; want %v", n, got, err, want[max(0, len(want)-n):])
		}
	}
}

// With many goroutines on two handles, each run is claimed once.
func testGoroutines(t *testing.T, open Opener) {
	runs := Runs(t, 0, 1, 2)
	stores := []benchmark.Store{planned(t, open, runs...), open(t)}
	Join(t, stores[1])
	var claims atomic.Int32
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			s := stores[i%2]
			for j := range runs {
				run := runs[(j+7*i)%len(runs)]
				if i >= 2 { // the last two only read
					if _, err := s.Status(t.Context()); err != nil {
						t.Error(err)
					}
					continue
				}
				claim, err := s.Claim(run)
				if errors.Is(err, benchmark.ErrTaken) {
					continue
				}
				if err == nil {
					err = s.Append(claim, round(run, 0))
				}
				if err != nil {
					t.Error(err)
					return
				}
				claims.Add(1)
			}
		})
	}
	workers.Wait()
	records, err := stores[0].Records(t.Context())
	if err != nil || len(records) != len(runs) || int(claims.Load()) != len(runs) {
		t.Errorf("%d claims and %d rounds of %d runs, %v", claims.Load(), len(records), len(runs), err)
	}
}

func testContext(t *testing.T, open Opener) {
	s := planned(t, open, Runs(t, 0)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, settings := s.Settings(ctx)
	_, sets := s.Sets(ctx)
	_, status := s.Status(ctx)
	_, workers := s.Workers(ctx)
	_, records := s.Records(ctx)
	_, latest := s.Latest(ctx, 1)
	for name, err := range map[string]error{"Settings": settings, "Sets": sets, "Status": status, "Workers": workers,
		"Records": records, "Latest": latest} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
}

func testBenches(t *testing.T, open Opener) {
	runs := Runs(t, 0, 1)
	var rounds atomic.Int32
	var workers sync.WaitGroup
	for range 2 {
		s := open(t)
		Join(t, s)
		workers.Go(func() {
			b := benchmark.Bench{Store: s, Settings: Settings(), Load: Waves, Jobs: 2,
				Watch: func(e benchmark.Event) { rounds.Add(1) }}
			if _, err := b.Run(context.Background(), runs); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if got := Outcomes(t, open(t)); len(got) != 4*len(runs) || int(rounds.Load()) != len(got) {
		t.Errorf("%d rounds were computed, %d are stored", rounds.Load(), len(got))
	}
}

func testResume(t *testing.T, open Opener) {
	runs := Runs(t, 0)
	s := open(t)
	leave := Join(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	b := benchmark.Bench{Store: s, Settings: Settings(), Load: Waves, Jobs: 1, Watch: func(benchmark.Event) { cancel() }}
	if _, err := b.Run(ctx, runs); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must(t, leave())
	before := Outcomes(t, open(t))
	after := Do(t.Context(), t, open(t), runs, 2)
	if len(before) == 0 || len(after) != 4*len(runs) {
		t.Fatalf("%d rounds, then %d", len(before), len(after))
	}
	for _, round := range before {
		if !slices.Contains(after, round) {
			t.Errorf("a round was lost: %s", round)
		}
	}
}
