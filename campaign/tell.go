package campaign

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
)

// Telling is all or nothing: with one wrong line the whole list is rejected, unless the
// caller chooses to accept the other lines (Tell.Partial).
//
// A measurement that a row already has changes nothing, because people fill in one file
// over days and tell it repeatedly. Measurements are compared by their values, target
// by target: of a value that a list has k times for a row, and the row has m times,
// max(0, k-m) are new. Identical lines are one measurement, or as many as are out. A line that names its measurement
// (Entry.Replicate) is new if that measurement has not been told yet, whatever the others are; if it has, the line is
// compared with it first. Another value of a measurement that the same person has told is a mistake in one of the two:
// it has to be told as a correction, or as a further measurement (Tell.Again).

// Tell is measurements to tell.
type Tell struct {
	Entries []Entry
	Partial bool // accept the entries that are right, even if others are wrong
	Again   bool // accept measurements that rows already have, as further ones
	Accept  bool // no number waits for a second look
	// Units are those of the values, by target. Values are converted to the unit of the labels so far, or
	// refused; the first labels of a target may bring one.
	Units map[string]string
}

// call returns the telling as a change.
func (t *Tell) call(by By, kind Kind) call {
	if by.Request == "" {
		return by.call(kind)
	}
	labels := make([]Label, len(t.Entries))
	for i, e := range t.Entries {
		labels[i] = e.label(0)
	}
	said := []any{labels, t.Partial, t.Again}
	for i, e := range t.Entries {
		if len(e.Set) > 0 {
			said = append(said, i, e.Set)
		}
	}
	if t.Accept { // without it, requests have the digests that earlier versions gave them
		said = append(said, t.Accept)
	}
	if len(t.Units) > 0 {
		said = append(said, t.Units)
	}
	return by.call(kind, said...)
}

// ToldRows is what Tell told.
type ToldRows struct {
	Changed
	Known   int       // numbers that the rows had already, or that an identical line of the list has
	Faults  []Fault   // lines that were skipped, with Partial
	Waiting []Waiting // numbers that wait for a second look, also those among the known
	Own     []RowRef  // rows that are new, because something else was set than asked for
}

// Tell takes measurements of rows: asked for or not, in any order, several of one row. Each answers the measurement
// that it names or the first one of its row that is out (see replicates.go). Those that are far from what was expected
// wait for a second look (see waiting.go). An error about entries is a *TellError.
func (c *Campaign) Tell(ctx context.Context, by By, t Tell) (ToldRows, error) {
	var result ToldRows
	if err := c.compareGiven(ctx, &t); err != nil {
		return result, err
	}
	event, repeated, err := c.change(ctx, t.call(by, kindTold), func(state *State) (decision, error) {
		s := telling{state}
		entries, units, err := s.inUnits(t)
		if err != nil {
			return decision{}, err
		}
		right, faults, err := s.examine(ctx, c, entries)
		if err != nil {
			return decision{}, err
		}
		own, err := c.ownRows(ctx, state, right, by.Person)
		if !t.Again {
			var wrong []Fault
			s.recognise(right)
			right, wrong = s.contradictions(right, by.Person)
			faults = append(faults, wrong...)
		}
		if err != nil || len(faults) > 0 && !t.Partial {
			return decision{}, orTellError(err, faults)
		}
		labels := labelsOf(right)
		result.Faults, result.Waiting = faults, s.stillWaiting(labels)
		if !t.Again {
			once, repeated := s.once(labels)
			labels, result.Known = s.unknown(once)
			result.Known += repeated
		}
		if len(labels) == 0 {
			return decision{}, nil
		}
		if !t.Accept {
			if err := c.look(ctx, state, labels, false); err != nil {
				return decision{}, err
			}
		}
		d := decision{events: []Event{{Told: &Told{labels, units, own.added}}}, blobs: own.blobs}
		if own.returned != nil {
			d.events = append(d.events, Event{Returned: own.returned})
		}
		return d, nil
	})
	return result, result.finish(c, event, repeated, err)
}

// finish adds what follows from the event of the call, also if it had been made before.
func (r *ToldRows) finish(c *Campaign, event *Event, repeated bool, err error) error {
	if r.Changed, err = changed(event, repeated, err); err != nil || event == nil {
		return err
	}
	r.Waiting = append(event.waiting(c.targets()), r.Waiting...)
	if a := event.added(); a != nil {
		for _, ref := range event.Rows() {
			if ref.Row >= a.First && !slices.Contains(r.Own, ref) {
				r.Own = append(r.Own, ref)
			}
		}
	}
	return err
}

