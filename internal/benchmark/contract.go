package benchmark

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Reader gives read access to results, even while processes work on them.
//
// All methods may be called from several goroutines. The caller owns what they
// return. Every run and round that they return passes Run.CheckSize and
// Round.Check; a store that holds others reports that it is damaged. Errors of
// the store itself are a *StoreError. If the context ends while a method reads, it
// returns the context's error.
type Reader interface {
	// Settings returns what all runs have in common: the zero value before the
	// first process has joined.
	Settings(ctx context.Context) (Settings, error)
	// Sets returns the data sets that were used, by name.
	Sets(ctx context.Context) ([]Set, error)
	// Status returns how far each planned run is, in the order of Run.Compare.
	Status(ctx context.Context) ([]RunStatus, error)
	// Workers returns the processes that hold claims, and those that wait for runs of a
	// Queue, in the order in which they joined.
	Workers(ctx context.Context) ([]Worker, error)
	// Records returns all rounds, in the order of Run.Compare, then by number.
	Records(ctx context.Context) ([]Record, error)
	// Latest returns how long the rounds took that ended last, at most n of them, in the
	// order in which they ended.
	Latest(ctx context.Context, n int) ([]Timing, error)
	// Close frees the store's resources on this machine. No other method may be
	// called afterwards.
	Close() error
}

// Store keeps results, and distributes runs among the processes that work on them.
//
// A Bench calls it from one goroutine per run under way; other processes may call
// theirs at any time. Each call is atomic, and once it returns without an error
// its changes are durable: they survive a kill of the process and a loss of power.
// The suite storetest holds stores to all of this.
type Store interface {
	Reader

	// Join registers this process, with settings that must equal those of the
	// store, unless it has none yet. It must precede the methods below. From then
	// on the store itself signals to others that the process is alive, until leave
	// is called, which releases all its claims. The claims of a process that died
	// become free once the store can know that, after a minute at the latest.
	Join(Process, Settings) (leave func() error, err error)

	// Plan announces runs to all readers. Those that are planned already are left
	// unchanged.
	Plan(runs []Run) error

	// CheckSet records a data set, or fails if one of this name has other numbers.
	CheckSet(Set) error

	// Claim takes a planned run that no other process is working on, and returns
	// it with its rounds so far. ErrFinished and ErrTaken mean that there is
	// nothing to do. A process may claim its own runs again.
	Claim(Run) (*Claim, error)

	// Append stores the next round of a claimed run, with who computed it and when.
	// It returns ErrTaken if another process has taken over the run, and an error
	// if the store already has this round or Round.Check rejects it.
	Append(*Claim, Record) error

	// Release releases a claim. A failure, unless nil, is kept until the run is
	// claimed again. If the claim was lost, nothing happens.
	Release(c *Claim, failure error) error

	// Fail records why unclaimed runs cannot be performed, until they are claimed.
	Fail(runs []Run, failure error) error
}

// Queue is a store that distributes planned runs itself, among processes on many machines.
type Queue interface {
	Store

	// Work hands planned runs that no other process is working on to do, in goroutines
	// of its own, at most as many at a time as jobs says. It returns when each planned run
	// is finished or has failed, or is on a data set that this process lacks; so it waits
	// while others work on the last runs, and takes over from those that die. With wait it
	// goes on until the context ends, and takes runs that are planned later.
	//
	// A nil from do means that the run is finished, and ErrTaken that it was lost. A
	// *SetError leaves it to other processes, with the reason as its failure, and this one
	// takes no further runs on that data set. If the context ends, so does do, and the run
	// is free again. A *StoreError ends the work. Any other error is kept as the failure of
	// the run, which is not handed out again until it is planned again.
	Work(ctx context.Context, jobs int, wait bool, do func(context.Context, *Claim) error) error
}

// Process describes a process that works on a store: where results come from.
type Process struct {
	Version  string // of the program
	Revision string // of its source
	Platform string
	CPU      string
	SIMD     string // the instruction set in use, and the device besides the CPU, if any
}

// Worker is a process that is working on a store now.
type Worker struct {
	Process
	Host    string
	PID     int
	Started time.Time
	Runs    int // that it holds
}

// Set describes a data set in a store.
type Set struct {
	Name           string
	Rows, Features int
	Fingerprint    string // see Fingerprint
}

// Claim is the right to work on a run, until it is lost to another process.
type Claim struct {
	Key  int64 // for the store's own use
	Run  Run
	Done []Record // its rounds so far
}

// Reasons why a run cannot be claimed or written.
var (
	ErrFinished = errors.New("the run is finished")
	ErrTaken    = errors.New("another process is working on the run")
)

// RunStatus is the progress of a run.
type RunStatus struct {
	Run      Run
	Done     int     // rounds, out of Rounds+1
	Working  bool    // a process is working on it
	Failure  string  // why the last attempt failed
	Seconds  float64 // spent on it
	Training float64 // seconds of these, spent on training
}

// Timing is how long a round took.
type Timing struct {
	Run      Run
	Round    int
	Training float64 // seconds
	Elapsed  float64 // seconds; these and everything else
}

// Check reports numbers that no run or round can have.
func (t Timing) Check() error {
	return errors.Join(t.Run.CheckSize(), Round{Run: t.Run, Round: t.Round, Training: t.Training,
		Elapsed: t.Elapsed}.Check())
}

// Finished reports whether all rounds are done.
func (s RunStatus) Finished() bool { return s.Done > s.Run.Rounds }

// Failed reports whether the run ended with an error and no process is trying again.
func (s RunStatus) Failed() bool { return !s.Finished() && !s.Working && s.Failure != "" }

// RoundsDone returns how many rounds of each run a store has.
func RoundsDone(ctx context.Context, r Reader) (map[Run]int, error) {
	list, err := r.Status(ctx)
	done := map[Run]int{}
	for _, s := range list {
		done[s.Run] = s.Done
	}
	return done, err
}

// ReadResults returns all rounds of a store, without what only resuming a run needs.
func ReadResults(ctx context.Context, r Reader) (Results, error) {
	records, err := r.Records(ctx)
	results := make(Results, len(records))
	for i, record := range records {
		results[i] = record.Round
	}
	return results, err
}

// StoreError is why a store cannot be used.
type StoreError struct {
	Store  string // its kind and name, such as "results file results.db"
	Reason string
	Advice string
	Away   bool  // it does not answer, or is busy for long; another attempt may succeed
	Cause  error // matches syscall.ENOSPC on a full disk
}

func (e *StoreError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Store, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *StoreError) Unwrap() error { return e.Cause }
