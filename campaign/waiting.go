package campaign

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/plausible"
	"github.com/nextbatch/nextbatch/internal/words"
)

// A number that is far from what was expected when it was told waits for a second look: it is in the log, but nothing
// learns from it and no estimate uses it until somebody confirms or corrects it. It is compared with the prediction
// that the last ask of its row recorded and with the labels so far (package plausible), and the doubt is part of the
// event. Targets are independent: of a row with two numbers, one may wait while the other counts. So are measurements:
// where one of several waits, the label of the row follows from the others.
//
// A row of which only numbers that wait are known is neither open nor labelled: it is not asked for again, and counts
// as pending when a batch is picked.

// Waiting is a number that waits for a second look.
type Waiting struct {
	RowRef
	Target string          `json:"target"`
	Value  fitted.Float    `json:"value"`
	Event  int64           `json:"event" doc:"that told it"`
	Since  time.Time       `json:"since" doc:"when it was told"`
	Person string          `json:"person,omitempty" doc:"who told it"`
	Doubt  plausible.Doubt `json:"doubt" doc:"why it waits"`
	Why    words.Text      `json:"why" doc:"the same in words, such as: 9,999,999; expected 58,000 to 83,000; two digits too many?"`

	Replicate int  `json:"replicate,omitempty" doc:"which measurement of the row it is; absent where the label did not say"`
	Censored  int8 `json:"censored,omitempty" doc:"of a limit: -1 if the label is below the value, 1 if it is above"`
}

// value returns the number of a target, NaN where there is none or it waits.
func (m *Measurement) value(target int) float64 {
	if m.waits(target) {
		return math.NaN()
	}
	return m.Values[target]
}

// waits reports whether the number of a target waits for a second look.
func (m *Measurement) waits(target int) bool {
	return m.Doubts != nil && m.Doubts[target] != nil && !math.IsNaN(m.Values[target])
}

// counts reports whether the number of any target counts.
func (m Measurement) counts() bool {
	for target := range m.Values {
		if !math.IsNaN(m.value(target)) {
			return true
		}
	}
	return false
}

// waiting lists the numbers of a measurement that wait.
func (m *Measurement) waiting(of RowRef, targets []string) (list []Waiting) {
	for target := range m.Values {
		if m.waits(target) {
			value, doubt := m.Values[target], m.Doubts[target]
			list = append(list, Waiting{of, targets[target], fitted.Float(value), m.Seq, m.Time, m.Person, *doubt,
				doubt.Words(value, m.Censored.Of(target)), m.Replicate, m.Censored.Of(target)})
		}
	}
	return list
}

// targets returns the names of the targets, which never change.
func (c *Campaign) targets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Created.Targets
}

// waiting lists the numbers of an event that waited when they were told.
func (e *Event) waiting(targets []string) (list []Waiting) {
	for _, l := range e.labels() {
		if l.Doubts != nil {
			m := measurementOf(e, l)
			list = append(list, m.waiting(l.RowRef, targets)...)
		}
	}
	return list
}

// measurementOf returns a label of an event as a measurement.
func measurementOf(e *Event, l Label) Measurement {
	m := Measurement{Seq: e.Seq, Time: e.Time, Person: e.Person, Values: make([]float64, len(l.Values)), Doubts: l.Doubts,
		Replicate: l.Replicate, Censored: l.Censored}
	for i, v := range l.Values {
		m.Values[i] = float64(v)
	}
	return m
}

// Waiting lists the numbers that wait for a second look, the oldest first.
func (s *State) Waiting() (list []Waiting) {
	for row := range s.touched.all() {
		list = append(list, s.waitingOf(row)...)
	}
	slices.SortStableFunc(list, func(a, b Waiting) int { return cmp.Compare(a.Event, b.Event) })
	return list
}

// waitingOf lists the numbers of a row that wait; none of one that is retired.
func (s *State) waitingOf(row int64) (list []Waiting) {
	r := s.touched.get(row)
	if r == nil || r.retired {
		return nil
	}
	for i := range r.measurements {
		list = append(list, r.measurements[i].waiting(RowRef{row, r.id}, s.Created.Targets)...)
	}
	return list
}

// waits reports whether a number of the row waits.
func (s *State) waits(row int64) bool { return len(s.waitingOf(row)) > 0 }

// Unlikely lists the labels that count although they are far from the others, in the order of rows. Those that a table
// came with have had no second look, and do not wait.
func (s *State) Unlikely() (list []Waiting) {
	for target := range s.Created.Targets {
		known := plausible.Learn(s.valuesOf(target))
		for row, r := range s.touched.all() {
			if r.status(s.Now) != StatusLabelled {
				continue
			}
			value, last := s.Label(row)[target], r.measurements[len(r.measurements)-1]
			if doubt := known.Examine(value, nil); doubt != nil {
				last.Values, last.Doubts = nans(len(last.Values)), make([]*plausible.Doubt, len(last.Values))
				last.Values[target], last.Doubts[target] = value, doubt
				list = append(list, last.waiting(RowRef{row, r.id}, s.Created.Targets)...)
			}
		}
	}
	return list
}

