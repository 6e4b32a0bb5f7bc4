package linalg

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countJob counts how often each part is done, and runs another job within.
type countJob struct {
	t      *testing.T
	done   []atomic.Int32
	within *countJob
	busy   [maxThreads]atomic.Bool
}

func newCountJob(t *testing.T, parts int) *countJob {
	return &countJob{t: t, done: make([]atomic.Int32, parts)}
}

func (j *countJob) Do(part, slot int) {
	if slot < 0 || slot >= Slots() || j.busy[slot].Swap(true) {
		j.t.Errorf("slot %d is out of range or used by two threads at once", slot)
	}
	j.done[part].Add(1)
	if j.within != nil {
		inner := newCountJob(j.t, len(j.within.done))
		everyone.Run(len(inner.done), inner)
		inner.requireOnce()
	}
	j.busy[slot].Store(false)
}

func (j *countJob) requireOnce() {
	j.t.Helper()
	for part := range j.done {
		if n := j.done[part].Load(); n != 1 {
			j.t.Errorf("part %d of %d was done %d times", part, len(j.done), n)
		}
	}
}

func TestRunDoesEachPartOnce(t *testing.T) {
	for _, procs := range []int{1, 2, 3, 7} {
		withProcs(t, procs, func() {
			for parts := range 40 {
				job := newCountJob(t, parts)
				everyone.Run(parts, job)
				job.requireOnce()
			}
		})
	}
}

// TestRunAfterParking lets the workers fall asleep between jobs.
func TestRunAfterParking(t *testing.T) {
	withProcs(t, 3, func() {
		for range 5 {
			time.Sleep(5 * time.Millisecond)
			job := newCountJob(t, 50)
			everyone.Run(50, job)
			job.requireOnce()
		}
	})
}

func TestRunWithinRun(t *testing.T) {
	withProcs(t, 3, func() {
		job := newCountJob(t, 20)
		job.within = newCountJob(t, 9)
		everyone.Run(20, job)
		job.requireOnce()
	})
}

func TestConcurrentRuns(t *testing.T) {
	withProcs(t, 4, func() {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for parts := range 60 {
					job := newCountJob(t, parts)
					everyone.Run(parts, job)
					job.requireOnce()
				}
			})
		}
		all.Wait()
	})
}

// slotJob records the slots that it was called with.
type slotJob struct{ used [maxThreads]atomic.Bool }

func (j *slotJob) Do(_, slot int) {
	time.Sleep(100 * time.Microsecond) // so that every thread gets a part
	j.used[slot].Store(true)
}

func (j *slotJob) threads() (n int) {
	for i := range j.used {
		if j.used[i].Load() {
			n++
		}
	}
	return n
}

func TestThreads(t *testing.T) {
	withProcs(t, 4, func() {
		for limit, want := range map[int]int{0: 4, -3: 4, 1: 1, 2: 2, 9: 4} {
			team := NewTeam(limit)
			if got := team.Threads(); got != want {
				t.Errorf("limit %d: %d threads, want %d", limit, got, want)
			}
			job := &slotJob{}
			team.Run(40, job)
			if got := job.threads(); got > want {
				t.Errorf("limit %d: %d threads took part", limit, got)
			}
		}
		var none *Team
		job := newCountJob(t, 40)
		none.Run(40, job)
		job.requireOnce()
		if got := none.Threads(); got != 4 {
			t.Errorf("without a team there are %d threads", got)
		}
	})
}

// TestTeamsRunConcurrently has two teams in a Run at the same time, each with all
// of its threads.
func TestTeamsRunConcurrently(t *testing.T) {
	withProcs(t, 4, func() {
		for range 10 {
			job := &meetJob{}
			job.missing.Store(4)
			var both sync.WaitGroup
			for range 2 {
				team := NewTeam(2)
				both.Go(func() { team.Run(2, job) })
			}
			both.Wait()
		}
	})
}

// TestPanicStaysInItsTeam lets one team panic repeatedly while another works.
func TestPanicStaysInItsTeam(t *testing.T) {
	withProcs(t, 4, func() {
		bad, good := NewTeam(2), NewTeam(2)
		var both sync.WaitGroup
		both.Go(func() {
			for range 20 {
				if panicOf(func() { bad.Run(20, &badJob{onWorker: true, fail: func() { panic(errBad) }}) }) == nil {
					t.Error("the panic got lost")
				}
			}
		})
		both.Go(func() {
			for range 20 {
				job := newCountJob(t, 40)
				good.Run(40, job)
				job.requireOnce()
			}
		})
		both.Wait()
	})
}

// TestWorkersEnd waits for the workers of teams that are no longer referenced to
// end.
func TestWorkersEnd(t *testing.T) {
	withProcs(t, 4, func() {
		before := runtime.NumGoroutine()
		for range 50 {
			job := &meetJob{}
			job.missing.Store(4)
			NewTeam(4).Run(4, job)
		}
		for runtime.NumGoroutine() > before+10 { // until the test times out
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	})
}

func TestTeamOfContext(t *testing.T) {
	withProcs(t, 4, func() {
		ctx := t.Context()
		if team := TeamOf(ctx); team != nil {
			t.Errorf("a bare context has the team %v", team)
		}
		ctx = WithThreads(ctx, 3)
		if n := TeamOf(ctx).Threads(); n != 3 {
			t.Errorf("%d threads, want 3", n)
		}
		if n := TeamOf(WithThreads(ctx, 2)).Threads(); n != 2 {
			t.Errorf("%d threads within, want 2", n)
		}
	})
}
