package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/plausible"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/tables"
)

// Status is what a row is.
type Status string

// A row has the first of these that applies.
const (
	StatusRetired  Status = "retired"  // no longer part of the campaign: neither picked nor used for training
	StatusLabelled Status = "labelled" // has a measurement that counts
	StatusWaiting  Status = "waiting"  // has measurements, but all of them wait for a second look
	StatusFailed   Status = "failed"   // cannot be labelled
	StatusAsked    Status = "asked"    // out being labelled, and its lease has not ended
	StatusOpen     Status = "open"     // a candidate
)

// Counts is the number of rows with each status.
type Counts struct {
	Rows     int64 `json:"rows"`
	Open     int64 `json:"open"`
	Asked    int64 `json:"asked"`
	Labelled int64 `json:"labelled"`
	Failed   int64 `json:"failed"`
	Retired  int64 `json:"retired"`
	Waiting  int64 `json:"waiting" doc:"rows whose labels all wait for a second look"`
	Repeats  int64 `json:"repeats" doc:"measurements that are out of rows that have a label"`
}

// State is what follows from a log at one moment. It keeps nothing about rows that
// never left "open", so a million of them cost nothing. It never changes: a state with
// further events shares with the old one everything that they do not affect, so any number
// of readers can use it while the campaign continues.
type State struct {
	Now      time.Time // by the clock; the last event may be later, if another clock was ahead
	Seq      int64     // of the last event of the log
	Created  Created
	Settings Settings
	Asks     []AskEvent     // that were not undone, in their order
	Earlier  []*earlierRows // likewise

	last     time.Time // of the last event
	spans    []span    // of rows, in ascending order
	learnt   int       // of spans: the rows that a model is fitted with (see model.go)
	touched  rowMap
	out      rowMap            // the rows among them that are out, even if their lease has ended
	settled  Counts            // of the rows that are labelled, waiting, failed or retired
	lastAsk  int64             // number of the last ask, undone or not
	nextRow  int64             // number of the next row that is added
	units    map[string]string // of targets, as the first labels said them
	noEffect map[int64]bool
	by       *edit // that makes this state, as long as it does
}

// AskEvent is a batch that was handed out.
type AskEvent struct {
	Seq    int64
	Time   time.Time
	Person string
	*Asked
}

func askEvent(e *Event) AskEvent { return AskEvent{e.Seq, e.Time, e.Person, e.Asked} }

// span is a block of rows with the number of its first.
type span struct {
	First int64
	Block
}

// rowState is what happened to a row.
type rowState struct {
	by           *edit // that may change it
	id           string
	retired      bool
	failed       bool // for good
	failures     int
	out          []Handed // measurements that were handed out, and neither told, failed nor returned since
	asked        *askedAs // the last time before its first label
	start        bool     // it was labelled before the first ask
	measurements []Measurement
}

// askedAs is a row as an ask handed it out.
type askedAs struct {
	ask *Asked
	row *AskedRow
}

// Measurement is one measurement of a row: a number for each target, NaN where there
// is none.
type Measurement struct {
	Seq    int64 // of its event
	Time   time.Time
	Person string
	Values []float64
	// why values wait for a second look, one for each target, nil where the value counts; nil if all do
	Doubts []*plausible.Doubt

	Censored  Censored  // which values are limits
	Replicate int       // its number among the measurements of the row, from 1
	Ask       int64     // that handed it out; 0 if it was told without
	Pick      *AskedRow // as it was handed out; nil if it was told without
}

// FoldError reports an event that cannot have happened.
type FoldError struct {
	Seq    int64
	Reason string
}

func (e *FoldError) Error() string { return fmt.Sprintf("event %d: %s", e.Seq, e.Reason) }

// Fold returns the state after the events of a log. An event that was undone counts as
// if it had never happened, and neither does the event that undid it; from the last to
// the first, so that undoing can be undone, too. A log in which an event cannot have
// happened, such as a row being handed out while it is out, is a *FoldError.
func Fold(log []Event, now time.Time) (*State, error) {
	if len(log) == 0 || log[0].Created == nil {
		return nil, &FoldError{1, "the log does not begin with the creation of a campaign"}
	}
	start := &State{noEffect: withoutEffect(log)}
	return start.advance(log, now)
}

