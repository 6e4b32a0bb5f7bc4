package campaign

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

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
	next.Now = now
	next.Asks, next.Earlier, next.spans = slices.Clip(s.Asks), slices.Clip(s.Earlier), slices.Clip(s.spans)
	f := fold{&next, &edit{}}
	for i := range fresh {
		e := &fresh[i]
		if err := f.follow(e); err != nil {
			return nil, &FoldError{e.Seq, err.Error()}
		}
		if next.noEffect[e.Seq] {
			continue
		}
		if err := f.apply(e); err != nil {
			return nil, &FoldError{e.Seq, err.Error()}
		}
	}
	return &next, nil
}

// fold is a state that events change, as long as nobody else has it.
type fold struct {
	*State
	by *edit
}

// follow makes sure that an event is the next of the log, and counts what counts even if
// it was undone.
func (s fold) follow(e *Event) error {
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
func (s fold) apply(e *Event) error {
	if a := e.added(); a != nil {
		if err := s.add(a); err != nil {
			return err
		}
	}
	switch {
	case e.Created != nil:
		s.Created, s.Settings = *e.Created, e.Created.Settings
		return s.Settings.fit(s.State)
	case e.Settings != nil:
		s.Settings, s.learnt = *e.Settings, len(s.spans)
		return e.Settings.fit(s.State)
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

// fewNew: a model serves new rows up to this part of those that it was fitted with.
const fewNew = 10

func (s fold) add(a *Added) error {
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

func (s fold) ask(e *Event) error {
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
func (s fold) mayHandOut(a *Asked, asked *AskedRow, now time.Time) error {
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

func (s fold) tell(e *Event) error {
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

func (s fold) fail(f *Failed) error {
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

func (s fold) putBack(l *RowList) error {
	for i, ref := range l.Rows {
		number, r := numberAt(l.Replicates, i), s.touched.get(ref.Row)
		if r == nil || len(r.out) == 0 || number > 0 && r.handed(number) < 0 {
			return fmt.Errorf("row %q is not out, so it cannot be returned", ref.ID)
		}
		s.update(ref, func(r *rowState) { r.release(number) })
	}
	return nil
}

// confirm makes all that waits of rows count.
func (s fold) confirm(l *RowList) error {
	s.learnt = len(s.spans)
	for _, ref := range l.Rows {
		if !s.waits(ref.Row) {
			return fmt.Errorf("row %q has no label that waits for a second look", ref.ID)
		}
		s.update(ref, (*rowState).confirm)
	}
	return nil
}

// update changes what happened to a row. Other states that have it keep what they have.
func (s fold) update(ref RowRef, change func(*rowState)) {
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
func (s fold) settle(r *rowState, n int64) {
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
