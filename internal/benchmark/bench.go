package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch/internal/gathering"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/network"
)

// Bench performs the runs of a grid and writes each round to a store as soon as it
// is done. Finished runs are skipped; an interrupted one resumes after its last
// round, with the same results as if it had never stopped.
type Bench struct {
	Store    Store
	Settings Settings // those that the store was joined with

	// Load returns a data set by name. It is called from one goroutine at a time
	// per name, and its result is only read.
	Load func(name string) (*sets.Regression, error)

	// Jobs is how many runs proceed at the same time. While there are several,
	// each has one thread; a single run has those that the context of Run grants.
	// On a device, the networks of these runs are trained together.
	Jobs int

	// Watch, unless nil, is notified of events, by one goroutine at a time.
	Watch func(Event)
}

// Event is something that happened to a run.
type Event struct {
	Run    Run
	Record *Record // a round that was finished; nil for other events
	Failed error   // why the run failed
	Others []Run   // abandoned with it, because they need the same data set
}

// Summary counts the outcomes of the runs.
type Summary struct {
	Done   int // finished now or before
	Failed int // failed, or their data set could not be loaded
	Taken  int // claimed by other processes
}

// scheduler hands the runs of a Bench to its workers.
type scheduler struct {
	*Bench
	cancel context.CancelCauseFunc
	sets   shared[string, *sets.Regression]
	tasks  shared[taskKey, *task]

	gathering *gathering.Gathering // of the networks of all workers; nil without a device

	watching sync.Mutex // held while Watch runs, and no other lock is

	mu      sync.Mutex // of what follows
	waiting []Run
	busy    int // runs under way
	summary Summary
}

type taskKey struct {
	set    string
	split  int
	compat bool
}

// Run performs the runs that are free, in their order, and returns when none is
// left to claim. It reports a run that fails and continues with the others; an
// error of the store ends everything. If the store is a Queue, the queue decides which runs
// this process performs, perhaps others that were planned too; the summary is about
// the given ones, whoever performed them.
func (b *Bench) Run(ctx context.Context, runs []Run) (Summary, error) {
	if err := checkRuns(runs); err != nil {
		return Summary{}, err
	}
	if err := b.Store.Plan(runs); err != nil {
		return Summary{}, err
	}
	if q, distributes := b.Store.(Queue); distributes {
		if err := b.Work(ctx, q, false); err != nil {
			return Summary{}, err
		}
		return summaryOf(ctx, q, runs)
	}
	done, err := RoundsDone(ctx, b.Store)
	if err != nil {
		return Summary{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &scheduler{Bench: b, cancel: cancel}
	for _, r := range runs {
		if done[r] > r.Rounds {
			w.summary.Done++
		} else {
			w.waiting = append(w.waiting, r)
		}
	}
	jobs := min(max(1, b.Jobs), max(1, len(w.waiting)))
	if !slices.ContainsFunc(runs, func(r Run) bool { return r.Learner().Blends() }) { // blends train at times of their own
		w.gather(ctx, jobs)
	}
	var workers sync.WaitGroup
	for range jobs {
		worker, leave := w.join(ctx)
		workers.Go(func() {
			defer leave()
			w.work(worker)
		})
	}
	workers.Wait()
	w.summary.Taken = len(w.waiting)
	return w.summary, context.Cause(ctx)
}

// Work performs runs that a queue, which is the store, hands out, until none is left for this
// process; with wait, until the context ends. It reports a run that fails and continues
// with the others; an error of the store ends everything.
func (b *Bench) Work(ctx context.Context, q Queue, wait bool) error {
	w := &scheduler{Bench: b}
	w.gather(ctx, b.Jobs)
	return q.Work(ctx, max(1, b.Jobs), wait, func(ctx context.Context, claim *Claim) error {
		if !claim.Run.Learner().Blends() {
			joined, leave := w.join(ctx)
			defer leave()
			ctx = joined
		}
		w.count(+1)
		err := w.do(ctx, claim)
		w.count(-1)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrTaken) && !errors.As(err, new(*StoreError)) {
			w.notify(Event{Run: claim.Run, Failed: err})
		}
		return err
	})
}

// gather has the networks of several runs trained together, if the context has a device. Half
// of the runs make a group, so that the device trains those of one half while the others
// select.
func (w *scheduler) gather(ctx context.Context, jobs int) {
	if d := network.DeviceOf(ctx); d != nil && jobs > 1 {
		w.gathering = gathering.NewGathering(d, (jobs+1)/2)
	}
}

// join returns the context of a worker whose networks are trained with those of the others,
// until it leaves.
func (w *scheduler) join(ctx context.Context) (_ context.Context, leave func()) {
	if w.gathering == nil {
		return ctx, func() {}
	}
	return network.WithDevice(ctx, w.gathering), w.gathering.Join()
}

func (w *scheduler) count(more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy += more
}

// summaryOf returns the outcomes of runs as a store knows them.
func summaryOf(ctx context.Context, r Reader, runs []Run) (s Summary, err error) {
	list, err := r.Status(ctx)
	status := map[Run]RunStatus{}
	for _, of := range list {
		status[of.Run] = of
	}
	for _, run := range runs {
		switch of := status[run]; {
		case of.Finished():
			s.Done++
		case of.Working:
			s.Taken++
		default:
			s.Failed++
		}
	}
	return s, err
}

// work performs one run after another.
func (w *scheduler) work(ctx context.Context) {
	for ctx.Err() == nil {
		claim, err := w.claim()
		if err != nil {
			w.cancel(err)
			return
		}
		if claim == nil {
			return
		}
		err = w.do(ctx, claim)
		w.finish(ctx, claim, err)
	}
}

// claim returns the first waiting run that is free, or nil if there is none.
func (w *scheduler) claim() (*Claim, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 0; i < len(w.waiting); {
		claim, err := w.Store.Claim(w.waiting[i])
		switch {
		case errors.Is(err, ErrTaken):
			i++
			continue
		case errors.Is(err, ErrFinished):
			w.summary.Done++
		case err != nil:
			return nil, err
		}
		w.waiting = slices.Delete(w.waiting, i, i+1)
		if claim != nil {
			w.busy++
			return claim, nil
		}
	}
	return nil, nil
}

// budget returns the context for a round: with one thread if other runs are under
// way, and otherwise with the caller's threads.
func (w *scheduler) budget(ctx context.Context) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy > 1 {
		return linalg.WithThreads(ctx, 1)
	}
	return ctx
}

