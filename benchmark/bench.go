package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/linalg"
)

// Bench does the runs of a grid and writes each round to a store as it
// comes. Runs that are there already are left alone; one that was stopped goes on
// after its last round, with the same results as if it had not been.
type Bench struct {
	Store    Store
	Settings Settings // those that the store was joined with

	// Load returns a data set by its name. It is called from one goroutine at
	// a time for each name, and what it returns is only read.
	Load func(name string) (*dataset.Regression, error)

	// Jobs is how many runs are under way at the same time. While there are
	// several, each has one thread; a run that is alone has those that the
	// context of Run grants.
	Jobs int

	// Watch, unless nil, is told of what happens, by one goroutine at a time.
	Watch func(Event)
}

// Event is something that happened to a run.
type Event struct {
	Run    Run
	Record *Record // a round that was done; nil for the other events
	Failed error   // why the run cannot go on
	Others []Run   // that are given up with it, as they need the same data set
}

// Summary counts what became of the runs.
type Summary struct {
	Done   int // finished now or before
	Failed int // could not go on, or their data set cannot be had
	Taken  int // other processes are at work on them
}

// workshop is a Bench at work.
type workshop struct {
	*Bench
	cancel context.CancelCauseFunc
	sets   shared[string, *dataset.Regression]
	tasks  shared[taskKey, *task]

	mu      sync.Mutex
	waiting []Run
	busy    int // runs under way
	summary Summary
}

type taskKey struct {
	set    string
	split  int
	compat bool
}

// Run does the runs, in their order as far as they are free, and returns when
// none is left to claim. A run that fails is reported, and the others go on; an
// error of the store ends everything.
func (b *Bench) Run(ctx context.Context, runs []Run) (Summary, error) {
	if err := checkRuns(runs); err != nil {
		return Summary{}, err
	}
	if err := b.Store.Plan(runs); err != nil {
		return Summary{}, err
	}
	done, err := RoundsDone(b.Store)
	if err != nil {
		return Summary{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &workshop{Bench: b, cancel: cancel}
	for _, r := range runs {
		if done[r] > r.Rounds {
			w.summary.Done++
		} else {
			w.waiting = append(w.waiting, r)
		}
	}
	var workers sync.WaitGroup
	for range min(max(1, b.Jobs), max(1, len(w.waiting))) {
		workers.Go(func() { w.work(ctx) })
	}
	workers.Wait()
	w.summary.Taken = len(w.waiting)
	return w.summary, context.Cause(ctx)
}

// work does one run after the other.
func (w *workshop) work(ctx context.Context) {
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
		w.settle(ctx, claim, err)
	}
}

// claim returns the first waiting run that is free, nil if there is none.
func (w *workshop) claim() (*Claim, error) {
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

// budget returns the context for a round: with one thread beside other runs, with
// the threads of the caller otherwise.
func (w *workshop) budget(ctx context.Context) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy > 1 {
		return linalg.WithThreads(ctx, 1)
	}
	return ctx
}

// settle gives a claim back and counts its run.
func (w *workshop) settle(ctx context.Context, claim *Claim, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	var broken *StoreError
	switch {
	case ctx.Err() != nil:
		return // claims are given back when the process leaves
	case errors.Is(err, ErrTaken):
		w.waiting = append(w.waiting, claim.Run) // somebody else does it, or leaves it to us again
		return
	case errors.As(err, &broken):
		w.cancel(err)
		return
	case err != nil:
		w.fail(claim.Run, err)
	default:
		w.summary.Done++
	}
	if err := w.Store.Release(claim, err); err != nil {
		w.cancel(err)
	}
}

// fail counts a run that cannot go on, and gives up the others on its data set if
// this cannot be had.
func (w *workshop) fail(run Run, err error) {
	e := Event{Run: run, Failed: err}
	if errors.As(err, new(*SetError)) {
		e.Others = w.drop(run.DataSet)
		if broken := w.Store.Fail(e.Others, err); broken != nil {
			w.cancel(broken)
		}
	}
	w.summary.Failed += 1 + len(e.Others)
	w.tell(e)
}

// drop takes the runs on a data set from those that wait.
func (w *workshop) drop(set string) (dropped []Run) {
	w.waiting = slices.DeleteFunc(w.waiting, func(r Run) bool {
		if r.DataSet == set {
			dropped = append(dropped, r)
		}
		return r.DataSet == set
	})
	return dropped
}

func (w *workshop) tell(e Event) {
	if w.Watch != nil {
		w.Watch(e)
	}
}

// do does what is left of a run.
func (w *workshop) do(ctx context.Context, claim *Claim) error {
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
	r.clock = begin // the data set belongs to the first round
	for !r.finished() {
		record, err := r.round(w.budget(ctx))
		if err != nil {
			return err
		}
		if err := w.Store.Append(claim, record); err != nil {
			return err
		}
		w.mu.Lock()
		w.tell(Event{Run: claim.Run, Record: &record})
		w.mu.Unlock()
		if err := r.label(record.Picked); err != nil {
			return err
		}
	}
	return nil
}

func (w *workshop) task(key taskKey) (*task, error) {
	data, err := w.sets.get(key.set, func() (*dataset.Regression, error) { return w.load(key.set) })
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

// SetError says why there are no runs on a data set.
type SetError struct {
	Set   string
	Cause error
}

func (e *SetError) Error() string {
	name := fmt.Sprintf("data set %s: ", e.Set)
	return name + strings.TrimPrefix(e.Cause.Error(), name) // which may say so itself
}

func (e *SetError) Unwrap() error { return e.Cause }

// load loads a data set, which must be the one that the results are about.
func (w *workshop) load(name string) (*dataset.Regression, error) {
	data, err := w.Load(name)
	if err != nil {
		return nil, err
	}
	return data, w.Store.CheckSet(Set{name, data.X.Rows, data.X.Cols, Fingerprint(data)})
}
