package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/nextbatch/nextbatch/benchmark"
)

// benchProgress tells how far a benchmark is.
type benchProgress struct {
	*progress
	begin time.Time
	runs  int
}

func newBenchProgress(log io.Writer, quiet bool, runs []benchmark.Run) *benchProgress {
	return &benchProgress{progress: newProgress(log, quiet), begin: time.Now(), runs: len(runs)}
}

func (p *benchProgress) watch(e benchmark.Event) {
	switch {
	case e.Failed != nil:
		p.warn(fmt.Sprintf("%v: %v", e.Run, e.Failed))
	case e.Record != nil:
		r := e.Record
		p.say("%v: round %d of %d, %d labels, RMSE %.4f, %.1f s", e.Run, r.Round.Round, e.Run.Rounds, r.Labels, r.Test.RMSE, r.Elapsed)
	}
}

func (p *benchProgress) end(s benchmark.Summary) {
	p.say("%d of %d runs are done", s.Done, p.runs)
	if s.Taken > 0 {
		p.say("%d runs are in the hands of other processes", s.Taken)
	}
}