// Correct replaces the measurements of rows, or the one that an entry names, for the targets that the entry has a
// number for, also those that wait for a second look; the new ones may wait, too. An error about entries is a
// *TellError. The option Again has no effect.
func (c *Campaign) Correct(ctx context.Context, by By, t Tell) (ToldRows, error) {
	var result ToldRows
	if err := c.compareGiven(ctx, &t); err != nil {
		return result, err
	}
	event, repeated, err := c.change(ctx, t.call(by, kindCorrected), func(state *State) (decision, error) {
		s := telling{state}
		entries, _, err := s.inUnits(t)
		if err != nil {
			return decision{}, err
		}
		right, faults, err := s.examine(ctx, c, entries)
		if err != nil {
			return decision{}, err
		}
		labels, known, wrong := s.corrections(right)
		if faults = append(faults, wrong...); len(faults) > 0 && !t.Partial {
			return decision{}, orTellError(nil, faults)
		}
		result.Faults, result.Known, result.Waiting = faults, len(known), s.stillWaiting(known)
		if len(labels) == 0 {
			return decision{}, nil
		}
		if !t.Accept {
			if err := c.look(ctx, state, labels, true); err != nil {
				return decision{}, err
			}
		}
		return decision{events: []Event{{Corrected: &Told{Labels: labels}}}}, nil
	})
	return result, result.finish(c, event, repeated, err)
}

// telling compares entries and labels with what their rows have already.
type telling struct{ *State }

// corrections returns the labels that change their rows, those that the rows have already, and what cannot be
// corrected.
func (s telling) corrections(right []located) (labels, known []Label, faults []Fault) {
	seen := map[int64][]int{} // the numbers of the measurements of a row; 0 for all
	for _, r := range right {
		fault, before := "", seen[r.row]
		switch {
		case slices.Contains(before, r.Replicate), slices.Contains(before, 0), len(before) > 0 && r.Replicate == 0:
			fault = "the list corrects this row twice"
		case !s.correctable(r.row, 0):
			fault = "the row has no label that could be corrected"
		case len(r.Set) > 0:
			fault = "the row has other inputs; a correction names the row that has these"
		case !s.correctable(r.row, r.Replicate):
			fault = fmt.Sprintf("replicate %d of the row has no label that could be corrected", r.Replicate)
		}
		if seen[r.row] = append(before, r.Replicate); fault != "" {
			faults = append(faults, r.fault(fault))
			continue
		}
		if l := r.label(r.row); s.isSole(l) {
			known = append(known, l)
		} else {
			labels = append(labels, l)
		}
	}
	return labels, known, faults
}

