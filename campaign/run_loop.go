package campaign

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/words"
)

// A run is a loop that keeps every slot busy: when few rows are left in its queue,
// it asks for the next batch in the background, with all rows that are out as pending
// rows, so that networks are trained while the oracle works.
//
// Nothing depends on the loop's memory:
//
//   - The rows of a run are those that are out by an ask of its person. A new run resumes
//     those of the one before.
//   - A label is told before its row counts as done. Of several labels of one row for
//     the same ask, the first counts: the decision is made on the log, like any other.
//   - Failed attempts, and rows whose labels will be told later, are recorded in a blob of
//     the person before the run acts on them.
//   - A run holds a lock of its person, so that no row is labelled by two runs at the same time.
//     Locks can get lost (see Store); therefore the blob also names the run. One that
//     finds the name of another ends, and kills what it had started.
//
// So the next run starts over with the rows that a killed run had begun: an oracle may see
// a row more than once, but a row gets one label for each ask.

// checkEvery is how often a run makes sure that no other one has taken over.
const checkEvery = 5 * time.Second

// endWithin limits the time for storing pending labels once the context has ended.
const endWithin = 20 * time.Second

// notes is what a person's runs remember, as a blob.
type notes struct {
	Run  string `json:"run"` // random
	Rows []note `json:"rows"`
}

// note is about a row that is out.
type note struct {
	Ask      int64 `json:"ask"`
	Row      int64 `json:"row"`
	Failures int   `json:"failures,omitempty"`
	Later    bool  `json:"later,omitempty"`
	// Replicate is the number of the measurement; 0 means the first.
	Replicate int `json:"replicate,omitempty"`
}

// question returns the measurement that the note is about.
func (n note) question() *Question {
	return &Question{RowRef: RowRef{Row: n.Row}, Ask: n.Ask, Replicate: max(1, n.Replicate)}
}

// noteOf returns a note about a measurement.
func noteOf(q *Question) note {
	n := note{Ask: q.Ask, Row: q.Row}
	if q.Replicate > 1 {
		n.Replicate = q.Replicate
	}
	return n
}

// loop is a run in progress. Its methods are called from one goroutine.
type loop struct {
	Run
	c     *Campaign
	notes notes

	waiting []*Question // for their turn
	running map[turn]*Question
	done    chan outcome

	asking    bool
	asked     chan askOutcome
	cancelAsk context.CancelFunc
	exhausted bool // no row was open when the loop asked last
	ahead     int  // an ask begins when fewer rows wait
	dry       bool // a slot had nothing to do while the loop asked

	ending   bool
	misses   int // failed rows since the last label
	labelled int64
	result   RunResult
	reports  sync.Mutex
}

// turn is a measurement that an oracle makes.
type turn struct {
	row    int64
	number int
}

func (q *Question) turn() turn { return turn{q.Row, q.Replicate} }

type outcome struct {
	q      *Question
	values []float64
	err    error
}

type askOutcome struct {
	batch *Batch
	err   error
}

func newLoop(c *Campaign, r Run) *loop {
	return &loop{
		Run: r, c: c, notes: notes{Run: rand.Text()},
		running: map[turn]*Question{}, done: make(chan outcome, r.Parallel),
		asked: make(chan askOutcome, 1), ahead: r.Parallel,
	}
}

// lock waits until no other run in the name of the person is alive.
func (l *loop) lock(ctx context.Context) (unlock func() error, err error) {
	const patience = time.Second
	waits := time.AfterFunc(patience, func() { l.say(Report{Happening: RunWaits}) })
	defer waits.Stop()
	return l.c.store.Lock(ctx, l.c.name, l.key())
}

// key names the lock and the blob of the person.
func (l *loop) key() string {
	sum := sha256.Sum256([]byte(l.Person))
	return "run-" + hex.EncodeToString(sum[:8])
}

// report reports what happened, with the state of the loop.
func (l *loop) report(r Report) {
	r.Result, r.Labelled, r.Running, r.Waiting = l.result, l.labelled, len(l.running), len(l.waiting)
	l.say(r)
}

func (l *loop) say(r Report) {
	if l.Report == nil {
		return
	}
	l.reports.Lock()
	defer l.reports.Unlock()
	l.Report(r)
}

