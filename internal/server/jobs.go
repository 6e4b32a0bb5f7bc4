package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/wire"
)

// Long work, such as training and selecting, runs as a job, so that no connection has to
// stay open for it. See orders.go for what happens to jobs when the process ends.
//
// Few jobs compute at a time; the others wait. The next turn goes to the person whose last one was
// longest ago, so that nobody waits for all jobs of somebody else. A repeated request joins the
// job that already waits or computes.

// job is a job with what only the server sees.
type job struct {
	order order
	turn  chan struct{} // closed when it may compute

	computing bool // guarded by the list that it is in

	mu      sync.Mutex
	public  wire.Job
	event   int64         // last one of the campaign when it began to compute; 0 before
	changed chan struct{} // closed and replaced with every change
	cancel  context.CancelFunc
	stopped bool // somebody has cancelled it
	over    bool // it no longer computes
	outcome jobResult
}

// jobResult is what a job leaves behind.
type jobResult struct {
	ask       int64             // number of the ask that it made
	predicted *predictionResult // of a job that predicts, until there are too many
}

// jobs holds the jobs that wait or compute, and the last ones that ended.
type jobs struct {
	begins sync.Mutex // held while a job starts, and when the last one has
	mu     sync.Mutex
	list   []*job // the oldest first
	ended  bool
	turns  map[string]int // of each person, when one of their jobs began to compute last
	began  int            // jobs that began to compute
	wait   sync.WaitGroup
	begin  context.Context
	finish context.CancelFunc
	memory admissions
}

// newJobs returns jobs that share the given number of threads and compute on a device unless
// it is nil.
func newJobs(threads int, on device.Device, available func() int64) *jobs {
	ctx, cancel := context.WithCancel(device.With(nextbatch.WithThreads(context.Background(), threads), on))
	return &jobs{begin: ctx, finish: cancel, turns: map[string]int{}, memory: admissions{available: available}}
}

// JobsAtOnce is how many jobs compute at a time. They share the threads of Options.Threads, and
// each but one has a thread of its own besides: with as many processors for Go as both together and
// one more, no request waits for a job to pause.
const JobsAtOnce = 3

const (
	atOnceOfOne = 2    // jobs of one person that compute at a time, so that others can, too
	openJobs    = 256  // that wait or compute
	openOfOne   = 64   // of one person
	keptJobs    = 1000 // that have ended
	keptBytes   = 256 << 20
)

var (
	errStopping   = errors.New("the service is shutting down")
	errTooMany    = errors.New("too many jobs are running; try again when some have ended")
	errTooManyOne = fmt.Errorf("%d of your jobs are waiting or running, which is the most that one person may have; try "+
		"again when some have ended", openOfOne)
)

// start does work in the background, when its turn comes, unless the same job is already
// waiting or running. Before that, it records the job.
func (js *jobs) start(o order, same func(*job) (bool, error), write func() error,
	work func(context.Context, *job) (jobResult, error)) (*job, error) {
	js.begins.Lock()
	defer js.begins.Unlock()
	if j, err := js.same(same); j != nil || err != nil {
		return j, err
	}
	if err := js.room(o.Person); err != nil {
		return nil, err
	}
	if err := write(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(js.begin)
	o.State, o.Progress = wire.Running, wire.Progress{Stage: "waiting"}
	j := &job{order: o, public: o.Job, turn: make(chan struct{}), changed: make(chan struct{}), cancel: cancel}
	js.change(func() { js.list = append(js.list, j) })
	js.wait.Go(func() {
		defer cancel()
		var left jobResult
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-j.turn:
			left, err = work(ctx, j)
		}
		j.end(ctx, left, err)
		js.memory.release(j)
		js.change(func() { j.computing = false })
	})
	return j, nil
}

// same returns the waiting or running job that is the same as a new one, if any.
func (js *jobs) same(same func(*job) (bool, error)) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.list {
		if !j.goesOn() {
			continue
		}
		if found, err := same(j); found || err != nil {
			return j, err
		}
	}
	return nil, nil
}

// room returns an error if a person cannot start another job.
func (js *jobs) room(person string) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	all, own := 0, 0
	for _, j := range js.list {
		if j.snapshot().State != wire.Running {
			continue
		}
		if all++; j.order.Person == person {
			own++
		}
	}
	switch {
	case js.ended:
		return errStopping
	case all >= openJobs:
		return errTooMany
	case own >= openOfOne:
		return errTooManyOne
	}
	return nil
}

// change changes the list, starts the jobs whose turn it is, and drops old ones.
func (js *jobs) change(do func()) {
	js.mu.Lock()
	defer js.mu.Unlock()
	do()
	for next := js.next(); next != nil; next = js.next() {
		js.began++
		js.turns[next.order.Person] = js.began
		next.computing = true
		close(next.turn)
	}
	js.forget()
}