// extend returns the state after further events of its log. Only events that undo others
// require folding the whole log again.
func (s *State) extend(log, fresh []Event, now time.Time) (*State, error) {
	if s == nil || slices.ContainsFunc(fresh, func(e Event) bool { return e.Undone != nil }) {
		return Fold(slices.Concat(log, fresh), now)
	}
	return s.advance(fresh, now)
}

// advance returns the state after further events, none of which undoes one that has been
// applied already.
func (s *State) advance(fresh []Event, now time.Time) (*State, error) {
	next := *s
	next.Now, next.by = now, &edit{}
	next.Asks, next.Earlier, next.spans = slices.Clip(s.Asks), slices.Clip(s.Earlier), slices.Clip(s.spans)
	for i := range fresh {
		e := &fresh[i]
		if err := next.follow(e); err != nil {
			return nil, &FoldError{e.Seq, err.Error()}
		}
		if next.noEffect[e.Seq] {
			continue
		}
		if err := next.apply(e); err != nil {
			return nil, &FoldError{e.Seq, err.Error()}
		}
	}
	next.by = nil
	return &next, nil
}

// follow makes sure that an event is the next of the log, and counts what counts even if
// it was undone.
func (s *State) follow(e *Event) error {
	switch {
	case e.Seq != s.Seq+1:
		return fmt.Errorf("it is number %d of the log: events are missing or out of order", s.Seq+1)
	case s.Seq > 0 && e.Created != nil:
		return errors.New("the campaign exists already")
	case e.Time.Before(s.last):
		return errors.New("it is older than the event before it")
	}
	s.Seq, s.last = e.Seq, e.Time
	if e.Asked != nil {
		s.lastAsk = max(s.lastAsk, e.Asked.Ask)
	}
	if a := e.added(); a != nil {
		s.nextRow = max(s.nextRow, a.First+a.Rows())
	}
	return nil
}

// withoutEffect returns the events that were undone, and those that undo.
func withoutEffect(log []Event) map[int64]bool {
	none := map[int64]bool{}
	for _, e := range slices.Backward(log) {
		if e.Undone == nil {
			continue
		}
		if !none[e.Seq] {
			none[e.Undone.Seq] = true
		}
		none[e.Seq] = true
	}
	return none
}

// apply applies an event to the state.
func (s *State) apply(e *Event) error {
	if a := e.added(); a != nil {
		if err := s.add(a); err != nil {
			return err
		}
	}
	switch {
	case e.Created != nil:
		s.Created, s.Settings = *e.Created, e.Created.Settings
		return s.checkSettings(&s.Settings)
	case e.Settings != nil:
		s.Settings, s.learnt = *e.Settings, len(s.spans)
		return s.checkSettings(e.Settings)
	case e.Asked != nil:
		return s.ask(e)
	case e.Earlier != nil:
		s.Earlier, s.learnt = append(s.Earlier, e.Earlier), len(s.spans)
	}
	for _, ref := range e.Rows() {
		if !s.Exists(ref.Row) {
			return fmt.Errorf("there is no row %d (%q)", ref.Row, ref.ID)
		}
		if r := s.touched.get(ref.Row); r != nil && r.retired {
			return fmt.Errorf("row %q is retired", ref.ID)
		}
	}
	switch {
	case e.Told != nil, e.Corrected != nil:
		return s.tell(e)
	case e.Failed != nil:
		return s.fail(e.Failed)
	case e.Returned != nil:
		return s.putBack(e.Returned)
	case e.Retired != nil:
		for _, ref := range e.Retired.Rows {
			if s.Status(ref.Row) == StatusLabelled {
				s.learnt = len(s.spans) // the next model does not learn from it
			}
			s.update(ref, func(r *rowState) { r.retired = true })
		}
	case e.Confirmed != nil:
		return s.confirm(e.Confirmed)
	}
	return nil
}

