package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/plausible"
)

// A number that is far from what was expected when it was told waits for a second look: it is in the log, but nothing
// learns from it and no estimate uses it until somebody confirms or corrects it. It is compared with the prediction that
// the last ask of its row recorded and with the labels so far (package plausible), and the doubt is part of the event.
// Targets are independent: of a row with two numbers, one may wait while the other counts. So are measurements: where
// one of several waits, the label of the row follows from the others.
//
// A row of which only numbers that wait are known is neither open nor labelled: it is not asked for again, and counts as
// pending when a batch is picked.

// Waiting is a number that waits for a second look.
type Waiting struct {
	RowRef
	Target string          `json:"target"`
	Value  nextbatch.Float `json:"value"`
	Event  int64           `json:"event" doc:"that told it"`
	Since  time.Time       `json:"since" doc:"when it was told"`
	Person string          `json:"person,omitempty" doc:"who told it"`
	Doubt  plausible.Doubt `json:"doubt" doc:"why it waits"`
	Why    string          `json:"why" doc:"the same in words, such as: 9,999,999; expected 58,000 to 83,000; two digits too many?"`

	Replicate int `json:"replicate,omitempty" doc:"which measurement of the row it is; absent where the label did not say"`
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
			list = append(list, Waiting{of, targets[target], nextbatch.Float(value), m.Seq, m.Time, m.Person, *doubt, doubt.Words(value), m.Replicate})
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
	m := Measurement{Seq: e.Seq, Time: e.Time, Person: e.Person, Values: make([]float64, len(l.Values)), Doubts: l.Doubts, Replicate: l.Replicate}
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

// stillWaiting returns the numbers among labels that their rows have already, and that wait.
func (s *State) stillWaiting(labels []Label) (list []Waiting) {
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

// amongst reports whether one of the labels is the number.
func (w *Waiting) amongst(labels []Label, targets []string) bool {
	target := slices.Index(targets, w.Target)
	return slices.ContainsFunc(labels, func(l Label) bool { return l.Row == w.Row && l.Values[target] == w.Value })
}

// confirm makes all that waits of rows count.
func (s *State) confirm(l *RowList) error {
	s.learnt = len(s.spans)
	for _, ref := range l.Rows {
		if !s.waits(ref.Row) {
			return fmt.Errorf("row %q has no label that waits for a second look", ref.ID)
		}
		s.update(ref, (*rowState).confirm)
	}
	return nil
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
	all.by = &edit{}
	for _, w := range waiting {
		all.update(w.RowRef, (*rowState).confirm)
	}
	all.by = nil
	return &all
}

// measured counts the rows with a label, also those whose labels wait.
func (c Counts) measured() int64 { return c.Labelled + c.Waiting }

// knownLabels is a summary of the labels so far.
type knownLabels struct {
	labelled int64               // rows
	counts   []int               // labels of each target
	targets  []*plausible.Labels // their summaries
}

// look gives labels a second look as they arrive, and puts its doubts into them.
func (c *Campaign) look(s *State, labels []Label) {
	for target, known := range c.labelsSoFar(s, labels) {
		arrived := make([]plausible.Arrived, len(labels))
		for i, l := range labels {
			arrived[i] = plausible.Arrived{Row: l.ID, Value: float64(l.Values[target]), Expected: s.expected(l.Row, target)}
		}
		for i, doubt := range known.ExamineAll(arrived) {
			labels[i].doubt(target, doubt)
		}
	}
}

// doubt makes the number of a target wait, unless there is no doubt.
func (l *Label) doubt(target int, d *plausible.Doubt) {
	if d == nil {
		return
	}
	if l.Doubts == nil {
		l.Doubts = make([]*plausible.Doubt, len(l.Values))
	}
	l.Doubts[target] = d
}

// expected returns what the last ask of a row predicted, nil if there was no prediction with an interval.
func (s *State) expected(row int64, target int) *plausible.Expected {
	r := s.touched.get(row)
	if r == nil || r.asked == nil || target >= len(r.asked.row.Predictions) {
		return nil
	}
	p := r.asked.row.Predictions[target]
	if p.Low == nil || p.High == nil {
		return nil
	}
	return &plausible.Expected{Value: float64(p.Value), Low: float64(*p.Low), High: float64(*p.High)}
}

// labelsSoFar summarises the labels of each target that new ones are compared with. As long as there are too few, the
// new ones count as well: one that is wrong is still far from the others.
func (c *Campaign) labelsSoFar(s *State, fresh []Label) []*plausible.Labels {
	known := c.summary(s)
	list := slices.Clone(known.targets)
	for target, n := range known.counts {
		if n >= plausible.Fewest {
			continue
		}
		values := s.valuesOf(target)
		for _, l := range fresh {
			values = append(values, float64(l.Values[target]))
		}
		list[target] = plausible.Learn(values)
	}
	return list
}

// summary returns a summary of the labels. The handle keeps it until the number of labelled rows has changed by a tenth,
// so that telling one label does not take longer in a long campaign.
func (c *Campaign) summary(s *State) *knownLabels {
	c.knownMu.Lock()
	defer c.knownMu.Unlock()
	labelled := s.settled.Labelled
	if k := c.known; k != nil && 10*max(labelled-k.labelled, k.labelled-labelled) <= labelled {
		return k
	}
	c.known = &knownLabels{labelled: labelled}
	for target := range s.Created.Targets {
		values := s.valuesOf(target)
		c.known.counts = append(c.known.counts, len(values))
		c.known.targets = append(c.known.targets, plausible.Learn(values))
	}
	return c.known
}

// valuesOf returns the labels of a target.
func (s *State) valuesOf(target int) []float64 {
	values := make([]float64, 0, s.settled.Labelled)
	for row, r := range s.touched.all() {
		if r.status(s.Now) != StatusLabelled {
			continue
		}
		if v := s.Label(row)[target]; !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values
}