// work labels rows until the end. All that it started has ended when it returns.
func (l *loop) work(ctx context.Context) (err error) {
	within, kill := context.WithCancel(ctx)
	defer func() {
		kill()
		err = errors.Join(err, l.drain(ctx))
		l.explain(err)
	}()
	if err := l.resume(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		if err := l.advance(within); err != nil {
			return err
		}
		if l.ending && len(l.running) == 0 && !l.asking {
			return nil
		}
		select {
		case o := <-l.done:
			err = l.settle(ctx, o)
		case a := <-l.asked:
			err = l.take(ctx, a)
		case <-ticker.C:
			err = l.checkOurs(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// explain records how the run ended, if it was not by a rule.
func (l *loop) explain(err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		l.result.End, l.result.Because = EndInterrupted, "the run was interrupted"
	default:
		l.result.End, l.result.Because = EndError, err.Error()
	}
}

// drain waits until everything that was started has ended, and tells the labels that
// arrived in the meantime, because they have been paid for.
func (l *loop) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if l.asking {
		l.cancelAsk()
		<-l.asked
		l.asking = false
	}
	var found []error
	for len(l.running) > 0 {
		o := <-l.done
		if o.err == nil {
			found = append(found, l.settle(ctx, o))
		}
		delete(l.running, o.q.turn())
	}
	return errors.Join(found...)
}

// resume resumes the rows that an earlier run had out.
func (l *loop) resume(ctx context.Context) error {
	s, err := l.c.State(ctx)
	if err != nil {
		return err
	}
	before, err := l.readNotes(ctx)
	if err != nil {
		return err
	}
	l.notes.Rows = before.Rows
	if err := l.writeNotes(ctx, s); err != nil {
		return err
	}
	for _, a := range s.Asks {
		if a.Person != l.Person {
			continue
		}
		list, err := l.questions(ctx, s, a.Asked, outOf(s, a.Asked))
		if err != nil {
			return err
		}
		for _, q := range list {
			n := l.note(q)
			if n.Later {
				continue
			}
			q.Attempt += n.Failures
			l.waiting = append(l.waiting, q)
			l.result.Resumed++
		}
	}
	l.labelled = s.Counts().measured()
	return l.judge(s)
}

// questions returns rows of an ask for an oracle.
func (l *loop) questions(ctx context.Context, s *State, a *Asked, rows []AskedRow) ([]*Question, error) {
	refs := make([]RowRef, len(rows))
	for i, r := range rows {
		refs[i] = r.RowRef
	}
	t, err := l.c.Inputs(ctx, refs)
	if err != nil {
		return nil, err
	}
	list := make([]*Question, len(rows))
	for i, r := range rows {
		list[i] = &Question{RowRef: r.RowRef, Ask: a.Ask, Audit: r.Audit, Replicate: r.Number(), Attempt: 1,
			Targets: s.Created.Targets, JSON: rowJSON(r.ID, t, i)}
	}
	return list, nil
}

// end makes the run end once the rows that are being labelled are done.
func (l *loop) end(why End, format string, args ...any) {
	if l.ending {
		return
	}
	l.ending, l.result.End, l.result.Because = true, why, fmt.Sprintf(format, args...)
	if l.asking {
		l.cancelAsk()
	}
	l.report(Report{Happening: RunEnds, Reason: l.result.Because})
}

// judge applies the stop rule.
func (l *loop) judge(s *State) error {
	if l.Stop == nil || l.ending {
		return nil
	}
	because, err := l.Stop(s)
	if err == nil && because != "" {
		l.end(EndStopped, "%s", because)
	}
	return err
}

// advance starts what can be started, and decides whether the run ends.
func (l *loop) advance(ctx context.Context) error {
	if l.ending {
		return nil
	}
	if err := l.fill(ctx); err != nil || l.ending {
		return err
	}
	if !l.asking && !l.exhausted && len(l.waiting) < l.ahead {
		if err := l.askAhead(ctx); err != nil {
			return err
		}
	}
	free := len(l.running) < l.Parallel && len(l.waiting) == 0
	l.dry = l.dry || l.asking && free && l.result.Asks > 0
	if len(l.running) == 0 && len(l.waiting) == 0 && !l.asking {
		l.end(EndNothingOpen, "%v", ErrNothingOpen)
	}
	return nil
}

// fill gives rows that wait to free slots. A row that is no longer out, because somebody else
// has told its label or put it back, loses its turn.
func (l *loop) fill(ctx context.Context) error {
	for len(l.waiting) > 0 && len(l.running) < l.Parallel {
		s, err := l.c.State(ctx)
		if err != nil {
			return err
		}
		if err := l.checkOurs(ctx); err != nil {
			return err
		}
		l.labelled = s.Counts().measured()
		room := l.MaxLabels == 0 || l.labelled+l.labelling(s) < l.MaxLabels
		next := slices.IndexFunc(l.waiting, func(q *Question) bool { return room || !l.isNew(s, q) })
		if next < 0 {
			if len(l.running) == 0 {
				l.endEnough(0)
			}
			return nil
		}
		q := l.waiting[next]
		l.waiting = slices.Delete(l.waiting, next, next+1)
		if isOut(s, q) && l.running[q.turn()] == nil {
			l.start(ctx, q, s.Settings.Ranges)
		}
	}
	return nil
}

// labelling counts the rows without a label that the oracle is measuring.
func (l *loop) labelling(s *State) int64 {
	rows := map[int64]bool{}
	for _, q := range l.running {
		if len(s.Measurements(q.Row)) == 0 {
			rows[q.Row] = true
		}
	}
	return int64(len(rows))
}

// isNew reports whether a label of the question would be the first of its row.
func (l *loop) isNew(s *State, q *Question) bool {
	for turn := range l.running {
		if turn.row == q.Row {
			return false
		}
	}
	return len(s.Measurements(q.Row)) == 0
}

var errTimeout = errors.New("timeout")

// start lets the oracle label a row, whose labels have declared ranges.
func (l *loop) start(ctx context.Context, q *Question, ranges dataset.Ranges) {
	l.running[q.turn()] = q
	question := *q
	go func() {
		within, cancel := ctx, func() {}
		if l.Timeout > 0 {
			within, cancel = context.WithTimeoutCause(ctx, l.Timeout, errTimeout)
		}
		defer cancel()
		values, err := l.Oracle(within, question)
		if err == nil {
			err = checkAnswer(values, question.Targets, ranges)
		}
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), errTimeout) {
			err = fmt.Errorf("no answer within %v", l.Timeout)
		}
		l.done <- outcome{q, values, err}
	}()
}