func (s *State) checkSettings(set *Settings) error {
	if n := len(set.Weights); n > 0 && n != len(s.Created.Targets) {
		return fmt.Errorf("there are %d weights for %d targets", n, len(s.Created.Targets))
	}
	if err := errors.Join(s.checkRanges(set.Ranges), s.checkLod(set.Lod)); err != nil {
		return err
	}
	return s.checkColumns(set.Limits)
}

// checkLod rejects limits of detection of unknown targets.
func (s *State) checkLod(text string) error {
	limits, err := sheets.ParseLod(text)
	for name := range limits {
		if name != "" && !slices.Contains(s.Created.Targets, name) {
			return fmt.Errorf("lod names %q, which is not a target", name)
		}
	}
	return err
}

// checkRanges reports ranges that do not fit the targets, and a label outside them, which may wait for a second look.
func (s *State) checkRanges(ranges dataset.Ranges) error {
	if err := ranges.Check(len(s.Created.Targets)); err != nil || ranges == nil {
		return err
	}
	all := s.withWaiting(s.Waiting()...)
	for _, ref := range all.With(StatusLabelled) {
		for _, m := range all.Measurements(ref.Row) {
			if fault := faultOfRange(ranges, m.Values); fault != "" {
				return fmt.Errorf("row %q: %s", ref.ID, fault)
			}
		}
	}
	return nil
}

// faultOfRange says which of the labels of a row is outside the range of its target.
func faultOfRange[T ~float64](ranges dataset.Ranges, labels []T) string {
	for target, v := range labels {
		if fault := ranges.Of(target).Fault(float64(v)); fault != "" {
			return fault
		}
	}
	return ""
}

// checkColumns reports columns of limits that the rows do not have.
func (s *State) checkColumns(l limits.Limits) error {
	for _, name := range append([]string{l.CostColumn, l.GroupColumn}, l.Same...) {
		if name != "" && !slices.ContainsFunc(s.Created.Columns, func(c Column) bool { return c.Name == name }) {
			return noColumn(name)
		}
	}
	return nil
}

// checkInputs reports columns of inputs that the rows do not have. Logs of earlier versions may name such columns, so
// that only new settings are checked.
func (s *State) checkInputs(set tables.Columns) error {
	// may be categories in the table, and are not inputs
	beside := append(slices.Clone(s.Created.Targets), s.Created.IDColumn)
	var found []error
	check := func(option string, names, beside []string) {
		for _, name := range names {
			if !slices.ContainsFunc(s.Created.Columns, func(c Column) bool { return c.Name == name }) &&
				!slices.Contains(beside, name) {
				found = append(found, &options.Fault{Option: option, Cause: noColumn(name)})
			}
		}
	}
	check("Categorical", set.Categorical, beside)
	check("Keep", set.Keep, nil)
	check("Ordered", slices.Sorted(maps.Keys(set.Ordered)), beside)
	return errors.Join(found...)
}

func noColumn(name string) error { return fmt.Errorf("the rows have no column %q", name) }

// refused is a *nextbatch.RequestError about settings, of which doors name the options.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// As implements the interface of errors.As.
func (r refused) As(target any) bool {
	of, ok := target.(**nextbatch.RequestError)
	if ok {
		*of = &nextbatch.RequestError{Reason: r.Error()}
	}
	return ok
}

// fewNew: a model serves new rows up to this part of those that it was fitted with.
const fewNew = 10

func (s *State) add(a *Added) error {
	first := a.First
	if n := len(s.spans); n > 0 && first < s.spans[n-1].First+s.spans[n-1].Rows {
		return fmt.Errorf("its rows begin at %d, which is among those before", first)
	}
	for _, b := range a.Blocks {
		s.spans = append(s.spans, span{first, b})
		first += b.Rows
	}
	if known := rowsIn(s.spans[:s.learnt]); rowsIn(s.spans)-known > known/fewNew {
		s.learnt = len(s.spans)
	}
	return nil
}

func rowsIn(spans []span) (n int64) {
	for _, b := range spans {
		n += b.Rows
	}
	return n
}