// finish releases a claim, counts its run and reports a failure.
func (w *scheduler) finish(ctx context.Context, claim *Claim, err error) {
	if failure := w.settle(ctx, claim, err); failure != nil {
		w.notify(*failure)
	}
}

// settle releases a claim and counts its run. It returns the event of a failed run.
func (w *scheduler) settle(ctx context.Context, claim *Claim, err error) (failure *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	var broken *StoreError
	switch {
	case ctx.Err() != nil:
		return nil // leaving the store releases the claims
	case errors.Is(err, ErrTaken):
		w.waiting = append(w.waiting, claim.Run) // another process finishes it, or leaves it to us again
		return nil
	case errors.As(err, &broken):
		w.cancel(err)
		return nil
	case err != nil:
		failure = w.fail(claim.Run, err)
	default:
		w.summary.Done++
	}
	if err := w.Store.Release(claim, err); err != nil {
		w.cancel(err)
	}
	return failure
}

// fail counts a failed run. If its data set could not be loaded, the others on it
// are abandoned too.
func (w *scheduler) fail(run Run, err error) *Event {
	e := &Event{Run: run, Failed: err}
	if errors.As(err, new(*SetError)) {
		e.Others = w.drop(run.DataSet)
		if broken := w.Store.Fail(e.Others, err); broken != nil {
			w.cancel(broken)
		}
	}
	w.summary.Failed += 1 + len(e.Others)
	return e
}

// drop removes the runs on a data set from the waiting ones.
func (w *scheduler) drop(set string) (dropped []Run) {
	w.waiting = slices.DeleteFunc(w.waiting, func(r Run) bool {
		if r.DataSet == set {
			dropped = append(dropped, r)
		}
		return r.DataSet == set
	})
	return dropped
}

// notify tells the user of an event. Other runs proceed in the meantime.
func (w *scheduler) notify(e Event) {
	if w.Watch == nil {
		return
	}
	w.watching.Lock()
	defer w.watching.Unlock()
	w.Watch(e)
}

// do performs the remaining rounds of a run.
func (w *scheduler) do(ctx context.Context, claim *Claim) error {
	begin := time.Now()
	key := taskKey{claim.Run.DataSet, claim.Run.Split, claim.Run.Compat}
	t, err := w.tasks.get(key, func() (*task, error) { return w.task(key) })
	defer w.tasks.release(key)
	if err != nil {
		return err
	}
	r, err := newRunner(claim.Run, w.Settings, t, claim.Done)
	if err != nil {
		return err
	}
	r.clock = begin // loading the data set counts towards the first round
	for !r.finished() {
		record, err := r.round(w.budget(ctx))
		if err != nil {
			return err
		}
		if err := w.Store.Append(claim, record); err != nil {
			return err
		}
		w.notify(Event{Run: claim.Run, Record: &record})
		if err := r.label(record.Picked); err != nil {
			return err
		}
	}
	return nil
}

func (w *scheduler) task(key taskKey) (*task, error) {
	data, err := w.sets.get(key.set, func() (*sets.Regression, error) { return w.load(key.set) })
	defer w.sets.release(key.set)
	if err != nil {
		return nil, &SetError{key.set, err}
	}
	t, err := newTask(data, w.Settings, key.split, key.compat)
	if err != nil {
		return nil, &SetError{key.set, err}
	}
	return t, nil
}

// SetError is why a data set cannot be used for runs.
type SetError struct {
	Set   string
	Cause error
}

func (e *SetError) Error() string {
	name := fmt.Sprintf("data set %s: ", e.Set)
	return name + strings.TrimPrefix(e.Cause.Error(), name) // the cause may name the data set itself
}

func (e *SetError) Unwrap() error { return e.Cause }

// load loads a data set and checks that it is the one that the results are about.
func (w *scheduler) load(name string) (*sets.Regression, error) {
	data, err := w.Load(name)
	if err != nil {
		return nil, err
	}
	return data, w.Store.CheckSet(Set{name, data.X.Rows, data.X.Cols, fingerprint(data)})
}