// amongst reports whether one of the labels is the number.
func (w *Waiting) amongst(labels []Label, targets []string) bool {
	target := slices.Index(targets, w.Target)
	return slices.ContainsFunc(labels, func(l Label) bool { return l.Row == w.Row && l.Values[target] == w.Value })
}

// confirm makes all that waits of a row count. States share measurements, so they are copied.
func (r *rowState) confirm() {
	r.measurements = slices.Clone(r.measurements)
	for i := range r.measurements {
		r.measurements[i].Doubts = nil
	}
}

// withWaiting returns the state in which labels that wait count, as if they had been confirmed.
func (s *State) withWaiting(waiting ...Waiting) *State {
	all := *s
	f := fold{&all, &edit{}}
	for _, w := range waiting {
		f.update(w.RowRef, (*rowState).confirm)
	}
	return &all
}

// measured counts the rows with a label, also those whose labels wait.
func (c Counts) measured() int64 { return c.Labelled + c.Waiting }

// secondLook compares labels with what is expected of their rows.
type secondLook struct {
	c        *Campaign
	s        *State
	replaced map[int64]bool // rows whose labels corrections replace
}

// look gives labels a second look as they arrive, and puts its doubts into them. Corrections are not compared with the
// labels that they replace, nor with predictions that follow from these.
func (c *Campaign) look(ctx context.Context, s *State, labels []Label, correct bool) error {
	of := secondLook{c, s, map[int64]bool{}}
	if correct {
		for _, l := range labels {
			of.replaced[l.Row] = true
		}
	}
	expected, err := of.expectations(ctx, labels)
	if err != nil {
		return err
	}
	for target, known := range of.labelsSoFar(labels) {
		arrived := make([]plausible.Arrived, len(labels))
		for i, l := range labels {
			arrived[i] = plausible.Arrived{Row: l.ID, Value: float64(l.Values[target]), Expected: expected[i].of(target)}
		}
		for i, doubt := range known.ExamineAll(arrived) {
			labels[i].doubt(target, doubt)
		}
	}
	return nil
}

// doubt makes the number of a target wait, unless there is no doubt, or none that the number as a limit may be right.
func (l *Label) doubt(target int, d *plausible.Doubt) {
	if d == nil || d.Agrees(float64(l.Values[target]), l.Censored.Of(target)) {
		return
	}
	if l.Doubts == nil {
		l.Doubts = make([]*plausible.Doubt, len(l.Values))
	}
	l.Doubts[target] = d
}

// expectations returns, for each label, the last ask of its row; nil where there was none, or where its predictions are
// those of labels that have changed since.
func (k secondLook) expectations(ctx context.Context, labels []Label) ([]*askedAs, error) {
	list, outdated := make([]*askedAs, len(labels)), map[int64]bool{}
	for i, l := range labels {
		r := k.s.touched.get(l.Row)
		if r == nil || r.asked == nil || len(r.asked.row.Predictions) == 0 {
			continue
		}
		ask := r.asked.ask.Ask
		old, seen := outdated[ask]
		if !seen {
			var err error
			if old, err = k.outdated(ctx, ask); err != nil {
				return nil, err
			}
			outdated[ask] = old
		}
		if !old {
			list[i] = r.asked
		}
	}
	return list, nil
}

// of returns what an ask predicted for a target of a row, nil if there was no prediction with an interval.
func (a *askedAs) of(target int) *plausible.Expected {
	if a == nil || target >= len(a.row.Predictions) {
		return nil
	}
	p := a.row.Predictions[target]
	if p.Low == nil || p.High == nil {
		return nil
	}
	return &plausible.Expected{Value: float64(p.Value), Low: float64(*p.Low), High: float64(*p.High)}
}

// fewChanged is the share of the labels behind a prediction that may have been replaced or withdrawn since: 1 in
// fewChanged.
const fewChanged = 10

// verdict is whether the predictions of an ask were outdated after an event of the log.
type verdict struct {
	after int64
	old   bool
}

// outdated reports whether more than a few of the labels that there were at an ask have been replaced or withdrawn
// since, or are about to be. Further measurements of a row do not count, so that the handle keeps the answer until
// labels change again.
func (k secondLook) outdated(ctx context.Context, ask int64) (bool, error) {
	c, s := k.c, k.s
	seq := s.Asks[slices.IndexFunc(s.Asks, func(a AskEvent) bool { return a.Ask == ask })].Seq
	if len(k.replaced) > 0 {
		return k.manyChanged(ctx, seq)
	}
	c.knownMu.Lock()
	defer c.knownMu.Unlock()
	last, found := c.judged[seq]
	if !found || last.after > s.Seq { // by somebody who has read more of the log
		last = verdict{seq, false}
	}
	if k.replacedSince(last.after) {
		var err error
		if last.old, err = k.manyChanged(ctx, seq); err != nil {
			return false, err
		}
	}
	if c.judged == nil {
		c.judged = map[int64]verdict{}
	}
	c.judged[seq] = verdict{s.Seq, last.old}
	return last.old, nil
}

