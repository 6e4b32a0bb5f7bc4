// Package plausible gives labels a second look when they arrive: it finds those that lie far outside what
// was expected, and names the slip that may have made them.
package plausible

// A label y of a row is compared with the interval from a to b that was predicted before it came, by
//
//	out(y) = max(a − y, y − b, 0) / (b − a),
//
// how many widths of the interval it lies outside of it, and with the labels so far (labels.go). It is doubtful if
//
//   - out(y) > far, and y lies outside the labels so far, too, or
//   - out(y) > far, and undoing a slip such as a factor of ten (slips.go) brings it much closer to the interval, or
//   - out(y) > near, and y lies beyond limits far outside the labels so far (fences), or
//   - out(y) > absurd.
//
// The labels so far count because errors have heavy tails: on some tables one true label in a hundred lies six widths
// outside, but among the other labels. Slips count because a label that is ten times too small lies among the others,
// too. The fences count because one wrong label that a model has learnt from may make all of its intervals too wide.
// Without a prediction they decide alone.
//
// Labels that spread over magnitudes have fences on a logarithmic scale (scale.go). Models predict on the plain one,
// and their errors have tails like those of the labels. So such a label is doubtful if
//
//   - out(y) is more than far, and more than what a label at the fence is outside of nine of ten labels (tail), or
//   - out(y) > near, and y lies beyond a fence that is further out, or
//   - y is much closer to zero than the other labels and the prediction: an interval on the plain scale says little
//     there.

import (
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/words"
)

// Expected is what was predicted for a label before it came: a value, and an interval that holds nine of ten labels.
type Expected struct{ Value, Low, High float64 }

// Doubt is why a label waits for a second look. The range is where a right label was expected: the interval that was
// predicted or, without one, where nine of ten labels so far lie.
type Doubt struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Prediction is nil where none was made before the label came.
	Prediction *float64 `json:"prediction,omitempty"`
	// Scale is the one on which the label is compared where that is not its own: logarithmic.
	Scale string `json:"scale,omitempty"`
	// Slip is what may have happened, as a question such as "one digit too many?"; empty where nothing fits.
	Slip string `json:"slip,omitempty"`
}

// Agrees reports whether a label of which only a limit is known, on the side -1 below it or 1 above it, is what it
// seems to be to a doubt about its value.
func (d *Doubt) Agrees(limit float64, side int8) bool {
	return side < 0 && d.Low < limit || side > 0 && d.High > limit
}

// Words says of a label why it is doubtful, such as "9,999,999; expected 58,000 to 83,000; two digits too many?". The
// side is that of a label of which only a limit is known, as in Agrees.
func (d *Doubt) Words(value float64, side int8) words.Text {
	low, high := words.Range(d.Low, d.High)
	text := words.Textf("%s%s; expected %s to %s", words.Sign(side), words.Num(words.Grouped(value)), words.Num(low),
		words.Num(high))
	if d.Scale != "" {
		text = words.Textf("%v on a %s scale", text, d.Scale)
	}
	if d.Slip != "" {
		text = words.Textf("%v; %v", text, slipText(d.Slip))
	}
	return text
}

const (
	near   = 0.5 // widths outside the interval that are enough beyond the fences
	far    = 2   // widths outside the interval that are enough outside the labels so far, or if a slip explains them
	absurd = 25  // widths that need no other reason
	closer = 5   // how many times closer to the interval a label is whose slip is undone
)