func (s *State) ask(e *Event) error {
	a := e.Asked
	if n := len(s.Asks); n > 0 && a.Ask <= s.Asks[n-1].Ask {
		return fmt.Errorf("ask %d comes after ask %d", a.Ask, s.Asks[n-1].Ask)
	}
	for i := range a.Rows {
		asked := &a.Rows[i]
		if !s.Exists(asked.Row) {
			return fmt.Errorf("there is no row %d (%q)", asked.Row, asked.ID)
		}
		if err := s.mayHandOut(a, asked, e.Time); err != nil {
			return err
		}
		if n := len(asked.Predictions); n != 0 && n != len(s.Created.Targets) {
			return fmt.Errorf("row %q has %d predictions for %d targets", asked.ID, n, len(s.Created.Targets))
		}
		s.update(asked.RowRef, func(r *rowState) { r.handOut(Handed{askEvent(e), asked}) })
	}
	for _, held := range a.HeldOut {
		if !s.Exists(held.Row) || len(held.Values) != len(s.Created.Targets) {
			return fmt.Errorf("row %d was held out, but does not exist or has %d predictions for %d targets", held.Row,
				len(held.Values), len(s.Created.Targets))
		}
	}
	s.Asks = append(s.Asks, askEvent(e))
	return nil
}

// mayHandOut reports why a measurement cannot be handed out. A repeat is of a row that has a label, or had one that was
// undone since; other rows are open, or have been handed out by the same ask, to be measured several times.
func (s *State) mayHandOut(a *Asked, asked *AskedRow, now time.Time) error {
	r := s.touched.get(asked.Row)
	status, out := r.status(now), r.outAt(now)
	ours := slices.ContainsFunc(out, func(h Handed) bool { return h.Asked == a })
	there := slices.ContainsFunc(out, func(h Handed) bool { return h.Pick.Number() == asked.Number() })
	switch {
	case there && ours:
		return fmt.Errorf("measurement %d of row %q is asked for twice", asked.Number(), asked.ID)
	case status == StatusOpen, ours && !asked.Repeat, asked.Repeat && !there && status != StatusRetired &&
		status != StatusFailed:
		return nil
	}
	return fmt.Errorf("row %q is asked for although it is %s", asked.ID, status)
}

func (s *State) tell(e *Event) error {
	for _, l := range e.labels() {
		if len(l.Values) != len(s.Created.Targets) {
			return fmt.Errorf("row %q has %d labels for %d targets", l.ID, len(l.Values), len(s.Created.Targets))
		}
		if fault := faultOfRange(s.Settings.Ranges, l.Values); fault != "" {
			return fmt.Errorf("row %q: %s", l.ID, fault)
		}
		m := measurementOf(e, l)
		if e.Corrected != nil && !s.correctable(l.Row, l.Replicate) {
			return fmt.Errorf("row %q has no label that could be corrected", l.ID)
		}
		if e.Corrected != nil || m.counts() {
			s.learnt = len(s.spans)
		}
		s.update(l.RowRef, func(r *rowState) {
			r.start = r.start || s.lastAsk == 0
			if e.Corrected != nil {
				r.correct(m, l.Replicate)
			} else {
				r.take(m, l.Replicate)
			}
		})
	}
	if e.Told != nil && len(e.Told.Units) > 0 {
		units := maps.Clone(s.units)
		if units == nil {
			units = map[string]string{}
		}
		maps.Copy(units, e.Told.Units)
		s.units = units
	}
	return nil
}

// correctable reports whether a row has the measurement with a number, or any if that is 0.
func (s *State) correctable(row int64, number int) bool {
	return slices.ContainsFunc(s.Measurements(row), func(m Measurement) bool {
		return number == 0 ||
			m.Replicate == number
	})
}

func (s *State) fail(f *Failed) error {
	for i, ref := range f.Rows {
		number, r := numberAt(f.Replicates, i), s.touched.get(ref.Row)
		switch {
		case number > 0 && r.handed(number) < 0:
			return fmt.Errorf("measurement %d of row %q is not out, so it cannot fail", number, ref.ID)
		case len(s.Measurements(ref.Row)) > 0 && len(r.out) == 0:
			return fmt.Errorf("row %q has a label, so it cannot fail", ref.ID)
		}
		s.update(ref, func(r *rowState) {
			r.release(number)
			r.failures++
			if len(r.measurements)+len(r.out) == 0 {
				r.failed = !f.Again
			}
		})
	}
	return nil
}