func orTellError(err error, faults []Fault) error {
	if err != nil {
		return err
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return &TellError{faults}
}

// located is an entry whose row was found.
type located struct {
	Entry
	row int64
}

// examine finds the rows of entries, and what is wrong with them.
func (s telling) examine(ctx context.Context, c *Campaign,
	entries []Entry) (right []located, faults []Fault, err error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	rows, err := c.find(ctx, s.State, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		row, known := rows[e.ID]
		fault := e.Fault
		switch {
		case fault != "":
		case !known:
			fault = "the campaign has no row with this id"
		case s.Status(row) == StatusRetired:
			fault = "the row is retired"
		case len(e.Values) != len(s.Created.Targets):
			fault = fmt.Sprintf("there are %d values for the targets %s", len(e.Values), strings.Join(s.Created.Targets, ", "))
		default:
			fault = e.faultOfValues(s.Settings.Ranges)
		}
		if fault != "" {
			faults = append(faults, e.fault(fault))
			continue
		}
		right = append(right, located{e, row})
	}
	return right, faults, nil
}

func labelsOf(right []located) (list []Label) {
	for _, r := range right {
		list = append(list, r.label(r.row))
	}
	return list
}

// recognise gives entries the digits that the campaign has of values which a spreadsheet has rounded.
func (s telling) recognise(list []located) {
	for i, r := range list {
		list[i].Values = slices.Clone(r.Values)
		for target, v := range r.Values {
			list[i].Values[target] = likeKnown(v, s.Measurements(r.row), target)
		}
	}
}

// likeKnown returns a value as it was measured, if it was: the same, or else the last that agrees.
func likeKnown(v float64, measured []Measurement, target int) float64 {
	like := v
	for _, m := range measured {
		switch known := m.Values[target]; {
		case known == v:
			return v
		case encode.SameNumber(v, known):
			like = known
		}
	}
	return like
}

// contradictions separates entries that have another value of a measurement which the same person has told.
func (s telling) contradictions(list []located, person string) (right []located, faults []Fault) {
	for _, r := range list {
		if before, found := s.contradicted(r, person); found {
			faults = append(faults,
				r.fault(fmt.Sprintf("replicate %d of the row has the label %v already; correct it, or leave out its number if "+
					"this is a further measurement", r.Replicate, before)))
			continue
		}
		right = append(right, r)
	}
	return right, faults
}

// contradicted returns the value of the measurement that an entry names, if it differs and no other one of the row is
// the same.
func (s telling) contradicted(r located, person string) (before float64, found bool) {
	measured := s.Measurements(r.row)
	for target, v := range r.Values {
		side := r.Censored.Of(target)
		same := slices.ContainsFunc(measured, func(m Measurement) bool {
			return m.Values[target] == v &&
				m.Censored.Of(target) == side
		})
		for _, m := range measured {
			if old := m.Values[target]; r.Replicate > 0 && m.Replicate == r.Replicate && m.Person == person && !same &&
				!math.IsNaN(v) && !math.IsNaN(old) {
				return old, true
			}
		}
	}
	return 0, false
}

// once leaves out labels that are identical to one before them, except as many as there are measurements of their row
// out that a label without a number may answer. Repeated counts the values of those that it leaves out.
func (s telling) once(labels []Label) (list []Label, repeated int) {
	seen := map[string]int{}
	for _, l := range labels {
		most := 1
		if l.Replicate == 0 {
			most = max(most, len(s.Out(l.Row)))
		}
		key := fmt.Sprint(l.Row, l.Replicate, l.Values)
		for target := range l.Values {
			key += fmt.Sprint(" ", l.Censored.Of(target))
		}
		if seen[key]++; seen[key] <= most {
			list = append(list, l)
			continue
		}
		for _, v := range l.Values {
			if !math.IsNaN(float64(v)) {
				repeated++
			}
		}
	}
	return list, repeated
}

// unknown returns what is new in the labels, and how many values are not.
func (s telling) unknown(labels []Label) (fresh []Label, known int) {
	left := s.toldOf(labels)
	match := make([][]bool, len(labels)) // of each label and target
	for i, l := range labels {           // first with the measurements that they name
		match[i] = make([]bool, len(l.Values))
		for target := range l.Values {
			match[i][target] = l.Replicate > 0 && left.take(l.toldValue(target), l.Replicate)
		}
	}
	for i, l := range labels {
		values, some := slices.Clone(l.Values), false
		for target, v := range values {
			one := l.toldValue(target)
			switch {
			case math.IsNaN(float64(v)):
			case match[i][target], (l.Replicate == 0 || left.answered(one, l.Replicate)) && left.take(one, 0):
				known++
				values[target] = fitted.Float(math.NaN())
			default:
				some = true
			}
		}
		if some {
			fresh = append(fresh, Label{RowRef: l.RowRef, Values: values, Replicate: l.Replicate, Censored: l.Censored})
		}
	}
	return fresh, known
}

// toldValue is a value of a row that was told.
type toldValue struct {
	row    int64
	target int
	value  float64
	side   int8
}

func (l *Label) toldValue(target int) toldValue {
	return toldValue{l.Row, target, float64(l.Values[target]), l.Censored.Of(target)}
}

// toldValues are the values that rows have and that no label has matched yet, with the numbers of their measurements.
type toldValues struct {
	left    map[toldValue][]int
	numbers map[toldValue][]int // of all measurements of a row and target, whose value is 0 here
}

// toldOf returns the values of the rows of labels.
func (s telling) toldOf(labels []Label) toldValues {
	t := toldValues{map[toldValue][]int{}, map[toldValue][]int{}}
	seen := map[int64]bool{}
	for _, l := range labels {
		if seen[l.Row] {
			continue
		}
		seen[l.Row] = true
		for _, m := range s.Measurements(l.Row) {
			for target, v := range m.Values {
				if !math.IsNaN(v) {
					value, any := toldValue{l.Row, target, v, m.Censored.Of(target)}, toldValue{row: l.Row, target: target}
					t.left[value], t.numbers[any] = append(t.left[value], m.Replicate), append(t.numbers[any], m.Replicate)
				}
			}
		}
	}
	return t
}

// take crosses off a value of the measurement with a number, or of any if that is 0, and reports whether it was there.
func (t toldValues) take(v toldValue, number int) bool {
	at := slices.IndexFunc(t.left[v], func(n int) bool { return number == 0 || n == number })
	if at >= 0 {
		t.left[v] = slices.Delete(t.left[v], at, at+1)
	}
	return at >= 0
}

// answered reports whether the measurement with a number has a value of the target.
func (t toldValues) answered(v toldValue, number int) bool {
	return slices.Contains(t.numbers[toldValue{row: v.row, target: v.target}], number)
}

// stillWaiting returns the numbers among labels that their rows have already, and that wait.
func (s telling) stillWaiting(labels []Label) (list []Waiting) {
	seen := map[int64]bool{}
	for _, l := range labels {
		if seen[l.Row] {
			continue
		}
		seen[l.Row] = true
		for _, w := range s.waitingOf(l.Row) {
			if w.amongst(labels, s.Created.Targets) {
				list = append(list, w)
			}
		}
	}
	return list
}

// isSole reports whether the values of a label are the only ones that the row, or the measurement that it names, has.
func (s telling) isSole(l Label) bool {
	for target, v := range l.Values {
		if math.IsNaN(float64(v)) {
			continue
		}
		var there []toldValue
		for _, m := range s.Measurements(l.Row) {
			if !math.IsNaN(m.Values[target]) && (l.Replicate == 0 || m.Replicate == l.Replicate) {
				there = append(there, toldValue{l.Row, target, m.Values[target], m.Censored.Of(target)})
			}
		}
		if len(there) != 1 || there[0] != l.toldValue(target) {
			return false
		}
	}
	return true
}

// compareGiven marks entries that came with inputs which are not those of their rows. What a row lacks may come with
// its label.
func (c *Campaign) compareGiven(ctx context.Context, t *Tell) error {
	if !slices.ContainsFunc(t.Entries, func(e Entry) bool { return len(e.Inputs) > 0 }) {
		return nil
	}
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(t.Entries))
	for i, e := range t.Entries {
		ids[i] = e.ID
	}
	rows, err := c.find(ctx, s, ids)
	if err != nil {
		return err
	}
	ours, err := c.allRows(ctx, s)
	if err != nil {
		return err
	}
	settable, err := c.settable(ctx, s)
	if err != nil {
		return err
	}
	t.Entries = slices.Clone(t.Entries)
	for i := range t.Entries {
		e := &t.Entries[i]
		row, known := rows[e.ID]
		if !known || e.Fault != "" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Inputs)) {
			column, err := ours.rows.Column(name)
			if err != nil {
				e.Fault = fmt.Sprintf("inputs: the campaign has no column %q", name)
				break
			}
			at := ours.at(row)
			if got, want := e.Inputs[name], column.Format(at); !column.Missing(at) && !encode.SameCell(got, want) &&
				!e.set(name, got, settable) {
				e.Fault = otherCell(name, got, want)
				break
			}
		}
	}
	return nil
}

