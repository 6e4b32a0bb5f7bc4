package campaign_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/campaign/storetest"
	"github.com/nextbatch/nextbatch/fitted"
)

// double is an oracle: twice the input x, rounded so that it is not lost in JSON.
func double(_ context.Context, q campaign.Question) ([]float64, error) {
	var row struct {
		ID   string
		X    *float64
		Kind *string
	}
	if err := json.Unmarshal(q.JSON, &row); err != nil || row.ID != q.ID || row.X == nil || row.Kind == nil {
		return nil, &campaign.BrokenError{Cause: fmt.Errorf("%v in %s", err, q.JSON)}
	}
	return []float64{2 * *row.X}, nil
}

func runLoop(t *testing.T, c *campaign.Campaign, r campaign.Run) *campaign.RunResult {
	t.Helper()
	result, err := c.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRunLabelsEveryRow(t *testing.T) {
	c, _ := begin(t, 20, campaign.Settings{Batch: 6})
	var reports []campaign.Report
	result := runLoop(t, c, campaign.Run{Oracle: double, Parallel: 3,
		Report: func(r campaign.Report) { reports = append(reports, r) }})
	if result.Told != 20 || result.End != campaign.EndNothingOpen || result.Failed+result.Returned+result.Later != 0 {
		t.Errorf("the run gave %+v", result)
	}
	wantCounts(t, c, 0, 0, 20, 0, 0)
	for _, ref := range state(t, c).With(campaign.StatusLabelled) {
		if m := state(t, c).Measurements(ref.Row); len(m) != 1 || m[0].Person != "oracle" {
			t.Errorf("row %s has the measurements %+v", ref.ID, m)
		}
	}
	if last := reports[len(reports)-1]; last.Happening != campaign.RunEnds || last.Labelled != 20 || last.Running != 0 {
		t.Errorf("the last report is %+v", last)
	}
}

// TestRunAsksAhead: while the oracle works on the rows of a batch, the loop asks for the next one,
// and rows that are out are not handed out again.
func TestRunAsksAhead(t *testing.T) {
	c, _ := begin(t, 30, campaign.Settings{Batch: 4})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asks := make(chan struct{}, 100)
	block := func(ctx context.Context, q campaign.Question) ([]float64, error) {
		select {
		case <-asks: // one for each row that may be finished
			return double(ctx, q)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	seen := 0
	_, err := c.Run(ctx, campaign.Run{Oracle: block, Parallel: 2, Report: func(r campaign.Report) {
		if r.Happening != campaign.RunAsked {
			return
		}
		// Rows of the batch before are still with the oracle when the next one comes.
		if seen++; seen > 1 && r.Running != 2 {
			t.Errorf("ask %d came with %d rows running", seen, r.Running)
		}
		if seen == 5 {
			cancel()
		}
		// After one of the first four rows, and then after four each time, a single row waits.
		for range []int{1, 4}[min(seen, 2)-1] {
			asks <- struct{}{}
		}
	}})
	if !errors.Is(err, context.Canceled) || seen != 5 {
		t.Errorf("%v after %d asks", err, seen)
	}
	if counts := state(t, c).Counts(); counts.Asked != 0 {
		t.Errorf("an interrupted run leaves %+v", counts)
	}
}

func TestRunFailuresRetriesAndLater(t *testing.T) {
	c, _ := begin(t, 12, campaign.Settings{Batch: 12})
	var mu sync.Mutex
	attempts := map[string]int{}
	result := runLoop(t, c, campaign.Run{Parallel: 4, Retries: 2,
		Oracle: func(ctx context.Context, q campaign.Question) ([]float64, error) {
			mu.Lock()
			defer mu.Unlock()
			if attempts[q.ID]++; attempts[q.ID] != q.Attempt {
				t.Errorf("attempt %d at %s is called %d", attempts[q.ID], q.ID, q.Attempt)
			}
			switch q.ID {
			case "r000":
				return nil, errors.New("does not converge")
			case "r001":
				return nil, campaign.ErrLater
			case "r002":
				if q.Attempt < 3 {
					return nil, errors.New("not yet")
				}
			case "r003":
				return []float64{1e300}, nil
			case "r004":
				return []float64{1, 2}, nil
			}
			return double(ctx, q)
		}})
	if want := (campaign.RunResult{Asks: 1, Told: 8, Failed: 3, Retried: 8, Later: 1, End: campaign.EndNothingOpen,
		Because: campaign.ErrNothingOpen.Error()}); *result != want {
		t.Errorf("the run gave %+v, want %+v", *result, want)
	}
	wantCounts(t, c, 0, 1, 8, 3, 0)
	if attempts["r000"] != 3 || attempts["r001"] != 1 || attempts["r002"] != 3 {
		t.Errorf("attempts are %v", attempts)
	}
	history, err := c.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, e := range history {
		if e.Failed != nil {
			reasons = append(reasons, e.Failed.Reason)
		}
	}
	slices.Sort(reasons)
	if want := []string{"does not converge",
		"the label 1e+300 is too large: no label may exceed 1e+149; correct it, or change the unit",
		"the oracle answered with 2 numbers for 1 targets"}; !slices.Equal(reasons, want) {
		t.Errorf("reasons are %q", reasons)
	}
	// A row whose label comes later is not given to the oracle again.
	runLoop(t, c, campaign.Run{Oracle: func(context.Context, campaign.Question) ([]float64, error) {
		t.Error("the oracle is asked again")
		return nil, campaign.ErrLater
	}})
	wantCounts(t, c, 0, 1, 8, 3, 0)
}

func TestRunLimits(t *testing.T) {
	t.Run("labels", func(t *testing.T) {
		c, _ := begin(t, 30, campaign.Settings{Batch: 8})
		tell(t, c, "r000", 1.0)
		if result := runLoop(t, c, campaign.Run{Oracle: double, Parallel: 3,
			MaxLabels: 10}); result.End != campaign.EndEnough || result.Told != 9 {
			t.Errorf("the run gave %+v", result)
		}
		wantCounts(t, c, 20, 0, 10, 0, 0)
		if result := runLoop(t, c, campaign.Run{Oracle: double, MaxLabels: 10}); result.End != campaign.EndEnough ||
			result.Told != 0 {
			t.Errorf("the next run gave %+v", result)
		}
		ask(t, c, campaign.Ask{Rows: 5})
		if result := runLoop(t, c, campaign.Run{Oracle: double, MaxLabels: 15}); result.Told != 0 ||
			result.Because != "15 labels were wanted, and 10 rows have one, while 5 are out" {
			t.Errorf("a run after rows were asked for by others gave %+v", result)
		}
	})
	t.Run("stop rule", func(t *testing.T) {
		c, _ := begin(t, 30, campaign.Settings{Batch: 8})
		result := runLoop(t, c, campaign.Run{Oracle: double, Parallel: 3, Stop: func(s *campaign.State) (string, error) {
			if len(s.Outcomes()) < 6 {
				return "", nil
			}
			return "it is good enough", nil
		}})
		if result.End != campaign.EndStopped || result.Because != "it is good enough" || result.Told < 6 {
			t.Errorf("the run gave %+v", result)
		}
		if counts := state(t, c).Counts(); counts.Asked != 0 || counts.Labelled != int64(result.Told) {
			t.Errorf("the run leaves %+v", counts)
		}
	})
	t.Run("failures", func(t *testing.T) {
		c, _ := begin(t, 30, campaign.Settings{Batch: 8})
		result := runLoop(t, c, campaign.Run{GiveUp: 4, Oracle: func(context.Context, campaign.Question) ([]float64,
			error) {
			return nil, errors.New("no licence")
		}})
		if result.End != campaign.EndGaveUp || result.Failed != 4 || !strings.Contains(result.Because, "no licence") {
			t.Errorf("the run gave %+v", result)
		}
		wantCounts(t, c, 26, 0, 0, 4, 0)
	})
	t.Run("broken", func(t *testing.T) {
		c, _ := begin(t, 30, campaign.Settings{Batch: 8})
		broken := &campaign.BrokenError{Cause: errors.New("no such program")}
		result,
			err := c.Run(t.Context(), campaign.Run{Oracle: func(context.Context, campaign.Question) ([]float64,
			error) {
			return nil, broken
		}})
		if !errors.Is(err, broken) || result.End != campaign.EndError || result.Returned != 8 {
			t.Errorf("the run gave %+v, %v", result, err)
		}
		wantCounts(t, c, 30, 0, 0, 0, 0)
	})
	t.Run("timeout", func(t *testing.T) {
		c, _ := begin(t, 4, campaign.Settings{Batch: 8})
		result := runLoop(t, c, campaign.Run{Parallel: 4, Timeout: time.Millisecond,
			Oracle: func(ctx context.Context, _ campaign.Question) ([]float64, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		history, err := c.History(t.Context())
		if err != nil || result.Failed != 4 || history[len(history)-1].Failed.Reason != "no answer within 1ms" {
			t.Errorf("the run gave %+v, %v", result, err)
		}
	})
	t.Run("nonsense", func(t *testing.T) {
		c, _ := begin(t, 4, campaign.Settings{})
		_, err := c.Run(t.Context(), campaign.Run{Parallel: -1, Retries: -1, GiveUp: -1, MaxLabels: -1, Timeout: -1,
			Ask: campaign.Ask{Rows: -1, Must: []string{"r001"}}})
		if err == nil || len(strings.Split(err.Error(), "\n")) != 8 {
			t.Errorf("it is refused with %v", err)
		}
	})
}

// TestRunMeetsPeople: rows that people label, retire or put back while they wait for their turn lose it,
// and an answer for a row that was retired is dropped.
func TestRunMeetsPeople(t *testing.T) {
	c, _ := begin(t, 10, campaign.Settings{Batch: 10})
	var order []string
	dropped := 0
	result := runLoop(t, c, campaign.Run{
		Oracle: func(ctx context.Context, q campaign.Question) ([]float64, error) {
			if order = append(order, q.ID); len(order) > 1 {
				return double(ctx, q)
			}
			var others []string
			for _, ref := range state(t, c).With(campaign.StatusAsked) {
				if ref.ID != q.ID {
					others = append(others, ref.ID)
				}
			}
			tell(t, c, others[0], 7.0)
			for _, err := range []error{
				second(c.Retire(t.Context(), ada, []string{q.ID, others[1]}, "wrong")),
				second(c.Return(t.Context(), ada, []string{others[2]}, "busy")),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			return double(ctx, q)
		},
		Report: func(r campaign.Report) {
			if r.Happening == campaign.RunDropped {
				dropped++
			}
		},
	})
	slices.Sort(order)
	if result.Told != 7 || dropped != 1 || len(slices.Compact(order)) != 8 {
		t.Errorf("the run gave %+v, dropped %d, order %q", result, dropped, order)
	}
	wantCounts(t, c, 0, 0, 8, 0, 2)
}

func second[T any](_ T, err error) error { return err }

// TestRunOutlivesItsLease: a row whose lease ends while the oracle works on it is not handed out to the
// same run again, and its late label is taken.
func TestRunOutlivesItsLease(t *testing.T) {
	c, now := begin(t, 6, campaign.Settings{Batch: 2})
	var mu, hand sync.Mutex
	c.Clock = func() time.Time {
		hand.Lock()
		defer hand.Unlock()
		return now.Now()
	}
	seen := map[string]int{}
	result := runLoop(t, c, campaign.Run{Parallel: 2, Ask: campaign.Ask{Lease: time.Hour},
		Oracle: func(ctx context.Context, q campaign.Question) ([]float64, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[q.ID]++
			hand.Lock()
			now.pass(2 * time.Hour)
			hand.Unlock()
			return double(ctx, q)
		}})
	if result.Told != 6 || result.End != campaign.EndNothingOpen {
		t.Errorf("the run gave %+v", result)
	}
	for _, ref := range state(t, c).With(campaign.StatusLabelled) {
		if m := state(t, c).Measurements(ref.Row); len(m) != 1 || seen[ref.ID] != 1 {
			t.Errorf("row %s was labelled %d times and has %+v", ref.ID, seen[ref.ID], m)
		}
	}
}

// TestRunsTakeTurns: a second run in the name of the same person waits for the first to end; one of another
// person works beside it, on other rows.
func TestRunsTakeTurns(t *testing.T) {
	c, _ := begin(t, 12, campaign.Settings{Batch: 3})
	var mu sync.Mutex
	busy := map[string]string{}
	var group sync.WaitGroup
	total := 0
	for i, person := range []string{"a", "a", "b"} {
		group.Go(func() {
			result, err := c.Run(t.Context(), campaign.Run{Person: person, Parallel: 2,
				Oracle: func(ctx context.Context, q campaign.Question) ([]float64, error) {
					mu.Lock()
					if by, taken := busy[q.ID]; taken {
						t.Errorf("run %d of %s gets row %s, which %s has had", i, person, q.ID, by)
					}
					busy[q.ID] = person
					mu.Unlock()
					return double(ctx, q)
				}})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			total += result.Told
		})
	}
	group.Wait()
	if total != 12 {
		t.Errorf("%d rows were labelled", total)
	}
}

// TestRunTakenOver: a run that has lost its lock notices, ends, and neither returns nor tells rows of the
// one that took over.
func TestRunTakenOver(t *testing.T) {
	store := &unlocked{Store: &storetest.Memory{}}
	now := newClock()
	c, err := campaign.New(t.Context(), store, "c", campaign.Start{Table: pool(0, 8), IDColumn: "name",
		Targets: []string{"y"}, Settings: campaign.Settings{Choices: fitted.Choices{Network: tiny()},
			Batch: 8}, Clock: now.Now})
	if err != nil {
		t.Fatal(err)
	}
	once := sync.OnceFunc(func() {
		result := runLoop(t, c, campaign.Run{Oracle: double})
		if result.Resumed != 8 || result.Told != 8 {
			t.Errorf("the second run gave %+v", result)
		}
	})
	_, err = c.Run(t.Context(), campaign.Run{Oracle: func(ctx context.Context, q campaign.Question) ([]float64, error) {
		once()
		return []float64{-1}, nil
	}})
	if taken := (*campaign.TakenOverError)(nil); err != nil && !errors.As(err, &taken) {
		t.Errorf("the first run gave %v", err)
	}
	wantCounts(t, c, 0, 0, 8, 0, 0)
	for _, ref := range state(t, c).With(campaign.StatusLabelled) {
		if m := state(t, c).Measurements(ref.Row); len(m) != 1 || m[0].Values[0] == -1 {
			t.Errorf("row %s has the measurements %+v", ref.ID, m)
		}
	}
}

// unlocked is a store whose locks are always lost.
type unlocked struct{ campaign.Store }

func (*unlocked) Lock(context.Context, string, string) (func() error, error) {
	return func() error { return nil }, nil
}

// TestRunSurvivesEveryCrash: the process of a run dies at each of its changes of the store, before or after
// the store has made it. The next run goes on, and every row has exactly one label in the end.
func TestRunSurvivesEveryCrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		crashes := 0
		for at := 1; ; at++ {
			if !crashAndResume(t, at, after) {
				break
			}
			crashes++
		}
		if crashes < 12 {
			t.Errorf("only %d crashes", crashes)
		}
	}
}

// crashAndResume reports whether the first run got as far as to crash.
func crashAndResume(t *testing.T, at int, after bool) (crashed bool) {
	t.Helper()
	memory := &storetest.Memory{}
	now := newClock()
	audit := 0.0
	_, err := campaign.New(t.Context(), memory, "c", campaign.Start{
		Table: pool(0, 8), IDColumn: "name", Targets: []string{"y"}, Clock: now.Now,
		Settings: campaign.Settings{Spec: "random", Choices: fitted.Choices{Network: tiny()}, Batch: 3, Audit: &audit},
	})
	if err != nil {
		t.Fatal(err)
	}
	failing := func(ctx context.Context, q campaign.Question) ([]float64, error) {
		switch {
		case q.ID == "r003" && q.Attempt == 1:
			return nil, errors.New("once")
		case q.ID == "r005":
			return nil, campaign.ErrLater
		case q.ID == "r006":
			return nil, errors.New("always")
		}
		return double(ctx, q)
	}
	store := &crashing{Store: memory, left: at, after: after}
	for range 2 {
		c, err := campaign.Open(t.Context(), store, "c")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Run(t.Context(), campaign.Run{Oracle: failing, Parallel: 2, Retries: 1})
		if crashed = crashed || store.crashed; (err != nil) != store.crashed {
			t.Fatalf("crash %d: %v", at, err)
		}
		store = &crashing{Store: memory, left: math.MaxInt}
	}
	c, err := campaign.Open(t.Context(), memory, "c")
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, c, 0, 1, 6, 1, 0)
	s := state(t, c)
	for _, ref := range s.With(campaign.StatusLabelled) {
		if m := s.Measurements(ref.Row); len(m) != 1 {
			t.Errorf("crash %d: row %s has the measurements %+v", at, ref.ID, m)
		}
	}
	return crashed
}

// crashing is a store whose process dies at one of its changes.
type crashing struct {
	campaign.Store
	after bool // the store does what it is told, but nobody lives to see it

	mu      sync.Mutex
	left    int
	crashed bool
}

var errCrash = errors.New("crash")

func (s *crashing) call(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return errCrash
	}
	if s.left--; s.left > 0 {
		return do()
	}
	if s.crashed = true; s.after {
		_ = do()
	}
	return errCrash
}

func (s *crashing) Append(ctx context.Context, name string, after int64, events []campaign.Event,
	blobs []campaign.Blob) error {
	return s.call(func() error { return s.Store.Append(ctx, name, after, events, blobs) })
}

func (s *crashing) PutBlob(ctx context.Context, name string, blob campaign.Blob) error {
	return s.call(func() error { return s.Store.PutBlob(ctx, name, blob) })
}

func (s *crashing) Events(ctx context.Context, name string, after int64) (list []campaign.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashed {
		return nil, errCrash
	}
	return s.Store.Events(ctx, name, after)
}
