package server

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Long work, such as training and selecting, runs as a job, so that no connection has to
// stay open for it. Jobs live in the memory of the process. One that a restart ended is
// asked for again with the same idempotency key: whatever it handed out before is
// returned, and nothing is handed out twice.

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
	Kind     string      `json:"kind" enum:"ask,predict" doc:"what it does"`
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
	Stage string `json:"stage" doc:"waiting, training, embedding or picking"`
	Done  int    `json:"done"`
	Of    int    `json:"of"`
}

// job is a job with what only the server sees.
type job struct {
	mu      sync.Mutex
	public  Job
	changed chan struct{} // closed and replaced with every change
	cancel  context.CancelFunc
	result  any
	err     error
}

// jobs holds the running jobs and the last ones that ended.
type jobs struct {
	mu     sync.Mutex
	list   []*job // the oldest first
	ended  bool
	wait   sync.WaitGroup
	begin  context.Context
	finish context.CancelFunc
}

func newJobs() *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	return &jobs{begin: ctx, finish: cancel}
}

const (
	keptJobs    = 1000 // that have ended
	runningJobs = 64   // at the same time
)

var (
	errStopping = errors.New("the service is shutting down")
	errTooMany  = errors.New("too many jobs are running; try again when some have ended")
)

// start runs work in the background. The work returns its result and, if it made one,
// the number of an ask.
func (js *jobs) start(public Job, work func(context.Context, func(JobProgress)) (result any, ask int64, err error)) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.ended {
		return nil, errStopping
	}
	js.forget()
	if js.count() >= runningJobs {
		return nil, errTooMany
	}
	ctx, cancel := context.WithCancel(js.begin)
	public.ID, public.State, public.Begun = strings.ToLower(rand.Text()), Running, time.Now().UTC()
	public.Progress.Stage = "waiting"
	j := &job{public: public, changed: make(chan struct{}), cancel: cancel}
	js.list = append(js.list, j)
	js.wait.Go(func() {
		defer cancel()
		result, ask, err := work(ctx, j.progress)
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
			j.public.State, j.public.Problem = Failed, err.Error()
		}
	})
}

// next returns the job's present state, and a channel that closes when it changes.
func (j *job) next() (Job, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.public, j.changed
}