// checkAnswer rejects answers that cannot be labels.
func checkAnswer(values []float64, targets []string, ranges dataset.Ranges) error {
	if len(values) != len(targets) {
		return fmt.Errorf("the oracle answered with %d numbers for %d targets", len(values), len(targets))
	}
	e := Entry{Values: values}
	if fault := e.faultOfValues(ranges); fault != "" {
		return errors.New(fault)
	}
	return nil
}

// settle stores the outcome of a row.
func (l *loop) settle(ctx context.Context, o outcome) error {
	delete(l.running, o.q.turn())
	l.exhausted = false // others may have put rows back, or added some
	broken := (*BrokenError)(nil)
	switch {
	case o.err == nil:
		return l.tell(ctx, o)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(o.err, &broken):
		return o.err
	case errors.Is(o.err, ErrLater):
		later := noteOf(o.q)
		later.Later = true
		if err := l.addNote(ctx, later); err != nil {
			return err
		}
		l.result.Later++
		l.report(Report{Happening: RunLater, Question: *o.q})
		return nil
	}
	return l.fail(ctx, o)
}

func (l *loop) tell(ctx context.Context, o outcome) error {
	told, doubts, err := l.answer(ctx, o.q, o.values)
	if err != nil {
		return err
	}
	if !told {
		l.report(Report{Happening: RunDropped, Question: *o.q})
		return nil
	}
	l.misses = 0
	s, err := l.c.State(ctx)
	if err != nil {
		return err
	}
	l.labelled = s.Counts().measured()
	if l.result.Told++; len(doubts) > 0 {
		l.result.Waiting++
	}
	l.report(Report{Happening: RunTold, Question: *o.q, Doubts: doubts})
	if !o.q.Audit {
		return nil
	}
	return l.judge(s)
}

// answer tells the label that an oracle found, unless a run in the name of the person has told one
// since the ask, or the row has left the campaign. It reports whether it did.
func (l *loop) answer(ctx context.Context, q *Question, values []float64) (told bool, doubts []Waiting, err error) {
	entry := Entry{ID: q.ID, Values: values}
	if q.Replicate > 1 { // without it, the label answers the first one that is out with the person
		entry.Replicate = q.Replicate
	}
	event, _, err := l.c.change(ctx, By{Person: l.Person}.call(kindTold), func(s *State) (decision, error) {
		if !s.Exists(q.Row) || s.Status(q.Row) == StatusRetired || answered(s, q, l.Person) {
			return decision{}, nil
		}
		labels := []Label{entry.label(q.Row)}
		if !l.Accept {
			if err := l.c.look(ctx, s, labels, false); err != nil {
				return decision{}, err
			}
		}
		return decision{events: []Event{{Told: &Told{Labels: labels}}}}, nil
	})
	if event == nil || err != nil {
		return false, nil, err
	}
	return true, event.waiting(q.Targets), nil
}

