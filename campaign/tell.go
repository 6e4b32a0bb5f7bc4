package campaign

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/words"
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

// Entry is a line of measurements.
type Entry struct {
	Line     int       // its place in the list, such as the row of a table, from 0
	FileLine int       // line of a file, from 1; 0 if there is none
	ID       string    // of the row
	Values   []float64 // one for each target, NaN where there is none
	Fault    string    // what the reader of the line found wrong with it
	Censored Censored  // which values are limits, such as <0.5

	// which of the measurements of the row it is, as the batch numbers them, from 1; 0 if the line does not say
	Replicate int

	// Inputs are cells of the row as the caller has them, by column; nil if the caller has compared them, as Entries does.
	Inputs map[string]string
}

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
	if t.Accept { // without it, requests have the digests that earlier versions gave them
		said = append(said, t.Accept)
	}
	if len(t.Units) > 0 {
		said = append(said, t.Units)
	}
	return by.call(kind, said...)
}

// Fault is what is wrong with a line.
type Fault struct {
	Line     int    `json:"line" doc:"its place in the request, from 0"`
	FileLine int    `json:"-"` // line of a file, from 1; 0 if there is none
	ID       string `json:"id"`
	Reason   string `json:"reason"`
}

// Place is what messages call the line, as dataset.Table.Place does.
func (f *Fault) Place() string {
	if f.FileLine > 0 {
		return fmt.Sprintf("line %d (id %s)", f.FileLine, f.ID)
	}
	return fmt.Sprintf("row %d (from 0, id %s)", f.Line, f.ID)
}

// fault is what is wrong with an entry.
func (e *Entry) fault(reason string) Fault { return Fault{e.Line, e.FileLine, e.ID, reason} }

// TellError lists every line that is wrong. Nothing was changed.
type TellError struct{ Faults []Fault }

func (e *TellError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.Place() + ": " + f.Reason
	}
	return strings.Join(lines, "\n")
}

// ToldRows is what Tell told.
type ToldRows struct {
	Changed
	Known   int       // numbers that the rows had already, or that an identical line of the list has
	Faults  []Fault   // lines that were skipped, with Partial
	Waiting []Waiting // numbers that wait for a second look, also those among the known
}

// Tell takes measurements of rows: asked for or not, in any order, several of one row. Each answers the measurement
// that it names or the first one of its row that is out (see replicates.go). Those that are far from what was expected
// wait for a second look (see waiting.go). An error about entries is a *TellError.
func (c *Campaign) Tell(ctx context.Context, by By, t Tell) (ToldRows, error) {
	var result ToldRows
	if err := c.compareGiven(ctx, &t); err != nil {
		return result, err
	}
	event, repeated, err := c.change(ctx, t.call(by, kindTold), func(s *State) (decision, error) {
		entries, units, err := s.inUnits(t)
		if err != nil {
			return decision{}, err
		}
		right, faults, err := c.examine(ctx, s, entries)
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
			if err := c.look(ctx, s, labels, false); err != nil {
				return decision{}, err
			}
		}
		return decision{events: []Event{{Told: &Told{labels, units}}}}, nil
	})
	return result, result.finish(c, event, repeated, err)
}

// finish adds what follows from the event of the call, also if it had been made before.
func (r *ToldRows) finish(c *Campaign, event *Event, repeated bool, err error) error {
	if r.Changed, err = changed(event, repeated, err); err == nil && event != nil {
		r.Waiting = append(event.waiting(c.targets()), r.Waiting...)
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
	event, repeated, err := c.change(ctx, t.call(by, kindCorrected), func(s *State) (decision, error) {
		entries, _, err := s.inUnits(t)
		if err != nil {
			return decision{}, err
		}
		right, faults, err := c.examine(ctx, s, entries)
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
			if err := c.look(ctx, s, labels, true); err != nil {
				return decision{}, err
			}
		}
		return decision{events: []Event{{Corrected: &Told{Labels: labels}}}}, nil
	})
	return result, result.finish(c, event, repeated, err)
}

