package campaign

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/plausible"
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

// correctable reports whether a row has the measurement with a number, or any if that is 0.
func (s *State) correctable(row int64, number int) bool {
	return slices.ContainsFunc(s.Measurements(row), func(m Measurement) bool {
		return number == 0 ||
			m.Replicate == number
	})
}

func rowsIn(spans []span) (n int64) {
	for _, b := range spans {
		n += b.Rows
	}
	return n
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
