package fitted

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/plausible"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/tables"
)

// DoubtfulLabel is a label that should get a second look, and why.
type DoubtfulLabel struct {
	ID     string `json:"id"`               // of its row
	Row    int    `json:"row"`              // of the table, from 0
	Target string `json:"target,omitempty"` // of several
	Value  Float  `json:"value"`
	plausible.Doubt
	LeftOut bool `json:"left_out,omitempty"` // the model was fitted without it
	Side    int8 `json:"-"`                  // of a label of which only a limit is known, as in dataset.Table.Side
}

// String names the row and says why its label is doubtful.
func (d DoubtfulLabel) String() string {
	text := d.ID + ": " + d.Words(float64(d.Value), d.Side).String()
	if d.Target != "" {
		text = d.Target + " of " + text
	}
	return text
}

// DoubtfulWarning is a line about labels that a table came with and that should get a second look, and what examines
// them; empty if there are none. Labels that were left out of the fit have a line of their own (leftOutNotes).
func DoubtfulWarning(list []DoubtfulLabel, audit string) string {
	list = slices.DeleteFunc(slices.Clone(list), func(d DoubtfulLabel) bool { return d.LeftOut })
	if len(list) == 0 {
		return ""
	}
	const most = 3
	var named []string
	for _, d := range list[:min(most, len(list))] {
		named = append(named, d.String())
	}
	if more := len(list) - most; more > 0 {
		named = append(named, words.Count(more, "other", "others"))
	}
	//warning:doubtful-labels
	return fmt.Sprintf(
		"%s like a slip (%s); correct or remove what is wrong; %s compares each of them with a prediction",
		words.Count(len(list), "label looks", "labels look"), strings.Join(named, " | "), audit)
}

// leftOutNotes says which labels of rows a model was fitted without, and what is doubtful about them. The function name
// returns the id of a row of the table.
func leftOutNotes(r *tables.Rows, m *learner.Model, doubtful []DoubtfulLabel,
	name func(row int) string) (notes []string) {
	for k, target := range r.Targets {
		aside := func(row int) string {
			for _, d := range doubtful {
				if d.Row == r.TrainRows[row] && (d.Target == "" || d.Target == target) {
					return d.aside()
				}
			}
			return ""
		}
		notes = append(notes, m.Target(k).LeftOutNotes(func(row int) string { return name(r.TrainRows[row]) }, aside)...)
	}
	return notes
}

// aside says in passing that the label is doubtful.
func (d DoubtfulLabel) aside() string {
	if d.Slip == "" {
		return "which looks like a slip"
	}
	return "which looks like a slip (" + d.Slip + ")"
}

// DoubtfulLabels examines the labels that rows came with. Each is compared with what the model predicted for it before
// it had learnt from it, where there is such a prediction, and with the other labels. The model was fitted to the rows,
// or loaded; without one (nil), and with one that was loaded, the labels alone decide. The function name returns the id
// of a row of the table.
func DoubtfulLabels(r *tables.Rows, m *learner.Model, name func(row int) string) (list []DoubtfulLabel) {
	for k, target := range r.Targets {
		if len(r.Targets) == 1 {
			target = ""
		}
		var held map[int]*plausible.Expected
		var left []learner.LeftOut
		if m != nil {
			left = m.Target(k).LeftOut()
			held = heldOut(m.Target(k), func(row int) float64 { return r.Labels.At(row, k) })
		}
		rows, labels := r.Labelled(k)
		known := make([]plausible.Arrived, len(rows))
		for i, row := range rows {
			known[i] = plausible.Arrived{Row: name(r.TrainRows[row]), Value: labels[i], Expected: held[row]}
		}
		for i, doubt := range plausible.Among(known) {
			if doubt != nil {
				leftOut := slices.ContainsFunc(left, func(l learner.LeftOut) bool { return l.Row == rows[i] })
				list = append(list, DoubtfulLabel{known[i].Row, r.TrainRows[rows[i]], target, Float(labels[i]), *doubt, leftOut, 0})
			}
		}
	}
	return list
}

// heldOut returns what a model expects of rows that were held out, with intervals like those for new rows.
func heldOut(m *learner.Model, label func(row int) float64) map[int]*plausible.Expected {
	residuals, deviations, intervals := m.Residuals(), m.HeldDeviations(), m.Intervals()
	stretch, scores := make([]float64, len(residuals)), make([]float64, len(residuals))
	for i, r := range residuals {
		stretch[i] = 1
		if deviations != nil && intervals.Adaptive() {
			stretch[i] = intervals.Stretch(deviations[i] / intervals.Typical)
		}
		scores[i] = math.Abs(r.Error) / stretch[i]
	}
	expected := map[int]*plausible.Expected{}
	radius, err := conformal.RadiusOf(scores, conformal.DefaultCoverage)
	if err != nil { // too few rows were held out
		return expected
	}
	for i, r := range residuals {
		value, half := label(r.Row)+r.Error, radius*stretch[i]
		three := []float64{value, value - half, value + half}
		m.Range().Clip(three)
		expected[r.Row] = &plausible.Expected{Value: three[0], Low: three[1], High: three[2]}
	}
	return expected
}
