package benchmark

import (
	"errors"
	"fmt"
)

// Reader is results to look at, also while processes work on them.
//
// All methods may be called from several goroutines. What they return belongs to
// the caller. Every run and round that they return passes Run.CheckSize and
// Round.Check; a store that holds others is damaged and says so. Errors of the
// store itself are a *StoreError.
type Reader interface {
	// Settings returns what all runs have in common: the zero value before the
	// first process has joined.
	Settings() (Settings, error)
	// Sets returns the data sets that were used, by name.
	Sets() ([]Set, error)
	// Status returns how far each planned run is, in the order of Run.Compare.
	Status() ([]RunStatus, error)
	// Records returns all rounds, in the order of their runs and in each by number.
	Records() ([]Record, error)
	// Close gives up what the store holds of this machine. Nothing else is called
	// afterwards.
	Close() error
}

// Store keeps results, and shares runs out among the processes that work on them.
//
// A Bench calls it from one goroutine for each run under way; other processes may
// call theirs at any time. Each call is done as a whole or not at all, and when it
// returns without an error, what it changed is durable: it survives a kill of the
// process and the loss of power. The suite storetest holds stores to all of this.
type Store interface {
	Reader

	// Join makes this process known, with settings that must equal those of the
	// store, unless it has none yet. It comes before the methods below. From then
	// on the store tells others by itself that the process is alive, until leave
	// is called, which gives all its claims back. The claims of a process that
	// died are free once the store can know that, at the latest after a minute.
	Join(Process, Settings) (leave func() error, err error)

	// Plan makes runs known to all who look. Those that are known already stay as
	// they are.
	Plan(runs []Run) error

	// CheckSet keeps a data set, or fails if one of this name has other numbers.
	CheckSet(Set) error

	// Claim takes a planned run that nobody else is at work on, and returns it
	// with its rounds so far: ErrFinished and ErrTaken say that there is nothing to
	// do. A process may claim its own runs again.
	Claim(Run) (*Claim, error)

	// Append keeps the next round of a claimed run, who computed it and when. It is
	// ErrTaken if another process has taken the run over, and an error if the store
	// has this round, or if Round.Check refuses it.
	Append(*Claim, Record) error

	// Release gives a claim back. A failure, unless it is nil, is kept until the run
	// is claimed again. Nothing happens if the claim was lost.
	Release(c *Claim, failure error) error

	// Fail keeps why runs cannot be done that nobody has claimed, until somebody
	// does.
	Fail(runs []Run, failure error) error
}

// Process is who works on a store: where results come from.
type Process struct {
	Version  string // of the program
	Revision string // of its source
	Platform string
	CPU      string
	SIMD     string // the instruction set in use
}

// Set is a data set as a store knows it.
type Set struct {
	Name           string
	Rows, Features int
	Fingerprint    string // see Fingerprint
}

// Claim is the right to work on a run, until it is lost to another process.
type Claim struct {
	Key  int64 // the store's own
	Run  Run
	Done []Record // its rounds so far
}

// Why a run cannot be claimed or written.
var (
	ErrFinished = errors.New("the run is finished")
	ErrTaken    = errors.New("another process is at work on the run")
)

// RunStatus is how far a run is.
type RunStatus struct {
	Run     Run
	Done    int     // rounds, of Rounds+1
	Working bool    // a process is at work on it
	Failure string  // why it could not go on, when it was last tried
	Seconds float64 // spent on it
}

// Finished tells that nothing is left to do.
func (s RunStatus) Finished() bool { return s.Done > s.Run.Rounds }

// RoundsDone returns how many rounds of each run a store has.
func RoundsDone(r Reader) (map[Run]int, error) {
	list, err := r.Status()
	done := map[Run]int{}
	for _, s := range list {
		done[s.Run] = s.Done
	}
	return done, err
}

// ReadResults returns all rounds of a store, without what only a resumed run needs.
func ReadResults(r Reader) (Results, error) {
	records, err := r.Records()
	results := make(Results, len(records))
	for i, record := range records {
		results[i] = record.Round
	}
	return results, err
}

// StoreError says why a store cannot be used.
type StoreError struct {
	Store  string // its kind and name, such as "results file results.db"
	Reason string
	Advice string
	Full   bool // there is no room to write
	Cause  error
}

func (e *StoreError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Store, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *StoreError) Unwrap() error { return e.Cause }