// inUnits returns the entries with their values in the units of the campaign, and the units of targets that had none.
func (s telling) inUnits(t Tell) (entries []Entry, units map[string]string, err error) {
	entries = t.Entries
	for _, target := range slices.Sorted(maps.Keys(t.Units)) {
		h, unit := s.History(target), t.Units[target]
		switch {
		case h == nil:
			return nil, nil, refuseRows("there is a unit for %q, which is not a target", target)
		case unit == "" || dataset.SameUnit(unit, h.Unit):
			continue
		case h.Unit == "" && h.Labels == 0:
			if units == nil {
				units = map[string]string{}
			}
			units[target] = unit
			continue
		case h.Unit == "":
			return nil, nil,
				refuseRows(
					"the labels of %q are in %s, but those so far have no unit; tell the numbers alone, in the unit of the others",
					target, unit)
		}
		convert := dataset.ConvertUnit(unit, h.Unit)
		if convert == nil {
			return nil, nil, refuseRows("the labels of %q are in %s, but those so far in %s; tell them in %s",
				target, unit, h.Unit, h.Unit)
		}
		at := slices.Index(s.Created.Targets, target)
		entries = slices.Clone(entries)
		for i := range entries {
			if e := &entries[i]; at < len(e.Values) {
				e.Values = slices.Clone(e.Values)
				e.Values[at] = convert(e.Values[at])
			}
		}
	}
	return entries, units, nil
}