func (s *State) putBack(l *RowList) error {
	for i, ref := range l.Rows {
		number, r := numberAt(l.Replicates, i), s.touched.get(ref.Row)
		if r == nil || len(r.out) == 0 || number > 0 && r.handed(number) < 0 {
			return fmt.Errorf("row %q is not out, so it cannot be returned", ref.ID)
		}
		s.update(ref, func(r *rowState) { r.release(number) })
	}
	return nil
}

// update changes what happened to a row. Other states that have it keep what they have.
func (s *State) update(ref RowRef, change func(*rowState)) {
	r := s.touched.get(ref.Row)
	switch {
	case r == nil:
		r = &rowState{by: s.by, id: ref.ID}
	case r.by != s.by:
		mine := *r
		mine.by, mine.measurements = s.by, slices.Clip(r.measurements)
		r = &mine
	}
	wasOut := len(r.out) > 0
	s.settle(r, -1)
	change(r)
	s.settle(r, 1)
	s.touched.set(ref.Row, r, s.by)
	switch {
	case len(r.out) > 0:
		s.out.set(ref.Row, r, s.by)
	case wasOut:
		s.out.set(ref.Row, nil, s.by)
	}
}

// settle counts a row whose status does not depend on the time.
func (s *State) settle(r *rowState, n int64) {
	switch r.status(time.Time{}) {
	case StatusLabelled:
		s.settled.Labelled += n
	case StatusWaiting:
		s.settled.Waiting += n
	case StatusFailed:
		s.settled.Failed += n
	case StatusRetired:
		s.settled.Retired += n
	}
}

