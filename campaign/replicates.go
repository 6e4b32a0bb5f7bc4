package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/words"
)

// A row may be measured more than once: each pick several times at once, and labelled rows once more, to learn the
// noise. The measurements of a row are numbered from 1. An ask hands out measurements, each with a number that the row
// has not used, and a label that is told with that number answers it. A label that is told without one answers the
// first measurement of the row that is out, preferably with the person who tells it, or is a further one. Events of
// versions that knew no numbers mean the same: one measurement each.
//
// A row counts as labelled from its first label on, with the mean of what is there; the other measurements stay out
// until they are told, fail or are returned, or their lease ends.

// Handed is a measurement of a row that an ask handed out.
type Handed struct {
	AskEvent
	Pick *AskedRow // one of Rows
}

// Number returns the number of the measurement among those of its row.
func (r *AskedRow) Number() int { return max(1, r.Replicate) }

// ComparePlaces orders measurements as one reads plates, well by well along the rows. Those without wells are equal.
func ComparePlaces(a, b *AskedRow) int {
	return cmp.Or(cmp.Compare(a.Plate, b.Plate), plate.Compare(a.Well, b.Well))
}

// isOut reports whether the lease has not ended.
func (h Handed) isOut(now time.Time) bool { return h.LeaseEnd == nil || now.Before(*h.LeaseEnd) }

// Out returns the measurements of a row that are out, in the order of their numbers.
func (s *State) Out(row int64) []Handed { return s.touched.get(row).outAt(s.Now) }

// Handed returns all measurements that are out, in the order of rows.
func (s *State) Handed() (list []Handed) {
	for row := range s.out.all() {
		list = append(list, s.Out(row)...)
	}
	return list
}

// Replicated says of how many rows there are several labels, and what counts as theirs; it is empty if there are none.
func (s *State) Replicated() string {
	several, all := 0, 0
	for _, ref := range s.With(StatusLabelled) {
		if n := s.Measured(ref.Row); n > 1 {
			several, all = several+1, all+n
		}
	}
	of := "mean of these"
	if s.Settings.Latest {
		of = "latest of these"
	}
	if several == 0 {
		return ""
	}
	return fmt.Sprintf("%s several labels, %s in all; each counts as one row with the %s",
		words.Count(several, "row has", "rows have"), words.Whole(all), of)
}

// HasWells reports whether any ask had plates.
func (s *State) HasWells() bool {
	return slices.ContainsFunc(s.Asks, func(a AskEvent) bool { return a.Rows[0].Well != "" })
}

// outAt returns the measurements that are out at a time; none of a row that is retired or has failed.
func (r *rowState) outAt(now time.Time) (list []Handed) {
	if r == nil || r.retired || r.failed && len(r.measurements) == 0 {
		return nil
	}
	for _, h := range r.out {
		if h.isOut(now) {
			list = append(list, h)
		}
	}
	return list
}

// handed returns the place of a measurement in the list of those that were handed out; -1 if it is not there.
func (r *rowState) handed(number int) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(r.out, func(h Handed) bool { return h.Pick.Number() == number })
}

// handOut adds a measurement. Those of earlier asks whose lease has ended give way to a row that is open again.
func (r *rowState) handOut(h Handed) {
	r.out = slices.DeleteFunc(slices.Clone(r.out), func(other Handed) bool {
		return other.Pick.Number() == h.Pick.Number() || !h.Pick.Repeat && other.Ask != h.Ask
	})
	r.out = append(r.out, h)
	slices.SortStableFunc(r.out, func(a, b Handed) int { return cmp.Compare(a.Pick.Number(), b.Pick.Number()) })
	if len(r.measurements) == 0 && (r.asked == nil || r.asked.ask != h.Asked) {
		r.asked = &askedAs{h.Asked, h.Pick}
	}
}

// release removes a measurement from those that are out; number 0 means all.
func (r *rowState) release(number int) {
	r.out = slices.DeleteFunc(slices.Clone(r.out), func(h Handed) bool { return number == 0 || h.Pick.Number() == number })
}

// awaited returns the number of the first measurement that is out, preferably with a person; 0 if there is none.
func (r *rowState) awaited(person string) int {
	number := 0
	for _, h := range slices.Backward(r.out) {
		if h.Person == person {
			number = h.Pick.Number()
		}
	}
	if number == 0 && len(r.out) > 0 {
		number = r.out[0].Pick.Number()
	}
	return number
}

