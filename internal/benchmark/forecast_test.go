package benchmark

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/rng"
)

// A forecast from some rounds predicts the others exactly if their times follow
// the model.
func TestForecast(t *testing.T) {
	t.Parallel()
	runs, err := Grid{Sets: []string{"waves"}, Activations: []string{"relu"}, Splits: []int{0, 1},
		Schedules: []Schedule{{Rounds: 3, Batch: 8}},
		Specs: []string{"random", "lcmd-tp:grad>sketch(16)", "bait-f-p:grad>sketch(16)>train", "kmeanspp-p:grad>sketch(16)",
			"maxdet-p:ll>ens(2)>sketch(16)>train"}}.Runs()
	if err != nil {
		t.Fatal(err)
	}
	f := NewForecast(tiny, 2, runs, map[Run]int{runs[0]: 4})
	if _, known := f.Left(); known {
		t.Error("a forecast without any round")
	}
	if done, of := f.Rounds(); done != 4 || of != 40 {
		t.Errorf("%d of %d rounds", done, of)
	}
	round := func(r Run, n int) Record {
		rec := Record{Round: Round{Run: r, Round: n}}
		rec.Training = f.work(r, n) * 1e-6
		rec.Elapsed = rec.Training
		if n < r.Rounds {
			rec.Elapsed += float64(len(r.Spec))
		}
		return rec
	}
	total := 0.0
	for _, r := range runs[1:] {
		for n := range 4 {
			rec := round(r, n)
			if r.Split == 0 && n == 0 || r == runs[5] {
				f.Add(rec)
			} else {
				total += rec.Elapsed
			}
		}
	}
	left, known := f.Left()
	if want := time.Duration(total / 2 * 1e9); !known || (left-want).Abs() > time.Millisecond {
		t.Errorf("%v left, want %v", left, want)
	}
	f.GiveUp(runs[2:]...)
	if done, of := f.Rounds(); done != 5 || of != 8 {
		t.Errorf("%d of %d rounds, without the abandoned ones", done, of)
	}
	if len(runs) != 10 || runs[9].Split != 1 {
		t.Error("the caller's runs have changed")
	}
}

// imagined is a benchmark whose rounds take as long as the model of a forecast says, times
// a factor.
type imagined struct {
	runs []Run
	jobs int
	*Forecast
}

func newImagined(t *testing.T, stream *rng.Stream) imagined {
	t.Helper()
	s := imagined{jobs: 1 + stream.IntN(8)}
	g := Grid{Activations: []string{"relu"}, Schedules: []Schedule{{Rounds: 1 + stream.IntN(16), Batch: 8}},
		Specs: []string{"random", "lcmd-tp:grad>sketch(16)", "bait-f-p:grad>sketch(16)>train",
			"maxdet-p:ll>ens(2)>sketch(16)>train"}}
	for i := range 1 + stream.IntN(3) {
		g.Sets = append(g.Sets, fmt.Sprint("set ", i))
	}
	for i := range 3 + stream.IntN(8) {
		g.Splits = append(g.Splits, i)
	}
	var err error
	if s.runs, err = g.Runs(); err != nil {
		t.Fatal(err)
	}
	s.Forecast = NewForecast(tiny, s.jobs, s.runs, nil)
	return s
}

// rounds returns all rounds in the order in which that number of jobs finishes them.
func (s imagined) rounds() (all []Record) {
	waiting, active := s.runs, []Record{}
	for len(waiting)+len(active) > 0 {
		for len(active) < s.jobs && len(waiting) > 0 {
			active, waiting = append(active, Record{Round: Round{Run: waiting[0]}}), waiting[1:]
		}
		var on []Record
		for _, r := range active {
			all = append(all, r)
			if r.Round.Round++; r.Round.Round <= r.Rounds {
				on = append(on, r)
			}
		}
		active = on
	}
	return all
}

// timed returns a round with the times that it takes at a speed.
func (s imagined) timed(r Record, factor float64) Record {
	r.Training = factor * 1e-6 * s.work(r.Run, r.Round.Round)
	r.Elapsed = r.Training
	if r.Round.Round < r.Rounds {
		r.Elapsed += factor * float64(len(r.Spec))
	}
	return r
}

