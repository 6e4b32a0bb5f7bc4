package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/benchmark"
)

// benchProgress tells how far a benchmark is: a line for each run that is done,
// and how long the rest will take, as a bar or in a line now and then.
type benchProgress struct {
	*progress
	store    benchmark.Reader
	forecast *benchmark.Forecast
	seconds  map[benchmark.Run]*benchSeconds // of the runs under way
	last     time.Time                       // when a line last told how much is left
	asked    time.Time                       // when others were last asked how far they are
}

// benchSeconds adds up what the rounds of a run took.
type benchSeconds struct{ training, features, selection, testing, elapsed float64 }

// How often a line tells how much is left, and other processes are asked.
const benchEvery = 30 * time.Second

func newBenchProgress(log io.Writer, quiet bool, store benchmark.Reader, f *benchmark.Forecast) *benchProgress {
	return &benchProgress{progress: newProgress(log, quiet), store: store, forecast: f, seconds: map[benchmark.Run]*benchSeconds{}}
}

func (p *benchProgress) watch(e benchmark.Event) {
	if e.Failed != nil {
		p.forecast.GiveUp(slices.Concat(e.Others, []benchmark.Run{e.Run})...)
		if at := (*benchmark.SetError)(nil); errors.As(e.Failed, &at) {
			p.warn(fmt.Sprintf("no runs on it: %v", e.Failed))
		} else {
			p.warn(fmt.Sprintf("%v: %v", e.Run, e.Failed))
		}
		return
	}
	p.forecast.Add(*e.Record)
	if time.Since(p.asked) > benchEvery {
		p.asked = time.Now()
		if done, err := benchmark.RoundsDone(p.store); err == nil { // if not, the next write will say
			p.forecast.Update(done)
		}
	}
	p.add(e.Record)
	p.rest()
}

// add counts a round, and prints a line after the last of a run.
func (p *benchProgress) add(r *benchmark.Record) {
	s := p.seconds[r.Run]
	if s == nil {
		s = &benchSeconds{}
		p.seconds[r.Run] = s
	}
	s.training += r.Training
	s.features += r.Features
	s.selection += r.Selection
	s.testing += r.Testing
	s.elapsed += r.Elapsed
	for _, w := range r.Warnings {
		p.say("%v, round %d: %s", r.Run, r.Round.Round, w)
	}
	if r.Round.Round < r.Rounds {
		return
	}
	delete(p.seconds, r.Run)
	other := s.elapsed - s.training - s.features - s.selection - s.testing
	p.say("%v: RMSE %.4f with %d labels; %.1f s, of which training %.1f, features %.1f, selection %.1f, testing %.1f, other %.1f",
		r.Run, r.Test.RMSE, r.Labels, s.elapsed, s.training, s.features, s.selection, s.testing, other)
}

// rest says how many rounds are done, and how long the rest will take.
func (p *benchProgress) rest() {
	done, of := p.forecast.Rounds()
	left := ""
	if t, known := p.forecast.Left(); known && done < of {
		left = "about " + roughly(t) + " left"
	}
	switch {
	case p.terminal:
		p.step("rounds", done, of, left)
	case time.Since(p.last) >= benchEvery && done < of:
		p.last = time.Now()
		p.say("%d of %d rounds are done%s", done, of, after(left))
	}
}

// roughly is a duration as one says it.
func roughly(t time.Duration) string {
	switch {
	case t < 90*time.Second:
		return fmt.Sprintf("%.0f s", t.Seconds())
	case t < 90*time.Minute:
		return fmt.Sprintf("%.0f min", t.Minutes())
	case t < 48*time.Hour:
		return fmt.Sprintf("%.1f h", t.Hours())
	}
	return fmt.Sprintf("%.1f days", t.Hours()/24)
}