// manyChanged compares the labels that there were after an event with those of a state without those that are about to
// be replaced.
func (k secondLook) manyChanged(ctx context.Context, seq int64) (bool, error) {
	then, err := k.c.stateAt(ctx, seq)
	if err != nil {
		return false, err
	}
	labelled, changed := then.With(StatusLabelled), 0
	for _, ref := range labelled {
		if k.replaced[ref.Row] || !holds(k.s, ref.Row, then.Measurements(ref.Row)) {
			changed++
		}
	}
	return fewChanged*changed > len(labelled), nil
}

// replacedSince reports whether any event after one of the log, up to the state, may have replaced or withdrawn labels.
func (k secondLook) replacedSince(after int64) bool {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	return slices.ContainsFunc(k.c.log[after:k.s.Seq], func(e Event) bool {
		return e.Corrected != nil ||
			e.Retired != nil || e.Undone != nil
	})
}

// holds reports whether all measurements of a row that counted at an earlier time still do.
func holds(s *State, row int64, before []Measurement) bool {
	if !s.Exists(row) || s.Status(row) != StatusLabelled {
		return false
	}
	return !slices.ContainsFunc(before, func(old Measurement) bool {
		return old.counts() && !slices.ContainsFunc(s.Measurements(row), func(m Measurement) bool {
			return m.Seq == old.Seq && m.Replicate == old.Replicate && sameLabel(m.Values, old.Values)
		})
	})
}

// labelsSoFar summarises the labels of each target that new ones are compared with: all but those that corrections
// replace. Where these are too few, or fewer than those, the new ones count as well: one that is wrong is still far
// from the others.
func (k secondLook) labelsSoFar(fresh []Label) []*plausible.Labels {
	c, s := k.c, k.s
	c.knownMu.Lock()
	defer c.knownMu.Unlock()
	if c.known == nil || c.known.of.Settings.Latest != s.Settings.Latest {
		c.known = newSortedLabels(s)
	}
	c.known.become(s)
	list := make([]*plausible.Labels, len(s.Created.Targets))
	for target := range list {
		list[target] = c.known.without(k.replacedBy(fresh, target), target, fresh)
	}
	return list
}

// without summarises the labels of a target without some of them, and with new ones where too few are left.
func (k *sortedLabels) without(gone []float64, target int, fresh []Label) *plausible.Labels {
	labels := &k.values[target]
	labels.Remove(gone...)
	defer labels.Add(gone...)
	if labels.Len() >= max(plausible.Fewest, len(gone)) {
		return labels.Labels()
	}
	added := make([]float64, len(fresh))
	for i, l := range fresh {
		added[i] = float64(l.Values[target])
	}
	labels.Add(added...)
	defer labels.Remove(added...)
	return labels.Labels()
}

// replacedBy returns the labels of a target that corrections of rows replace.
func (k secondLook) replacedBy(corrections []Label, target int) (list []float64) {
	seen := map[int64]bool{}
	for _, l := range corrections {
		if !k.replaced[l.Row] || seen[l.Row] || math.IsNaN(float64(l.Values[target])) {
			continue
		}
		if v := k.s.labelOf(l.Row, target); !math.IsNaN(v) {
			list, seen[l.Row] = append(list, v), true
		}
	}
	return list
}

// sortedLabels are the labels of a state. The handle keeps them and exchanges those of rows that something has happened
// to since, so that telling one label takes hardly longer in a long campaign.
type sortedLabels struct {
	of     *State
	values []plausible.Sorted // of each target
}

// newSortedLabels returns those of a state before any label, with the targets and settings of another one.
func newSortedLabels(s *State) *sortedLabels {
	return &sortedLabels{&State{Created: s.Created, Settings: s.Settings},
		make([]plausible.Sorted, len(s.Created.Targets))}
}

// become makes the labels those of another state.
func (k *sortedLabels) become(s *State) {
	for row := range s.touched.unlike(k.of.touched) {
		for target := range k.values {
			if before, after := k.of.labelOf(row, target), s.labelOf(row, target); before != after {
				k.values[target].Remove(before)
				k.values[target].Add(after)
			}
		}
	}
	k.of = s
}

// labelOf returns the label of a row that counts, NaN if there is none.
func (s *State) labelOf(row int64, target int) float64 {
	if s.Status(row) != StatusLabelled {
		return math.NaN()
	}
	return s.Label(row)[target]
}

// valuesOf returns the labels of a target.
func (s *State) valuesOf(target int) []float64 {
	values := make([]float64, 0, s.settled.Labelled)
	for row := range s.touched.all() {
		if v := s.labelOf(row, target); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}