// fail queues a row for another attempt, or records that it has failed for good.
func (l *loop) fail(ctx context.Context, o outcome) error {
	reason := o.err.Error()
	if o.q.Attempt <= l.Retries {
		tried := noteOf(o.q)
		tried.Failures = o.q.Attempt
		if err := l.addNote(ctx, tried); err != nil {
			return err
		}
		l.result.Retried++
		l.report(Report{Happening: RunRetries, Question: *o.q, Reason: reason})
		o.q.Attempt++
		l.waiting = append(l.waiting, o.q)
		return nil
	}
	failed, err := l.giveUp(ctx, o.q, reason)
	if err != nil {
		return err
	}
	if !failed {
		l.report(Report{Happening: RunDropped, Question: *o.q})
		return nil
	}
	l.result.Failed++
	l.misses++
	l.report(Report{Happening: RunFailed, Question: *o.q, Reason: reason})
	if l.GiveUp > 0 && l.misses >= l.GiveUp {
		l.end(EndGaveUp, "%s failed without a label in between; the last reason was: %s",
			words.Count(l.misses, "row", "rows"), reason)
	}
	return nil
}

// giveUp records that a row, or the measurement of it, has failed for good, unless its status has changed otherwise.
func (l *loop) giveUp(ctx context.Context, q *Question, reason string) (failed bool, err error) {
	event, _, err := l.c.change(ctx, By{Person: l.Person}.call(kindFailed), func(s *State) (decision, error) {
		if !s.Exists(q.Row) {
			return decision{}, nil
		}
		failed := &Failed{Rows: []RowRef{q.RowRef}, Reason: reason}
		if status := s.Status(q.Row); len(s.Out(q.Row)) > 1 || status == StatusLabelled || status == StatusWaiting {
			if failed.Replicates = []int{q.Replicate}; !isOut(s, q) {
				return decision{}, nil
			}
		} else if status != StatusAsked && status != StatusOpen {
			return decision{}, nil
		}
		return decision{events: []Event{{Failed: failed}}}, nil
	})
	return event != nil && err == nil, err
}

// askAhead asks for the next batch in the background.
func (l *loop) askAhead(ctx context.Context) error {
	s, err := l.c.State(ctx)
	if err != nil {
		return err
	}
	a := l.Ask
	if a.Rows == 0 {
		a.Rows = s.Settings.batch()
	}
	counts := s.Counts()
	if l.MaxLabels > 0 {
		room := l.MaxLabels - counts.measured() - counts.Asked
		limits, _ := a.over(s.Settings.Limits, s.Settings.Layout)
		if a.Rows = int(min(int64(a.Rows), room*int64(max(1, limits.Replicates)))); room <= 0 {
			if len(l.running) == 0 && len(l.waiting) == 0 {
				l.endEnough(counts.Asked)
			}
			return nil
		}
	}
	a.Lease = l.lease(s, a)
	// A row whose lease has ended is open, but may still be with the oracle.
	a.busy = make(map[int64]bool, len(l.running))
	for turn := range l.running {
		a.busy[turn.row] = true
	}
	asking, cancel := context.WithCancel(ctx)
	l.asking, l.cancelAsk, l.dry = true, cancel, false
	go func() {
		defer cancel()
		batch, err := l.c.Ask(asking, By{Person: l.Person}, a)
		l.asked <- askOutcome{batch, causeOf(asking, err)}
	}()
	return nil
}

// causeOf returns the error of a context that has ended in place of what follows from it: a store may report only that
// its transaction is over.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// endEnough ends a run that has its labels, together with those of rows that are out with others.
func (l *loop) endEnough(out int64) {
	because := fmt.Sprintf("%s wanted, and %s one", words.Count(int(l.MaxLabels), "label was", "labels were"),
		words.Count(int(l.labelled), "row has", "rows have"))
	if out > 0 {
		because += fmt.Sprintf(", while %s out", words.Count(int(out), "is", "are"))
	}
	l.end(EndEnough, "%s", because)
}