// next returns the job that may compute now: of those who may have another one, the oldest of
// the person whose turn was longest ago.
func (js *jobs) next() (best *job) {
	var busy []*job
	for _, j := range js.list {
		if j.computing {
			busy = append(busy, j)
		}
	}
	if len(busy) >= JobsAtOnce {
		return nil
	}
	if suspect := js.suspect(); suspect != nil {
		if len(busy) > 0 {
			return nil
		}
		return suspect
	}
	for _, j := range js.list {
		if j.computing || !j.goesOn() || !j.fits(busy) {
			continue
		}
		if best == nil || js.turns[j.order.Person] < js.turns[best.order.Person] {
			best = j
		}
	}
	return best
}

// suspect returns the oldest open job during which the process has ended before. It computes
// alone, before all others, so that nothing else can be the cause if the process ends again.
func (js *jobs) suspect() *job {
	for _, j := range js.list {
		if j.order.Attempts > 0 && j.goesOn() {
			return j
		}
	}
	return nil
}

// fits reports whether a job may compute beside others. Asks of one campaign take turns, because each
// counts the rows of the one before as selected.
func (j *job) fits(busy []*job) bool {
	own := 0
	for _, other := range busy {
		if other.order.Person == j.order.Person {
			own++
		}
		if j.order.Kind == "ask" && other.order.Kind == "ask" && j.order.Campaign == other.order.Campaign {
			return false
		}
	}
	return own < atOnceOfOne
}

// running returns how many jobs wait or compute.
func (js *jobs) running() (n int) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.list {
		j.mu.Lock()
		if !j.over {
			n++
		}
		j.mu.Unlock()
	}
	return n
}

// forget drops the oldest jobs that have ended, and their results if these take too much
// memory. The latest result stays, however large.
func (js *jobs) forget() {
	surplus := len(js.list) - keptJobs
	js.list = slices.DeleteFunc(js.list, func(j *job) bool {
		if surplus <= 0 || j.snapshot().State == wire.Running {
			return false
		}
		surplus--
		return true
	})
	bytes := int64(0)
	for _, j := range slices.Backward(js.list) {
		if size := j.bytes(); size > 0 {
			if bytes > 0 && bytes+size > keptBytes {
				j.forgetResult()
				continue
			}
			bytes += size
		}
	}
}

// add records a job that is not going to run.
func (js *jobs) add(o order) {
	js.change(func() {
		js.list = append(js.list, &job{order: o, public: o.Job, over: true, changed: make(chan struct{}), cancel: func() {}})
	})
}

func (js *jobs) find(id string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.list {
		if j.order.ID == id {
			return j
		}
	}
	return nil
}

// of returns the jobs of a campaign, the latest first.
func (js *jobs) of(campaign string) (list []wire.Job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range slices.Backward(js.list) {
		if j.order.Campaign == campaign {
			list = append(list, j.snapshot())
		}
	}
	return list
}

// stop cancels all jobs and waits for their ends. None starts after that.
func (js *jobs) stop() {
	js.begins.Lock()
	js.mu.Lock()
	js.ended = true
	js.mu.Unlock()
	js.begins.Unlock()
	js.finish()
	js.wait.Wait()
}

// stop cancels a job, which ends some time later.
func (j *job) stop() {
	j.mu.Lock()
	j.stopped = true
	j.mu.Unlock()
	j.cancel()
}

// goesOn reports whether a job waits or computes and nobody has cancelled it.
func (j *job) goesOn() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public.State == wire.Running && !j.stopped && !j.over
}

func (j *job) snapshot() wire.Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public
}

// sees reports whether the data of a job include an event of its campaign.
func (j *job) sees(event int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.event == 0 || j.event >= event
}

// bytes is the memory of the result of a job.
func (j *job) bytes() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.outcome.predicted == nil {
		return 0
	}
	return j.outcome.predicted.bytes
}

func (j *job) forgetResult() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.outcome.predicted = nil
}

// update changes a job and notifies its watchers.
func (j *job) update(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
	close(j.changed)
	j.changed = make(chan struct{})
}

func (j *job) progress(p wire.Progress) { j.update(func() { j.public.Progress = p }) }

// end records how a job has ended. One that the end of the process interrupts is still running as far as
// clients are concerned: the next start resumes it.
func (j *job) end(ctx context.Context, left jobResult, err error) {
	j.update(func() {
		if j.over = true; err != nil && ctx.Err() != nil && !j.stopped {
			return
		}
		j.public.Ended, j.public.Ask = new(time.Now().UTC()), left.ask
		j.outcome = left
		switch {
		case err == nil:
			j.public.State = wire.Done
		case ctx.Err() != nil:
			j.public.State, j.public.Problem = wire.Cancelled, "it was cancelled"
		default:
			j.public.State, j.public.Problem = wire.Failed, toClients(err)
		}
	})
}

// next returns the job's present state, and a channel that closes when it changes.
func (j *job) next() (wire.Job, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public, j.changed
}
