package learner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network"
)

// Labels that are wrong by orders of magnitude would set the scale of all others, and pull the predictions of many
// rows. So a blend is fitted without them. First, a label that is far out, more than farOut ranges of the middle four
// fifths of the labels beyond these, counts as the farthest ordinary one, and all learners are cross-fitted. The size
// of an error is then compared with those at most other rows:
//
//	z_i = min_k |y_i - ŷ_ki|/q_k,   q_k the 90 % quantile of the sizes of the errors of candidate k.
//
// The labels with the largest z_i are left out if they are far out, their z_i is above absurdAt, and a gap separates
// them from the next one; at most one label in twenty is. Then all learners are cross-fitted again, with the others as
// they are. Skewed labels that the models expect, and heavy tails, which have no such gap, are kept. Errors alone do
// not suffice: on tables that are almost a function of the inputs, right labels may be off by ten q_k.
const (
	absurdAt   = 6.0
	gap        = 3.0
	fewestLeft = 20  // labels: with fewer, none is left out
	usualSize  = 0.9 // the quantile q_k
	mostLeft   = 20  // one label in so many may be left out
	farOut     = 3.0 // in ranges of the middle four fifths of the labels
)

// LeftOut is a label that a model has not learnt from, because it is far from what all other labels suggest.
type LeftOut struct {
	Row        int // of the sample
	Label      float64
	Prediction float64
	Usual      float64 // nine of ten labels are as close as this to what was predicted for them
}

// tamed clips outlying labels to the ordinary range, and returns t itself if there are none.
func (t *Task) tamed() *Task {
	labels, moved := t.Labels.Clone(), false
	for k := range t.Targets() {
		low, high := encode.OrdinaryLabels(column(t.Labels, k), farOut)
		for i := range labels.Rows {
			if y := labels.At(i, k); y < low || y > high {
				labels.Set(i, k, min(max(y, low), high))
				moved = true
			}
		}
	}
	if !moved {
		return t
	}
	tamed := *t
	tamed.Labels = labels
	return &tamed
}

// absurd returns the labels of a target to leave out, in the order of rows, given candidates that were cross-fitted.
func (t *Task) absurd(target int, crossed []*CrossFitted) []int {
	known, labels := encode.Labelled(t.Labels, target)
	if len(known) < fewestLeft {
		return nil
	}
	sizes := t.errorSizes(known, labels, t.sides(target), crossed)
	order := make([]int, len(known)) // the largest first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	low, high := encode.OrdinaryLabels(labels, farOut)
	ordinary := func(i int) bool { return labels[i] >= low && labels[i] <= high }
	for n := len(known) / mostLeft; n > 0; n-- {
		if last := sizes[order[n-1]]; last > absurdAt && last >= gap*sizes[order[n]] &&
			!slices.ContainsFunc(order[:n], ordinary) {
			left := pickRows(known, order[:n])
			slices.Sort(left)
			return left
		}
	}
	return nil
}

func pickRows(all, some []int) []int {
	list := make([]int, len(some))
	for i, at := range some {
		list[i] = all[at]
	}
	return list
}

// errorSizes returns z for the labels of some rows; 0 where nothing was predicted.
func (t *Task) errorSizes(rows []int, labels []float64, sides []int8, crossed []*CrossFitted) []float64 {
	sizes := make([]float64, len(rows))
	for i := range sizes {
		sizes[i] = math.Inf(1)
	}
	for _, c := range crossed {
		if c == nil || c.Left != "" {
			continue
		}
		off := make([]float64, len(rows)) // NaN where the row was not held out
		for i, row := range rows {
			off[i] = math.Abs(errorOf(c.Means[row], labels[i], row, sides))
		}
		usual := usualOf(off)
		for i, v := range off {
			if z := v / usual; z < sizes[i] {
				sizes[i] = z
			}
		}
	}
	for i, z := range sizes {
		if math.IsInf(z, 1) {
			sizes[i] = 0
		}
	}
	return sizes
}

// usualOf returns the 90 % quantile of numbers that are not NaN; NaN if there are none.
func usualOf(sizes []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(sizes), math.IsNaN)
	if len(sorted) == 0 {
		return math.NaN()
	}
	slices.Sort(sorted)
	return sorted[int(usualSize*float64(len(sorted)-1))]
}

// without returns the task without some labels of each target.
func (t *Task) without(left [][]int) *Task {
	rest := *t
	rest.Labels = t.Labels.Clone()
	for k, rows := range left {
		for _, row := range rows {
			rest.Labels.Set(row, k, math.NaN())
		}
	}
	return &rest
}

// addLeftOut records labels of a target that were left out, with predictions of the blend, which has not learnt from
// them, and adds their residuals to those of the other rows.
func (b *blend) addLeftOut(ctx context.Context, t *Task, target int, left []int, crossed []*CrossFitted) error {
	if len(left) == 0 {
		return nil
	}
	of := *b
	of.parts = slices.Clone(b.parts)
	for i, p := range of.parts {
		if g, elsewhere := p.predictor.(given); elsewhere {
			at := slices.IndexFunc(b.candidates, func(c Candidate) bool { return c.Name == p.name })
			g.rows = pick(crossed[at].Means, left)
			of.parts[i].predictor = g
		}
	}
	means, stds, err := of.predict(ctx, t.Rows.Select(left), true)
	if err != nil {
		return err
	}
	off := make([]float64, len(b.residuals))
	for i, r := range b.residuals {
		off[i] = math.Abs(r.Error)
	}
	usual := usualOf(off)
	for i, row := range left {
		y := t.Labels.At(row, target)
		b.leftOut = append(b.leftOut, LeftOut{row, y, means[i], usual})
		at, _ := slices.BinarySearchFunc(b.residuals, row, func(r network.Residual, row int) int { return r.Row - row })
		b.residuals = slices.Insert(b.residuals, at, network.Residual{Row: row, Error: means[i] - y})
		b.deviations = slices.Insert(b.deviations, at, stds[i])
	}
	return nil
}

// LeftOut returns the labels that the model has not learnt from. There are none for a model that was loaded, nor
// for a network alone.
func (m *Model) LeftOut() []LeftOut {
	if m.blended == nil {
		return nil
	}
	return slices.Clone(m.of().blend.leftOut)
}

// LeftOutNotes says which labels the model has not learnt from, and why. Name returns what the user calls a row of the
// sample. Aside, unless nil, returns what else is known of the label of a row, as a clause such as "which looks like a
// slip", or nothing.
func (m *Model) LeftOutNotes(name, aside func(row int) string) (notes []string) {
	for _, l := range m.LeftOut() {
		what := ""
		if len(m.blended.targets) > 1 {
			what = fmt.Sprintf(" (%s)", m.TargetName(m.target))
		}
		if aside != nil && aside(l.Row) != "" {
			what += ", " + aside(l.Row) + ","
		}
		//warning:left-out-label
		notes = append(notes,
			fmt.Sprintf("the label %s of row %s%s was left out of the fit: the other labels suggest about %s, and nine of ten "+
				"are within %s of what is predicted for them; correct it if it is wrong",
				words.Grouped(l.Label), name(l.Row), what, words.Number(l.Prediction), words.Number(l.Usual)))
	}
	return notes
}