// lease returns how long rows are out: as the settings say, or as long as it may take
// until the last row of the batch has had its last attempt.
func (l *loop) lease(s *State, a Ask) time.Duration {
	usual := s.Settings.leaseEnd(a.Lease, s.Now)
	if a.Lease != 0 || usual == nil {
		return a.Lease
	}
	turns := float64((len(l.waiting)+len(l.running)+a.Rows)/l.Parallel + 1)
	longest := turns * float64(l.Retries+1) * float64(l.Timeout)
	if longest > math.MaxInt64/2 {
		return -1
	}
	return max(usual.Sub(s.Now), time.Duration(longest))
}

// take adds the rows of a batch to the queue. If slots were idle during the ask, the
// next one begins earlier.
func (l *loop) take(ctx context.Context, a askOutcome) error {
	l.asking = false
	switch {
	case errors.Is(a.err, ErrNothingOpen):
		l.exhausted = true
		return nil
	case l.ending && errors.Is(a.err, context.Canceled):
		return nil
	case a.err != nil:
		return a.err
	}
	if l.result.Asks++; l.dry {
		l.ahead = min(2*l.ahead, max(l.Parallel, len(a.batch.Rows)))
	}
	s, err := l.c.State(ctx)
	if err != nil {
		return err
	}
	list, err := l.questions(ctx, s, a.batch.Asked, a.batch.Rows)
	if err != nil {
		return err
	}
	l.waiting = append(l.waiting, list...)
	l.report(Report{Happening: RunAsked, Batch: a.batch})
	return nil
}

// putBack returns the rows that the run still has out, so that they are open, and
// counts those that it returned. It finds them in the log, because an interrupted ask may
// still have handed out rows.
func (l *loop) putBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	event, _, err := l.c.change(ctx, By{Person: l.Person}.call(kindReturned), func(s *State) (decision, error) {
		var rows []RowRef
		var numbers []int
		for _, a := range s.Asks {
			if a.Person != l.Person {
				continue
			}
			for _, r := range outOf(s, a.Asked) {
				if !l.note(&Question{RowRef: r.RowRef, Ask: a.Ask, Replicate: r.Number()}).Later {
					rows, numbers = append(rows, r.RowRef), append(numbers, r.Number())
				}
			}
		}
		if len(rows) == 0 {
			return decision{}, nil
		}
		if !slices.ContainsFunc(rows, func(r RowRef) bool { return len(s.Out(r.Row)) > 1 }) {
			numbers = nil // whole rows
		}
		return decision{events: []Event{{Returned: &RowList{rows, "the run ended: " + string(l.result.End), numbers}}}}, nil
	})
	if event != nil && err == nil {
		l.result.Returned = len(event.Returned.Rows)
	}
	return err
}

// note returns the note about a row.
func (l *loop) note(q *Question) note {
	for _, n := range l.notes.Rows {
		if n.question().turn() == q.turn() && n.Ask == q.Ask {
			return n
		}
	}
	return noteOf(q)
}

// addNote replaces the note about a row.
func (l *loop) addNote(ctx context.Context, fresh note) error {
	if err := l.checkOurs(ctx); err != nil {
		return err
	}
	s, err := l.c.State(ctx)
	if err != nil {
		return err
	}
	kept := []note{fresh}
	for _, n := range l.notes.Rows {
		if n.Ask != fresh.Ask || n.Row != fresh.Row || n.Replicate != fresh.Replicate {
			kept = append(kept, n)
		}
	}
	l.notes.Rows = kept
	return l.writeNotes(ctx, s)
}

// writeNotes stores the notes about rows that are still out.
func (l *loop) writeNotes(ctx context.Context, s *State) error {
	kept := []note{}
	for _, n := range l.notes.Rows {
		if isOut(s, n.question()) {
			kept = append(kept, n)
		}
	}
	l.notes.Rows = kept
	raw, err := json.Marshal(l.notes)
	if err != nil {
		return err
	}
	return l.c.store.PutBlob(ctx, l.c.name, Blob{l.key(), raw})
}

// checkOurs makes sure that no other run has taken over.
func (l *loop) checkOurs(ctx context.Context) error {
	n, err := l.readNotes(ctx)
	if err == nil && n.Run != l.notes.Run {
		err = &TakenOverError{l.Person}
	}
	return err
}

func (l *loop) readNotes(ctx context.Context) (n notes, err error) {
	raw, err := l.c.store.Blob(ctx, l.c.name, l.key())
	if errors.Is(err, ErrNotFound) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(raw, &n); err != nil {
		return n, fmt.Errorf("the notes of the oracle cannot be read: %w", err)
	}
	return n, nil
}
