package linalg

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// badJob fails in its first part on one kind of thread, the caller's or a worker,
// once another thread has begun a part, too, which waits for the failure.
type badJob struct {
	onWorker bool
	fail     func()
	failed   atomic.Bool
	started  atomic.Int32
}

func (j *badJob) Do(_, slot int) {
	j.started.Add(1)
	if (slot > 0) == j.onWorker && !j.failed.Load() {
		for j.started.Load() < 2 {
			runtime.Gosched()
		}
		j.failed.Store(true)
		failHere(j.fail)
	}
	for !j.failed.Load() {
		runtime.Gosched()
	}
	time.Sleep(100 * time.Microsecond) // time for the failure to spread
}

// panicJob panics in every part.
type panicJob struct{}

func (panicJob) Do(int, int) { panic(errBad) }

// failHere has a name to look for in the stack.
//
//go:noinline
func failHere(fail func()) { fail() }

// panicOf returns what f panics with.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

var errBad = errors.New("bad part")

// requirePoolWorks runs jobs that need all threads at once.
func requirePoolWorks(t *testing.T) {
	t.Helper()
	for range 5 {
		job := newCountJob(t, 50)
		everyone.Run(50, job)
		job.requireOnce()
	}
	job := &meetJob{}
	job.missing.Store(3)
	everyone.Run(3, job)
}

// meetJob has a part for each thread, and none ends before all have begun.
type meetJob struct{ missing atomic.Int32 }

func (j *meetJob) Do(int, int) {
	j.missing.Add(-1)
	for j.missing.Load() > 0 {
		runtime.Gosched()
	}
}

func TestPanicOnCaller(t *testing.T) {
	withProcs(t, 3, func() {
		for range 5 {
			value := panicOf(func() { everyone.Run(50, &badJob{fail: func() { panic(errBad) }}) })
			if value != errBad {
				t.Fatalf("got %v, want the value of the panic itself", value)
			}
			requirePoolWorks(t)
		}
	})
}

func TestPanicOnWorker(t *testing.T) {
	withProcs(t, 3, func() {
		for range 5 {
			value := panicOf(func() { everyone.Run(50, &badJob{onWorker: true, fail: func() { panic(errBad) }}) })
			got, ok := value.(*WorkerPanic)
			if !ok || got.Value != errBad || !errors.Is(got, errBad) {
				t.Fatalf("got %v, want a *WorkerPanic of %v", value, errBad)
			}
			if text := got.Error(); !strings.Contains(text, "bad part") || !strings.Contains(text, "failHere") {
				t.Errorf("the message lacks the value or the worker's stack:\n%s", text)
			}
			requirePoolWorks(t)
		}
	})
}

func TestPanicStopsTheJob(t *testing.T) {
	withProcs(t, 3, func() {
		for _, onWorker := range []bool{false, true} {
			job := &badJob{onWorker: onWorker, fail: func() { panic(errBad) }}
			panicOf(func() { everyone.Run(10_000, job) })
			if n := job.started.Load(); n == 10_000 {
				t.Errorf("on a worker: %t: all %d parts began", onWorker, n)
			}
		}
	})
}

// TestPanicWithin lets the inner of two nested jobs panic.
func TestPanicWithin(t *testing.T) {
	withProcs(t, 3, func() {
		for _, onWorker := range []bool{false, true} {
			inner := func() { everyone.Run(4, panicJob{}) }
			value := panicOf(func() { everyone.Run(50, &badJob{onWorker: onWorker, fail: inner}) })
			if got, ok := value.(error); !ok || !errors.Is(got, errBad) {
				t.Errorf("on a worker: %t: got %v", onWorker, value)
			}
			requirePoolWorks(t)
		}
	})
}

// TestRecoveredWithin recovers inside a part: the job does not notice.
func TestRecoveredWithin(t *testing.T) {
	withProcs(t, 3, func() {
		for _, onWorker := range []bool{false, true} {
			job := &badJob{onWorker: onWorker, fail: func() {
				panicOf(func() { everyone.Run(4, panicJob{}) })
			}}
			everyone.Run(50, job)
			if n := job.started.Load(); n != 50 {
				t.Errorf("on a worker: %t: %d of 50 parts began", onWorker, n)
			}
			requirePoolWorks(t)
		}
	})
}

// TestGoexit ends the goroutine of a part, as t.FailNow does.
func TestGoexit(t *testing.T) {
	withProcs(t, 3, func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			everyone.Run(50, &badJob{fail: runtime.Goexit})
			t.Error("Run returned although its goroutine was to end")
		}()
		<-ended
		requirePoolWorks(t)
		if _, ok := panicOf(func() { everyone.Run(50, &badJob{onWorker: true, fail: runtime.Goexit}) }).(*WorkerPanic); !ok {
			t.Error("a worker that ends must not go unnoticed")
		}
		requirePoolWorks(t)
	})
}