// corrections returns the labels that change their rows, those that the rows have already, and what cannot be
// corrected.
func (s *State) corrections(right []located) (labels, known []Label, faults []Fault) {
	seen := map[int64][]int{} // the numbers of the measurements of a row; 0 for all
	for _, r := range right {
		fault, before := "", seen[r.row]
		switch {
		case slices.Contains(before, r.Replicate), slices.Contains(before, 0), len(before) > 0 && r.Replicate == 0:
			fault = "the list corrects this row twice"
		case !s.correctable(r.row, 0):
			fault = "the row has no label that could be corrected"
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
func (c *Campaign) examine(ctx context.Context, s *State,
	entries []Entry) (right []located, faults []Fault, err error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	rows, err := c.find(ctx, s, ids)
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

func (e *Entry) faultOfValues(ranges dataset.Ranges) string {
	some := false
	for _, v := range e.Values {
		if fault := dataset.FaultOfLabel(v); fault != "" {
			return fault
		}
		some = some || !math.IsNaN(v)
	}
	if !some {
		return "there is no label, or it is not a number"
	}
	return faultOfRange(ranges, e.Values)
}

func labelsOf(right []located) (list []Label) {
	for _, r := range right {
		list = append(list, r.label(r.row))
	}
	return list
}

// recognise gives entries the digits that the campaign has of values which a spreadsheet has rounded.
func (s *State) recognise(list []located) {
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
		case dataset.SameNumber(v, known):
			like = known
		}
	}
	return like
}

// contradictions separates entries that have another value of a measurement which the same person has told.
func (s *State) contradictions(list []located, person string) (right []located, faults []Fault) {
	for _, r := range list {
		if before, found := s.contradicted(r, person); found {
			faults = append(faults,
				r.fault(fmt.Sprintf("replicate %d of the row has the label %v already; correct it, or leave out its number if this is a further measurement", r.Replicate, before)))
			continue
		}
		right = append(right, r)
	}
	return right, faults
}

// contradicted returns the value of the measurement that an entry names, if it differs and no other one of the row is
// the same.
func (s *State) contradicted(r located, person string) (before float64, found bool) {
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
func (s *State) once(labels []Label) (list []Label, repeated int) {
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
func (s *State) unknown(labels []Label) (fresh []Label, known int) {
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
func (s *State) toldOf(labels []Label) toldValues {
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

// isSole reports whether the values of a label are the only ones that the row, or the measurement that it names, has.
func (s *State) isSole(l Label) bool {
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

// read reads the values of the targets in a row of a table, and reports whether there
// is any. Where numbers are limits, sides say so.
func (e *Entry) read(columns []dataset.Column, row int, sides func(target string, row int) int8) (some bool) {
	e.Values = nans(len(columns))
	for i, column := range columns {
		if column == nil || column.Missing(row) {
			continue
		}
		some = true
		text := column.Format(row)
		number, side := source.CutSign(text)
		v, err := strconv.ParseFloat(number, 64)
		switch {
		case err != nil && source.UnknownLimit(text):
			e.Fault = fmt.Sprintf("the label %q in column %q may lie below a limit that is not known; write the limit, as in <0.5, or give it: --lod 0.5; if nothing was measured, leave the cell empty, or name its mark: --missing-marks n.d.", text, column.Name())
		case err != nil || math.IsNaN(v):
			e.Fault = fmt.Sprintf("the label %q in column %q is not a number", text, column.Name())
		case math.IsInf(v, 0):
			e.Fault = fmt.Sprintf("the label %q in column %q is not finite", text, column.Name())
		}
		if numbers, ok := column.(*dataset.Numeric); ok {
			v = numbers.Float(row)
		}
		side = cmp.Or(side, sides(column.Name(), row))
		if fault := dataset.FaultOfLabel(v); fault != "" && e.Fault == "" {
			e.Fault = fmt.Sprintf("column %q: %s", column.Name(), fault)
		}
		e.Values[i], e.Censored = v, e.Censored.With(i, len(columns), side)
	}
	return some
}

// ReadOptions returns how to read a file of labels, so that Entries finds every text
// that is not a label: ids and labels keep their spelling, and only an empty field is
// missing.
func (s *State) ReadOptions() source.Options {
	o := source.Options{History: s.History, Kinds: map[string]dataset.Kind{s.idColumn(): dataset.KindText},
		Lenient: true, Missing: []string{}}
	o.Lod, _ = source.ParseLod(s.Settings.Lod) // which was checked
	for _, name := range s.Created.Targets {
		o.Kinds[name] = dataset.KindText
	}
	return o
}

func (s *State) idColumn() string {
	if s.Created.IDColumn == "" {
		return RowColumn
	}
	return s.Created.IDColumn
}

// CampaignColumn is the column that names the campaign in files of batches. Entries
// refuses those of another one.
const CampaignColumn = "campaign"

// Entries turns a table of labels into entries, with a fault for each line that cannot
// be right: its label is not a number, it comes from another campaign, or its inputs
// are not those of the row. Lines without any label are skipped. What comes back in columns that are measured together
// with the label is not kept, which is said.
func (c *Campaign) Entries(ctx context.Context, t *dataset.Table) (entries []Entry, said []string, err error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	ids, err := t.Column(s.idColumn())
	if err != nil {
		return nil, nil, refuseRows("the ids of the rows: %v", err)
	}
	columns, some := make([]dataset.Column, len(s.Created.Targets)), false
	for i, name := range s.Created.Targets {
		if t.Has(name) {
			if columns[i], err = t.Column(name); err != nil {
				return nil, nil, err
			}
			some = true
		}
	}
	if !some {
		return nil, nil, refuseRows("the table has no column of labels (%s)", strings.Join(s.Created.Targets, ", "))
	}
	replicates := s.ownColumn(t, ReplicateColumn)
	lines, sides := t.Origin().Lines, t.Side
	for row := range t.Rows() {
		e := Entry{Line: row, FileLine: lines.Of(row), ID: ids.Format(row)}
		if e.read(columns, row, sides) {
			e.readReplicate(replicates, row)
			entries = append(entries, e)
		}
	}
	c.markForeign(s, t, entries)
	said, err = c.compareInputs(ctx, s, t, entries)
	return entries, said, err
}

// ownColumn returns a column that files of batches have and the rows of the campaign do not; nil if the table lacks it.
func (s *State) ownColumn(t *dataset.Table, name string) dataset.Column {
	column, err := t.Column(words.FreeName(name, s.Created.taken()))
	if err != nil {
		return nil
	}
	return column
}

// readReplicate reads which measurement of its row a line is, if the table has a column for it.
func (e *Entry) readReplicate(column dataset.Column, row int) {
	if column == nil || column.Missing(row) || strings.TrimSpace(column.Format(row)) == "" {
		return
	}
	text := strings.TrimSpace(column.Format(row))
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number < 1 || number > math.MaxInt32 || number != math.Trunc(number) {
		e.Fault = cmp.Or(e.Fault, fmt.Sprintf("the replicate %q is not a whole number from 1 on", text))
		return
	}
	e.Replicate = int(number)
}

// markForeign marks lines that name another campaign.
func (c *Campaign) markForeign(s *State, t *dataset.Table, entries []Entry) {
	column := s.ownColumn(t, CampaignColumn)
	if column == nil {
		return
	}
	for i := range entries {
		e := &entries[i]
		if name := column.Format(e.Line); e.Fault == "" && name != "" && name != s.Created.Identity {
			e.Fault = fmt.Sprintf("the line belongs to another campaign (%s)", name)
		}
	}
}

// compareInputs marks lines whose inputs differ from those of their rows. A column that is measured together with the
// label comes back filled in, and identifies no row.
func (c *Campaign) compareInputs(ctx context.Context, s *State, t *dataset.Table,
	entries []Entry) (said []string, err error) {
	var names []string
	for _, column := range s.Created.Columns {
		if t.Has(column.Name) {
			names = append(names, column.Name)
		}
	}
	if len(names) == 0 || len(entries) == 0 {
		return nil, nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	rows, err := c.find(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, nil
	}
	ours, err := c.allRows(ctx, s)
	if err != nil {
		return nil, err
	}
	var together map[string]bool // known once a cell differs
	for _, name := range names {
		theirs, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		column, err := ours.rows.Column(name)
		if err != nil {
			return nil, err
		}
		if theirs, err = inUnitOf(theirs, column); err != nil {
			return nil, refuseRows("%v", t.Placed(err, s.Created.IDColumn))
		}
		wrong := differing(theirs, column, entries, func(id string) (at int, known bool) {
			row, known := rows[id]
			if known {
				at = ours.at(row)
			}
			return at, known
		})
		if len(wrong) > 0 && together == nil {
			if together, err = c.together(ctx, s, ours.rows); err != nil {
				return nil, err
			}
		}
		if len(wrong) > 0 && together[name] {
			said = append(said, fmt.Sprintf("column %q: %s not kept, because it is not an input: its values come with the labels",
				name, words.Count(len(wrong), "value is", "values are")))
			continue
		}
		for at, fault := range wrong {
			entries[at].Fault = fault
		}
	}
	return said, nil
}

// differing says what is wrong with entries whose cells are not those of their rows.
func differing(theirs, ours dataset.Column, entries []Entry, rowOf func(id string) (int, bool)) map[int]string {
	wrong := map[int]string{}
	for i, e := range entries {
		row, known := rowOf(e.ID)
		if !known || e.Fault != "" {
			continue
		}
		if want, got := ours.Format(row), theirs.Format(e.Line); !dataset.SameCell(got, want) {
			wrong[i] = otherCell(ours.Name(), got, want)
		}
	}
	return wrong
}

func otherCell(column, got, want string) string {
	return fmt.Sprintf(
		"column %q has %q, but the row has %q; correct the cell or, if the line is not from this campaign, its id", column,
		got, want)
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
			if got, want := e.Inputs[name], column.Format(at); !column.Missing(at) && !dataset.SameCell(got, want) {
				e.Fault = otherCell(name, got, want)
				break
			}
		}
	}
	return nil
}

// together returns the columns that are not inputs because they are measured together with the label, or have no value
// yet.
func (c *Campaign) together(ctx context.Context, s *State, rows *dataset.Table) (map[string]bool, error) {
	set := map[string]bool{}
	for _, column := range rows.Columns() {
		empty := true
		for row := 0; empty && row < column.Len(); row++ {
			empty = column.Missing(row)
		}
		set[column.Name()] = empty && !slices.Contains(s.Settings.Keep, column.Name())
	}
	leaks, _, err := c.leaks(ctx, s, Ask{})
	for _, leak := range leaks {
		set[leak.Column] = true
	}
	return set, err
}

// Fail records that rows could not be labelled, or measurements of them: s017#2 names the second one of row s017,
// unless that is itself the id of a row. With again they are open again, otherwise they are never handed out again. Of
// a row with a label, the measurements that are out fail, and it stays labelled. An error about rows is a *TellError.
func (c *Campaign) Fail(ctx context.Context, by By, ids []string, reason string, again bool) (Changed, error) {
	return c.changeMeasurements(ctx, by.call(kindFailed, ids, reason, again), ids,
		func(s *State, row int64, number int) (fault string, skip bool) {
			switch status := s.Status(row); {
			case status == StatusRetired:
				return "the row is retired", false
			case number > 0 && !s.isHanded(row, number):
				return fmt.Sprintf("replicate %d of the row is not out", number), false
			case len(s.Out(row)) > 0:
				return "", false
			case status == StatusLabelled:
				return "the row has a label, so it cannot fail", false
			case status == StatusWaiting:
				return "the row has a label that waits for a second look, so it cannot fail: correct or confirm it, or retire the row", false
			case status == StatusFailed:
				return "", !again
			}
			return "", false
		}, func(rows []RowRef, numbers []int) Event {
			return Event{Failed: &Failed{rows, reason, again, numbers}}
		})
}

// Return returns rows, or measurements of them as in Fail, that are out: they are open again. An error about rows is a
// *TellError.
func (c *Campaign) Return(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return c.changeMeasurements(ctx, by.call(kindReturned, ids, reason), ids,
		func(s *State, row int64, number int) (fault string, skip bool) {
			switch status := s.Status(row); {
			case number > 0 && !s.isHanded(row, number):
				return fmt.Sprintf("replicate %d of the row is not out", number), false
			case len(s.Out(row)) > 0:
				return "", false
			case status == StatusOpen:
				return "", true
			default:
				return fmt.Sprintf("the row is not out: it is %s", status), false
			}
		}, func(rows []RowRef, numbers []int) Event { return Event{Returned: &RowList{rows, reason, numbers}} })
}

// isHanded reports whether a measurement of a row is out.
func (s *State) isHanded(row int64, number int) bool {
	return slices.ContainsFunc(s.Out(row), func(h Handed) bool { return h.Pick.Number() == number })
}

// Retire removes rows from the campaign: they are neither picked nor used for training. An
// error about rows is a *TellError.
func (c *Campaign) Retire(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return c.changeRows(ctx, by.call(kindRetired, ids, reason), ids, func(s *State, row int64) (fault string, skip bool) {
		return "", s.Status(row) == StatusRetired
	}, func(rows []RowRef) Event { return Event{Retired: &RowList{Rows: rows, Reason: reason}} })
}

// Confirm makes the numbers of rows count that wait for a second look. Rows of which none waits stay as they are. An
// error about rows is a *TellError.
func (c *Campaign) Confirm(ctx context.Context, by By, ids []string, reason string) (Changed, error) {
	return c.changeRows(ctx, by.call(kindConfirmed, ids, reason), ids,
		func(s *State, row int64) (fault string, skip bool) {
			switch status := s.Status(row); status {
			case StatusLabelled, StatusWaiting:
				return "", !s.waits(row)
			case StatusRetired:
				return "the row is retired", false
			default:
				return "the row has no label that could be confirmed", false
			}
		}, func(rows []RowRef) Event { return Event{Confirmed: &RowList{Rows: rows, Reason: reason}} })
}

// changeRows makes a change of rows by their ids, each once. The first function says what
// is wrong with a row, or that it has changed already.
func (c *Campaign) changeRows(ctx context.Context, by call, ids []string,
	judge func(s *State, row int64) (fault string, skip bool), event func([]RowRef) Event) (Changed, error) {
	return c.changeNamed(ctx, by, ids, c.rowsNamed,
		func(s *State, of named) (fault string, skip bool) { return judge(s, of.Row) },
		func(rows []RowRef, _ []int) Event { return event(rows) })
}

// changeMeasurements does so with rows, or with single measurements of them.
func (c *Campaign) changeMeasurements(ctx context.Context, by call, ids []string,
	judge func(s *State, row int64, number int) (fault string, skip bool),
	event func([]RowRef, []int) Event) (Changed, error) {
	return c.changeNamed(ctx, by, ids, c.measurementsNamed,
		func(s *State, of named) (fault string, skip bool) { return judge(s, of.Row, of.number) }, event)
}

// named is a row, or one of its measurements if the number is not 0.
type named struct {
	RowRef
	number int
}

// rowsNamed finds rows by their ids.
func (c *Campaign) rowsNamed(ctx context.Context, s *State, ids []string) (map[string]named, error) {
	rows, err := c.find(ctx, s, ids)
	list := make(map[string]named, len(rows))
	for id, row := range rows {
		list[id] = named{RowRef{row, id}, 0}
	}
	return list, err
}

// measurementsNamed finds rows by their ids, and measurements by ids with a number, such as s017#2.
func (c *Campaign) measurementsNamed(ctx context.Context, s *State, ids []string) (map[string]named, error) {
	list, err := c.rowsNamed(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, text := range ids {
		if id, _, ok := replicateOf(text); ok && list[text].ID == "" {
			others = append(others, id)
		}
	}
	rows, err := c.find(ctx, s, others)
	for _, text := range ids {
		id, number, ok := replicateOf(text)
		if row, known := rows[id]; ok && known && list[text].ID == "" {
			list[text] = named{RowRef{row, id}, number}
		}
	}
	return list, err
}

func (c *Campaign) changeNamed(ctx context.Context, by call, ids []string,
	find func(context.Context, *State, []string) (map[string]named, error),
	judge func(*State, named) (fault string, skip bool), event func([]RowRef, []int) Event) (Changed, error) {
	return changed(c.change(ctx, by, func(s *State) (decision, error) {
		found, err := find(ctx, s, ids)
		if err != nil {
			return decision{}, err
		}
		var faults []Fault
		var rows []RowRef
		var numbers []int
		seen, whole := map[named]bool{}, map[int64]bool{}
		for _, of := range found {
			whole[of.Row] = whole[of.Row] || of.number == 0
		}
		for line, id := range ids {
			of, known := found[id]
			if !known {
				faults = append(faults, Fault{Line: line, ID: id, Reason: "the campaign has no row with this id"})
				continue
			}
			fault, skip := judge(s, of)
			switch {
			case fault != "":
				faults = append(faults, Fault{Line: line, ID: id, Reason: fault})
			case !skip && !seen[of] && (of.number == 0 || !whole[of.Row]):
				rows, numbers = append(rows, of.RowRef), append(numbers, of.number)
			}
			seen[of] = true
		}
		if len(faults) > 0 {
			return decision{}, &TellError{faults}
		}
		if len(rows) == 0 {
			return decision{}, nil
		}
		if slices.Max(numbers) == 0 {
			numbers = nil // whole rows, as in events of earlier versions
		}
		return decision{events: []Event{event(rows, numbers)}}, nil
	}))
}