// off returns the ratio of the forecast to what rounds take at a speed.
func (s imagined) off(t *testing.T, rounds []Record, factor float64) float64 {
	t.Helper()
	left, known := s.Left()
	if !known {
		t.Fatal("the forecast is unknown")
	}
	return left.Seconds() / s.seconds(rounds, factor)
}

// seconds is how long rounds take at a speed.
func (s imagined) seconds(rounds []Record, factor float64) (sum float64) {
	for _, r := range rounds {
		sum += s.timed(r, factor).Elapsed / float64(s.jobs)
	}
	return sum
}

// A forecast is exact at a constant speed, from the moment when every method has been seen.
func TestForecastAtConstantSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many benchmarks")
	}
	t.Parallel()
	for seed := range uint64(40) {
		s := newImagined(t, rng.New(seed, "constant speed"))
		seen, all := map[string]bool{}, s.rounds()
		for i, r := range all[:len(all)-1] {
			s.Add(s.timed(r, 1))
			seen[r.Spec] = true
			if off := s.off(t, all[i+1:], 1); len(seen) == 4 && math.Abs(off-1) > 1e-6 {
				t.Fatalf("seed %d: the forecast after %d of %d rounds is %v times the truth", seed, i+1, len(all), off)
			}
		}
	}
}

// After a change of speed, the forecast is within 20 % of the truth once the rounds since the
// change are a third of those before it.
func TestForecastFollowsTheSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many benchmarks")
	}
	t.Parallel()
	for seed := range uint64(40) {
		stream := rng.New(seed, "change of speed")
		s := newImagined(t, stream)
		all := s.rounds()
		change := int((0.2 + 0.4*stream.Float64()) * float64(len(all)))
		for _, factor := range []float64{3, 1. / 3} {
			s.Forecast = NewForecast(tiny, s.jobs, s.runs, nil)
			for i, r := range all[:len(all)-1] {
				now := 1.0
				if i >= change {
					now = factor
				}
				s.Add(s.timed(r, now))
				if i+1-change < max(change/3, 4) {
					continue
				}
				if off := s.off(t, all[i+1:], factor); math.Abs(off-1) > 0.2 {
					t.Fatalf("seed %d: %d of %d rounds, %d of them %v times as slow: the forecast is %v times the truth", seed, i+1,
						len(all), i+1-change, factor, off)
				}
			}
		}
	}
}

// latestOnly is a store that knows the latest rounds.
type latestOnly struct {
	Reader
	latest []Timing
}

func (s latestOnly) Latest(_ context.Context, n int) ([]Timing, error) {
	return s.latest[max(0, len(s.latest)-n):], nil
}

// The rounds in a store give the same forecast as those that a process has performed.
func TestOutlook(t *testing.T) {
	t.Parallel()
	// of the speed in the second half of the rounds so far
	for factor, tolerance := range map[float64]float64{1: 1e-6, 3: 0.2} {
		s := newImagined(t, rng.New(1, "outlook"))
		status, all, store := map[Run]RunStatus{}, s.rounds(), latestOnly{}
		done := len(all) / 2
		for i, r := range all[:done] {
			if r = s.timed(r, 1); i >= done/2 {
				r = s.timed(r, factor)
			}
			of := status[r.Run]
			status[r.Run] = RunStatus{Run: r.Run, Done: of.Done + 1, Seconds: of.Seconds + r.Elapsed,
				Training: of.Training + r.Training}
			store.latest = append(store.latest, Timing{r.Run, r.Round.Round, r.Training, r.Elapsed})
		}
		var list []RunStatus
		for i, run := range s.runs {
			of := status[run]
			of.Run, of.Working = run, i < s.jobs
			list = append(list, of)
		}
		o, err := OutlookOf(t.Context(), store, tiny, list)
		if err != nil || !o.Known || o.Done != done || o.Total != len(all) {
			t.Fatalf("%+v, %v; %d of %d rounds are done", o, err, done, len(all))
		}
		truth := s.seconds(all[done:], factor)
		if off := o.Left.Seconds() / truth; math.Abs(off-1) > tolerance {
			t.Errorf("%v times as slow: the forecast is %v times the truth", factor, off)
		}
	}
}