// Examine returns why a label should get a second look, or nil. What was expected is nil where nothing was predicted.
func (l *Labels) Examine(value float64, expected *Expected) *Doubt {
	if l.count < Fewest || l.constant() || math.IsNaN(value) {
		return nil
	}
	m := l.on(value)
	v := m.scale.of(value)
	if expected == nil {
		if m.within(v) {
			return nil
		}
		_, slip := m.middle().explain(value)
		return &Doubt{Low: l.plain.low, High: l.plain.high, Scale: m.scale.name(), Slip: slip}
	}
	out := l.plain.interval(expected).out(value)
	if m.scale.logarithmic() {
		if out > l.tail() || out > near && math.Abs(value) > m.scale.outer || m.tiny(value) && !m.tiny(expected.Value) {
			_, slip := m.interval(expected).explain(value)
			return expected.doubt(m.scale, slip)
		}
		return nil
	}
	if out <= near {
		return nil
	}
	explained, slip := m.interval(expected).explain(value)
	if out > absurd || out > far && (explained || !m.holds(v)) || !m.within(v) {
		return expected.doubt(m.scale, slip)
	}
	return nil
}

func (e *Expected) doubt(s scale, slip string) *Doubt {
	return &Doubt{Low: e.Low, High: e.High, Prediction: new(e.Value), Scale: s.name(), Slip: slip}
}

// Arrived is a label to be examined together with others.
type Arrived struct {
	Row      string // its name, for the words about labels that were swapped
	Value    float64
	Expected *Expected // nil where nothing was predicted
}

// ExamineAll examines labels that arrived together. It returns a doubt for each, or nil, and also finds two rows whose
// labels were swapped: each is far outside its interval, and close to the other's.
func (l *Labels) ExamineAll(list []Arrived) []*Doubt {
	doubts := make([]*Doubt, len(list))
	for i, a := range list {
		doubts[i] = l.Examine(a.Value, a.Expected)
	}
	l.findSwapped(list, doubts)
	return doubts
}

// Among examines labels that have been there before: each is compared with the others. Labels beyond the fences have
// misled the model that predicts the others, so that as long as there are any, they are the only ones in doubt.
func Among(list []Arrived) []*Doubt {
	values := make([]float64, len(list))
	for i, a := range list {
		values[i] = a.Value
	}
	all, doubts, some := Learn(values), make([]*Doubt, len(list)), false
	for i, v := range values {
		doubts[i] = all.Examine(v, nil)
		some = some || doubts[i] != nil
	}
	if some {
		return doubts
	}
	for i, a := range list {
		others := all
		if m := all.on(a.Value); m.ends(m.scale.of(a.Value)) { // only the ends of the range depend on single labels
			others = Learn(slices.Delete(slices.Clone(values), i, i+1))
		}
		doubts[i] = others.Examine(a.Value, a.Expected)
	}
	all.findSwapped(list, doubts)
	return doubts
}

// outside reports whether a label is far outside its interval, but may be that of another row.
func (l *Labels) outside(a Arrived) bool {
	if l.count < Fewest || l.constant() || a.Expected == nil {
		return false
	}
	m := l.on(a.Value)
	return l.out(a.Value, a.Expected) > far && m.within(m.scale.of(a.Value))
}

// findSwapped puts doubts about labels that were swapped into a list.
func (l *Labels) findSwapped(list []Arrived, doubts []*Doubt) {
	var some []int
	for i, a := range list {
		if l.outside(a) {
			some = append(some, i)
		}
	}
	for n, i := range some {
		for _, j := range some[:n] {
			if a, b := list[i], list[j]; l.fits(b.Value, a) && l.fits(a.Value, b) {
				doubts[i] = a.Expected.doubt(l.on(a.Value).scale, swappedWith(b.Row))
				doubts[j] = b.Expected.doubt(l.on(b.Value).scale, swappedWith(a.Row))
			}
		}
	}
}

func swappedWith(row string) string { return "swapped with row " + row + "?" }

// fits reports whether a value is much closer to what was expected of a label than the label itself.
func (l *Labels) fits(value float64, a Arrived) bool {
	return closer*l.out(value, a.Expected) <= l.out(a.Value, a.Expected)
}

// interval is where a label is expected, on a scale.
type interval struct {
	scale     scale
	low, high float64
}

// out is how many widths of the interval a value lies outside of it.
func (i interval) out(value float64) float64 {
	v := i.scale.of(value)
	return max(i.low-v, v-i.high, 0) / (i.high - i.low)
}
