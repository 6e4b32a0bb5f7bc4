package linalg

import (
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
		Run(len(inner.done), inner)
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
				Run(parts, job)
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
			Run(50, job)
			job.requireOnce()
		}
	})
}

func TestRunWithinRun(t *testing.T) {
	withProcs(t, 3, func() {
		job := newCountJob(t, 20)
		job.within = newCountJob(t, 9)
		Run(20, job)
		job.requireOnce()
	})
}

func TestRunsBesideEachOther(t *testing.T) {
	withProcs(t, 4, func() {
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for parts := range 60 {
					job := newCountJob(t, parts)
					Run(parts, job)
					job.requireOnce()
				}
			})
		}
		all.Wait()
	})
}

// slotJob notes the slots that it was called with.
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

func TestSetThreads(t *testing.T) {
	defer SetThreads(0)
	withProcs(t, 4, func() {
		for limit, want := range map[int]int{0: 4, -3: 4, 1: 1, 2: 2, 9: 4} {
			SetThreads(limit)
			if got := Threads(); got != want {
				t.Errorf("limit %d: %d threads, want %d", limit, got, want)
			}
			job := &slotJob{}
			Run(40, job)
			if got := job.threads(); got > want {
				t.Errorf("limit %d: %d threads took part", limit, got)
			}
		}
	})
}