// Numbers returns the numbers of all rows, in ascending order.
func (s *State) Numbers() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, b := range s.spans {
			for row := b.First; row < b.First+b.Rows; row++ {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// Exists reports whether there is a row with that number.
func (s *State) Exists(row int64) bool {
	at, found := slices.BinarySearchFunc(s.spans, row, func(b span, row int64) int {
		switch {
		case row < b.First:
			return 1
		case row >= b.First+b.Rows:
			return -1
		}
		return 0
	})
	return found && at < len(s.spans)
}

// Total returns how many rows there are.
func (s *State) Total() int64 { return rowsIn(s.spans) }

// Status returns what a row is now. The row must exist.
func (s *State) Status(row int64) Status { return s.statusAt(row, s.Now) }

func (s *State) statusAt(row int64, now time.Time) Status { return s.touched.get(row).status(now) }

// status returns what a row is; a row that nothing has happened to may be nil.
func (r *rowState) status(now time.Time) Status {
	switch {
	case r == nil:
		return StatusOpen
	case r.retired:
		return StatusRetired
	case slices.ContainsFunc(r.measurements, Measurement.counts):
		return StatusLabelled
	case len(r.measurements) > 0:
		return StatusWaiting
	case r.failed:
		return StatusFailed
	case len(r.outAt(now)) > 0:
		return StatusAsked
	}
	return StatusOpen
}

// Counts returns how many rows have each status.
func (s *State) Counts() Counts {
	c := s.settled
	c.Rows = s.Total()
	for _, r := range s.out.all() {
		switch out := r.outAt(s.Now); {
		case len(out) > 0 && len(r.measurements) > 0:
			c.Repeats += int64(len(out))
		case len(out) > 0:
			c.Asked++
		}
	}
	c.Open = c.Rows - c.Asked - c.Labelled - c.Waiting - c.Failed - c.Retired
	return c
}

// With returns the rows of a status other than open, in ascending order.
func (s *State) With(status Status) (list []RowRef) {
	rows := s.touched
	if status == StatusAsked {
		rows = s.out
	}
	for row, r := range rows.all() {
		if r.status(s.Now) == status {
			list = append(list, RowRef{row, r.id})
		}
	}
	return list
}

// Measurements returns the measurements of a row, the oldest first, also those that wait.
func (s *State) Measurements(row int64) []Measurement {
	if r := s.touched.get(row); r != nil {
		return r.measurements
	}
	return nil
}

// Failures returns how often a row failed.
func (s *State) Failures(row int64) int {
	if r := s.touched.get(row); r != nil {
		return r.failures
	}
	return 0
}

// LeaseEnd returns when the lease of a row ends that is out, the last one of several; nil means never.
func (s *State) LeaseEnd(row int64) (end *time.Time) {
	for _, h := range s.Out(row) {
		if h.LeaseEnd == nil {
			return nil
		}
		if end == nil || end.Before(*h.LeaseEnd) {
			end = h.LeaseEnd
		}
	}
	return end
}

// Label returns the label of a row: for each target the mean of its measurements that count or, by
// Settings.Latest, the last of them; NaN where there is none.
func (s *State) Label(row int64) []float64 {
	label := make([]float64, len(s.Created.Targets))
	for target := range label {
		label[target] = math.NaN()
		sum, n := 0.0, 0.0
		for _, m := range s.Measurements(row) {
			if v := m.value(target); !math.IsNaN(v) {
				sum, n = sum+v, n+1
				label[target] = v
			}
		}
		if !s.Settings.Latest && n > 0 {
			label[target] = sum / n
		}
	}
	return label
}

// Noise is the standard deviation that repeated measurements show.
type Noise struct {
	Deviation fitted.Float `json:"deviation"` // NaN without repeated measurements
	Freedom   int          `json:"freedom"`   // measurements minus rows
	Rows      int          `json:"rows" doc:"that were measured twice or more"`
}

// Noise returns the noise of the labels of each target: the root of the pooled variance
// of rows that were measured more than once.
func (s *State) Noise() []Noise {
	list := make([]Noise, len(s.Created.Targets))
	for target := range list {
		sum, freedom, rows := 0.0, 0, 0
		for _, ref := range s.With(StatusLabelled) {
			squares, n := deviations(s.touched.get(ref.Row).measurements, target)
			sum, freedom = sum+squares, freedom+max(0, n-1)
			if n > 1 {
				rows++
			}
		}
		list[target] = Noise{fitted.Float(math.Sqrt(sum / float64(freedom))), freedom, rows}
	}
	return list
}

// deviations returns the sum of the squared deviations from the mean, and the number
// of measurements that count.
func deviations(list []Measurement, target int) (squares float64, n int) {
	mean := 0.0
	for _, m := range list { // Welford's update
		if v := m.value(target); !math.IsNaN(v) {
			n++
			step := v - mean
			mean += step / float64(n)
			squares += step * (v - mean)
		}
	}
	return squares, n
}

// Outcome is a row that was asked for, predicted, and then labelled.
type Outcome struct {
	RowRef
	Ask         int64 // the last one before the label came
	Audit       bool
	Trained     int                 // labelled rows that the model was fitted to
	Predictions []fitted.Prediction // of the targets; nil without a model
	Label       []float64           // NaN where a target has none
}

// Outcomes returns the labelled rows that had been asked for, by ask, then by row.
func (s *State) Outcomes() (list []Outcome) {
	for _, ref := range s.With(StatusLabelled) {
		if a := s.touched.get(ref.Row).asked; a != nil {
			list = append(list, Outcome{ref, a.ask.Ask, a.row.Audit, a.ask.Trained, a.row.Predictions, s.Label(ref.Row)})
		}
	}
	slices.SortStableFunc(list, func(a, b Outcome) int { return cmp.Compare(a.Ask, b.Ask) })
	return list
}

// isRandom reports whether a labelled row was drawn at random: it was an audit row or, if the
// settings say that those were, is one of the rows that the campaign started with.
func (s *State) isRandom(row int64) bool {
	r := s.touched.get(row)
	return r != nil && (r.asked != nil && r.asked.row.Audit || r.ofStart() && s.Settings.RandomStart)
}

// ofStart reports whether a row is one that the campaign started with: it was labelled before the first ask.
func (r *rowState) ofStart() bool { return r.asked == nil && r.start }

// Undone reports whether an event has no effect: it was undone, or it undoes another.
func (s *State) Undone(seq int64) bool { return s.noEffect[seq] }
