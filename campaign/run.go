package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
)

// Oracle labels a row: it returns a number for each target, NaN where there is none. It
// is called from several goroutines, and returns soon after its context ends. An error
// is a failed attempt, with two exceptions: ErrLater, and *BrokenError.
type Oracle func(ctx context.Context, q Question) ([]float64, error)

// Question is a row for an oracle.
type Question struct {
	RowRef
	Ask   int64 // that handed it out
	Audit bool
	// Replicate is the number of the measurement among those of the row, from 1.
	Replicate int
	Attempt   int // from 1
	Targets   []string
	// JSON is an object with the row's "id", and a value for each of its other columns:
	// a number, a text, or null where it is missing. A column that is itself called "id" without
	// being the id column is called "id_" there.
	JSON []byte
}

// ErrLater is the error of an oracle for a label that somebody will tell later. The row
// stays out.
var ErrLater = errors.New("the label comes later, by tell")

// BrokenError reports an oracle that cannot label any row. It ends the run, and does not
// count as an attempt at the row.
type BrokenError struct{ Cause error }

func (e *BrokenError) Error() string { return fmt.Sprintf("the oracle does not work: %v", e.Cause) }

func (e *BrokenError) Unwrap() error { return e.Cause }

// TakenOverError reports that another run in the name of the same person has begun: the
// store took the lock away, because this process seemed dead.
type TakenOverError struct{ Person string }

func (e *TakenOverError) Error() string {
	return fmt.Sprintf("another run in the name of %q has taken over its rows", e.Person)
}

// Run is how to label rows by an oracle.
type Run struct {
	Oracle   Oracle
	Person   string        // in whose name the run asks and tells; empty means "oracle"
	Parallel int           // rows at the same time; 0 means 1
	Timeout  time.Duration // of an attempt; 0 means none
	Retries  int           // further attempts, before a row has failed
	// MaxLabels is the number of labelled rows at which the run ends. Rows that are out
	// count, as their labels will come, and so do those whose labels wait for a second look. 0 means no limit.
	MaxLabels int64
	Accept    bool // no label waits for a second look
	GiveUp    int  // the run ends after this number of failed rows without a label in between; 0 means never

	// Ask is how to ask for rows. It has neither Must nor Exclude. Without a lease, rows are out as
	// the settings say, or longer if all attempts at them may take longer.
	Ask Ask
	// Stop returns why the run should end, or nothing. It is called before the first row and after
	// each label of an audit row. Nil means that the run never ends for this reason.
	Stop func(*State) (because string, err error)
	// Report, unless nil, is called with what happens; calls do not overlap.
	Report func(Report)
}

// End is why a run ended.
type End string

// The ends of runs.
const (
	EndStopped     End = "stop rule"
	EndEnough      End = "labels reached"
	EndNothingOpen End = "no open row"
	EndGaveUp      End = "too many failures"
	EndInterrupted End = "interrupted"
	EndError       End = "error"
)

// RunResult is what a run did.
type RunResult struct {
	Asks     int    `json:"asks"`     // batches that it asked for
	Resumed  int    `json:"resumed"`  // rows that an earlier run had out
	Told     int    `json:"told"`     // rows that it labelled
	Failed   int    `json:"failed"`   // rows that failed for good
	Retried  int    `json:"retried"`  // failed attempts that were repeated
	Later    int    `json:"later"`    // rows whose labels will be told
	Returned int    `json:"returned"` // rows that it put back at the end
	End      End    `json:"end"`
	Because  string `json:"because"`
	Waiting  int    `json:"waiting"` // rows that it labelled with a label that waits for a second look
}

// Happening is what a report is about.
type Happening string

// What happens in a run.
const (
	RunWaits   Happening = "waits"   // for another run in the name of the same person to end
	RunAsked   Happening = "asked"   // for a batch
	RunTold    Happening = "told"    // the label of a row
	RunRetries Happening = "retries" // a row whose attempt failed
	RunFailed  Happening = "failed"  // a row, for good
	RunLater   Happening = "later"   // the label of a row will be told
	RunDropped Happening = "dropped" // an answer, because the row is retired or has one of this ask
	RunEnds    Happening = "ends"    // as soon as the rows that are being labelled are done
)

