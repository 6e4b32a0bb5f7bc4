package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/device"
)

// benchProgress reports the progress of a benchmark: a line per finished run, and
// how long the others will take, as a bar or in an occasional line.
type benchProgress struct {
	*progress
	roundsDone func() (map[benchmark.Run]int, error) // by all processes
	fate       string                                // of runs whose data set is missing
	failed     []error                               // of the runs of this process
	forecast   *benchmark.Forecast
	seconds    map[benchmark.Run]*benchSeconds // of the runs under way
	printed    time.Time                       // when a line last said how much is left
	updated    time.Time                       // when roundsDone was last called
}

// benchSeconds sums the times of the rounds of a run.
type benchSeconds struct{ training, features, selection, testing, elapsed float64 }

// benchEvery is how often a line says how much is left, and how often the progress
// of other processes is read.
const benchEvery = 30 * time.Second

func newBenchProgress(log io.Writer, quiet bool, f *benchmark.Forecast,
	roundsDone func() (map[benchmark.Run]int, error)) *benchProgress {
	return &benchProgress{progress: newProgress(log, quiet), fate: "skipped", forecast: f, roundsDone: roundsDone,
		seconds: map[benchmark.Run]*benchSeconds{}}
}

func (p *benchProgress) watch(e benchmark.Event) {
	if e.Failed != nil {
		p.failed = append(p.failed, e.Failed)
		p.forecast.GiveUp(slices.Concat(e.Others, []benchmark.Run{e.Run})...)
		if at := (*benchmark.SetError)(nil); errors.As(e.Failed, &at) {
			//warning:data-set-missing
			p.warn(fmt.Sprintf("%v; its runs are %s", e.Failed, p.fate))
		} else {
			//warning:run-failed …: …
			p.warn(fmt.Sprintf("%v: %v", e.Run, e.Failed))
		}
		return
	}
	p.forecast.Add(*e.Record)
	if time.Since(p.updated) > benchEvery {
		p.updated = time.Now()
		if done, err := p.roundsDone(); err == nil { // otherwise the next write reports it
			p.forecast.Update(done)
		}
	}
	p.add(e.Record)
	p.remaining()
}

// deviceFailure returns the first failure if there is one and each is a failure of the device.
func (p *benchProgress) deviceFailure() error {
	if len(p.failed) == 0 || slices.ContainsFunc(p.failed, func(err error) bool { return !device.Failed(err) }) {
		return nil
	}
	return p.failed[0]
}

// add counts a round, and prints a line after the last round of a run.
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
		if !strings.HasPrefix(w, benchmark.ChoiceNote) { // every round has one: the results hold it
			p.say("%v, round %d: %s", r.Run, r.Round.Round, w)
		}
	}
	if r.Round.Round < r.Rounds {
		return
	}
	delete(p.seconds, r.Run)
	other := s.elapsed - s.training - s.features - s.selection - s.testing
	p.say("%v: RMSE %.4f with %d labels; %.1f s, of which training %.1f, features %.1f, selection %.1f, testing %.1f, "+
		"other %.1f",
		r.Run, r.Test.RMSE, r.Labels, s.elapsed, s.training, s.features, s.selection, s.testing, other)
}

// remaining shows how many rounds are done, and how long the others will take.
func (p *benchProgress) remaining() {
	done, total := p.forecast.Rounds()
	left := ""
	if t, known := p.forecast.Left(); known && done < total {
		left = "about " + roughly(t) + " left"
	}
	switch {
	case p.terminal:
		p.step("rounds", done, total, left)
	case time.Since(p.printed) >= benchEvery && done < total:
		p.printed = time.Now()
		p.say("%d of %d rounds are done%s", done, total, after(left))
	}
}

// roughly is a duration as people say it.
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
