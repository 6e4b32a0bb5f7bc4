package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/device"
)

// Long work, such as training and selecting, runs as a job, so that no connection has to
// stay open for it. See orders.go for what happens to jobs when the process ends.

// JobState is how far a job is.
type JobState string

// The states of a job.
const (
	Running   JobState = "running"
	Done      JobState = "done"
	Failed    JobState = "failed"
	Cancelled JobState = "cancelled"
)

// Job is what clients see of a job.
type Job struct {
	ID       string      `json:"id"`
	Campaign string      `json:"campaign"`
	Kind     string      `json:"kind" enum:"ask,predict,map,gain" doc:"what it does"`
	Person   string      `json:"person" doc:"who started it"`
	State    JobState    `json:"state" enum:"running,done,failed,cancelled"`
	Begun    time.Time   `json:"begun"`
	Ended    *time.Time  `json:"ended,omitempty"`
	Progress JobProgress `json:"progress"`
	Problem  string      `json:"problem,omitempty" doc:"why it failed"`
	Ask      int64       `json:"ask,omitempty" doc:"number of the ask that it made"`
}

// JobProgress is how far the current stage of a job is.
type JobProgress struct {
	Stage string `json:"stage" doc:"waiting, training, embedding, picking or comparing"`
	Done  int    `json:"done"`
	Of    int    `json:"of"`
}

// job is a job with what only the server sees.
type job struct {
	request string // of an ask: its id
	mu      sync.Mutex
	public  Job
	changed chan struct{} // closed and replaced with every change
	cancel  context.CancelFunc
	stopped bool // somebody has cancelled it
	result  any
	err     error
}

// jobs holds the running jobs and the last ones that ended.
type jobs struct {
	begins sync.Mutex // held from the search for a running job to the start of another one
	mu     sync.Mutex
	list   []*job // the oldest first
	ended  bool
	wait   sync.WaitGroup
	begin  context.Context
	finish context.CancelFunc
}

// newJobs returns jobs that compute with so many threads, which they share, and on a device
// unless it is nil.
func newJobs(threads int, on device.Device) *jobs {
	ctx, cancel := context.WithCancel(device.With(nextbatch.WithThreads(context.Background(), threads), on))
	return &jobs{begin: ctx, finish: cancel}
}

const (
	keptJobs    = 1000 // that have ended
	runningJobs = 256  // at the same time
)

var (
	errStopping = errors.New("the service is shutting down")
	errTooMany  = errors.New("too many jobs are running; try again when some have ended")
)

// full reports that no further job can start.
func (js *jobs) full() error {
	js.mu.Lock()
	defer js.mu.Unlock()
	switch {
	case js.ended:
		return errStopping
	case js.count() >= runningJobs:
		return errTooMany
	}
	return nil
}

// start runs work in the background. The work returns its result and, if it made one,
// the number of an ask. Ended is told whether the end of the process interrupted it.
func (js *jobs) start(public Job, request string, work func(context.Context, func(JobProgress)) (result any, ask int64, err error), ended func(interrupted bool)) (*job, error) {
	if err := js.full(); err != nil {
		return nil, err
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	js.forget()
	ctx, cancel := context.WithCancel(js.begin)
	public.State, public.Progress = Running, JobProgress{Stage: "waiting"}
	j := &job{request: request, public: public, changed: make(chan struct{}), cancel: cancel}
	js.list = append(js.list, j)
	js.wait.Go(func() {
		defer cancel()
		result, ask, err := work(ctx, j.progress)
		ended(err != nil && js.begin.Err() != nil)
		j.end(ctx, result, ask, err)
	})
	return j, nil
}

// running returns how many jobs are running.
func (js *jobs) running() int {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.count()
}

func (js *jobs) count() (running int) {
	for _, j := range js.list {
		if j.snapshot().State == Running {
			running++
		}
	}
	return running
}

// forget drops the oldest jobs that have ended.
func (js *jobs) forget() {
	surplus := len(js.list) - keptJobs
	js.list = slices.DeleteFunc(js.list, func(j *job) bool {
		if surplus <= 0 || j.snapshot().State == Running {
			return false
		}
		surplus--
		return true
	})
}

func (js *jobs) find(id string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.list {
		if j.public.ID == id {
			return j
		}
	}
	return nil
}

// stop cancels a job, which ends some time later.
func (j *job) stop() {
	j.mu.Lock()
	j.stopped = true
	j.mu.Unlock()
	j.cancel()
}

// goesOn reports whether a job runs and nobody has cancelled it.
func (j *job) goesOn() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public.State == Running && !j.stopped
}

// asking returns the running ask of a request, or nil.
func (js *jobs) asking(campaign, request string) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range js.list {
		if s := j.snapshot(); j.goesOn() && s.Kind == "ask" && s.Campaign == campaign && j.request == request {
			return j
		}
	}
	return nil
}

// of returns the jobs of a campaign, the latest first.
func (js *jobs) of(campaign string) (list []Job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	for _, j := range slices.Backward(js.list) {
		if s := j.snapshot(); s.Campaign == campaign {
			list = append(list, s)
		}
	}
	return list
}

// stop cancels all jobs and waits for their ends.
func (js *jobs) stop() {
	js.mu.Lock()
	js.ended = true
	js.mu.Unlock()
	js.finish()
	js.wait.Wait()
}

func (j *job) snapshot() Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public
}

// update changes a job and wakes who watches it.
func (j *job) update(change func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
	close(j.changed)
	j.changed = make(chan struct{})
}

func (j *job) progress(p JobProgress) { j.update(func() { j.public.Progress = p }) }

func (j *job) end(ctx context.Context, result any, ask int64, err error) {
	j.update(func() {
		j.public.Ended, j.public.Ask = new(time.Now().UTC()), ask
		j.result, j.err = result, err
		switch {
		case err == nil:
			j.public.State = Done
		case ctx.Err() != nil:
			j.public.State, j.public.Problem = Cancelled, "it was cancelled"
		default:
			j.public.State, j.public.Problem = Failed, toClients(err)
		}
	})
}

// next returns the job's present state, and a channel that closes when it changes.
func (j *job) next() (Job, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public, j.changed
}