// Report is something that happened in a run.
type Report struct {
	Happening
	Question           // unless it is about the run
	Reason   string    // of a failed attempt, or of the end
	Batch    *Batch    // that was asked for
	Doubts   []Waiting // labels of the row that wait for a second look

	Result   RunResult // so far
	Labelled int64     // rows of the campaign, with those whose labels wait for a second look
	Running  int       // rows that are being labelled
	Waiting  int       // rows that are out and wait for their turn
}

func (r *Run) check() error {
	var found []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	refuse(r.Oracle == nil, "a run needs an oracle")
	refuse(r.Parallel < 0, "a run labels at least one row at a time, not %d", r.Parallel)
	refuse(r.Timeout < 0, "the timeout must not be negative: %v", r.Timeout)
	refuse(r.Retries < 0, "the retries must not be negative: %d", r.Retries)
	refuse(r.MaxLabels < 0, "the labels to end at must not be negative: %d", r.MaxLabels)
	refuse(r.GiveUp < 0, "the failures to give up at must not be negative: %d", r.GiveUp)
	refuse(r.Ask.Rows < 0, "a batch must have at least one row, not %d", r.Ask.Rows)
	refuse(len(r.Ask.Must)+len(r.Ask.Exclude) > 0, "a run neither demands nor excludes rows")
	return errors.Join(found...)
}

// Run labels rows by an oracle until a rule ends it, no row is open, or the context
// ends. See run_loop.go for what it does when processes die.
func (c *Campaign) Run(ctx context.Context, r Run) (*RunResult, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Person == "" {
		r.Person = "oracle"
	}
	r.Parallel = max(1, r.Parallel)
	l := newLoop(c, r)
	unlock, err := l.lock(ctx)
	if err != nil {
		return nil, err
	}
	err = l.work(ctx)
	if taken := (*TakenOverError)(nil); !errors.As(err, &taken) {
		err = errors.Join(err, l.putBack(ctx))
	}
	return &l.result, errors.Join(err, unlock())
}

// rowJSON returns a row of a table, whose first column has the ids, as an object.
func rowJSON(id string, t *dataset.Table, row int) []byte {
	var text bytes.Buffer
	add := func(before string, v any) {
		text.WriteString(before)
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err) // texts and numbers can always be marshalled
		}
		text.Write(raw)
	}
	add(`{"id":`, id)
	for _, column := range t.Columns()[1:] {
		name := column.Name()
		if name == "id" {
			name = "id_"
		}
		add(",", name)
		numbers, isNumeric := column.(*dataset.Numeric)
		switch {
		case column.Missing(row):
			add(":", nil)
		case isNumeric:
			add(":", fitted.Float(numbers.Float(row)))
		default:
			add(":", column.Format(row))
		}
	}
	text.WriteString("}\n")
	return text.Bytes()
}

// times counts the measurements of a row that an ask handed out.
func (a *Asked) times(row int64) (n int) {
	for _, r := range a.Rows {
		if r.Row == row {
			n++
		}
	}
	return n
}

// answered reports whether the person has told a measurement since the ask that handed it out. If the ask handed out
// the row once, any label of it counts. It is no method of Question: whoever has questions would compile all of State.
func answered(s *State, q *Question, person string) bool {
	for _, a := range s.Asks {
		if a.Ask != q.Ask {
			continue
		}
		several := a.times(q.Row) > 1
		for _, m := range s.Measurements(q.Row) {
			if m.Seq > a.Seq && m.Person == person && (!several || m.Replicate == q.Replicate) {
				return true
			}
		}
	}
	return false
}

// outOf returns the measurements that are still out by an ask.
func outOf(s *State, a *Asked) (rows []AskedRow) {
	for _, r := range a.Rows {
		if isOut(s, &Question{RowRef: r.RowRef, Ask: a.Ask, Replicate: r.Number()}) {
			rows = append(rows, r)
		}
	}
	return rows
}

// isOut reports whether a measurement is out by an ask.
func isOut(s *State, q *Question) bool {
	return slices.ContainsFunc(s.Out(q.Row), func(h Handed) bool {
		return h.Ask == q.Ask &&
			h.Pick.Number() == q.Replicate
	})
}