// take adds a measurement that was told with a number, or with none, which is 0.
func (r *rowState) take(m Measurement, number int) {
	if number == 0 {
		number = r.awaited(m.Person)
	}
	m.Replicate = number
	if number == 0 || r.has(number, m.Values) {
		m.Replicate = r.free(m.Values)
	}
	if at := r.handed(number); at >= 0 {
		m.Ask, m.Pick = r.out[at].Ask, r.out[at].Pick
		r.release(number)
	} else {
		m.Ask, m.Pick = r.askOf(m.Replicate)
	}
	r.measurements = append(r.measurements, m)
}

// correct replaces a measurement, or all of them if the number is 0, for the targets that the correction has a value
// for.
func (r *rowState) correct(m Measurement, number int) {
	at := len(r.measurements)
	if number > 0 {
		at = slices.IndexFunc(r.measurements, func(old Measurement) bool { return old.Replicate == number })
	}
	m.Ask, m.Pick = r.askOf(max(1, number))
	before := r.without(r.measurements[:at], m, number)
	r.measurements = slices.Concat(before, r.without(r.measurements[at:], m, number))
	if m.Replicate = number; number == 0 {
		m.Replicate = r.free(m.Values)
		before = r.measurements
	}
	r.measurements = slices.Insert(slices.Clip(r.measurements), len(before), m)
}

// without returns measurements without the values that a correction of one of them, or of all, replaces.
func (r *rowState) without(list []Measurement, correction Measurement, number int) (kept []Measurement) {
	for _, m := range list {
		if number > 0 && m.Replicate != number {
			kept = append(kept, m)
			continue
		}
		values, some := slices.Clone(m.Values), false
		for i, v := range correction.Values {
			if !math.IsNaN(v) {
				values[i] = math.NaN()
			}
			some = some || !math.IsNaN(values[i])
		}
		if m.Values = values; some {
			kept = append(kept, m)
		}
	}
	return kept
}

// askOf returns the ask that handed out a measurement that has been told, and its pick.
func (r *rowState) askOf(number int) (ask int64, pick *AskedRow) {
	for _, m := range r.measurements {
		if m.Replicate == number && m.Pick != nil {
			return m.Ask, m.Pick
		}
	}
	return 0, nil
}

// has reports whether a measurement has a value of a target of which there is another one.
func (r *rowState) has(number int, values []float64) bool {
	return slices.ContainsFunc(r.measurements, func(m Measurement) bool {
		if m.Replicate != number {
			return false
		}
		for target, v := range values {
			if !math.IsNaN(v) && !math.IsNaN(m.Values[target]) {
				return true
			}
		}
		return false
	})
}

// free returns the first number that no measurement with a value of the same target has.
func (r *rowState) free(values []float64) int {
	number := 1
	for r.has(number, values) {
		number++
	}
	return number
}

// nextNumbers returns numbers for further measurements of a row: the first ones that are neither told nor out.
func (s *State) nextNumbers(row int64, n int) (list []int) {
	taken := map[int]bool{}
	for _, m := range s.Measurements(row) {
		taken[m.Replicate] = true
	}
	for _, h := range s.Out(row) {
		taken[h.Pick.Number()] = true
	}
	for number := 1; len(list) < n; number++ {
		if !taken[number] {
			list = append(list, number)
		}
	}
	return list
}

// Measured returns how often a row was measured, also if the label still waits for a second look.
func (s *State) Measured(row int64) int {
	numbers := map[int]bool{}
	for _, m := range s.Measurements(row) {
		numbers[m.Replicate] = true
	}
	return len(numbers)
}

// ReplicateColumn is the column with the numbers of measurements in files of batches.
const ReplicateColumn = "replicate"

// replicateOf splits what names one of the measurements of a row, such as s017#2.
func replicateOf(text string) (id string, number int, ok bool) {
	at := strings.LastIndexByte(text, '#')
	if at < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(text[at+1:])
	return text[:at], number, err == nil && number >= 1 && strconv.Itoa(number) == text[at+1:]
}

// fewestRepeated is how many rows must have been measured twice or more for a noise that means something.
const fewestRepeated = 5

// Text says what the noise is; it is empty if no row was measured twice.
func (n Noise) Text() words.Text {
	switch {
	case n.Rows == 0:
		return words.Text{}
	case n.Rows < fewestRepeated:
		return words.Textf("too few rows to tell were measured twice or more: %d of at least %d", n.Rows, fewestRepeated)
	}
	return words.Textf("labels of the same row differ by a standard deviation of %s: %v measured twice or more",
		words.Num(words.Number(float64(n.Deviation))), words.Counted(n.Rows, "row", "rows"))
}
