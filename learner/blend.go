package learner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// blend is the model of a target: the weighted mean of fitted candidates. The variance of its error
// at x is taken to be proportional to
//
//	Σ_k w_k·(s_k(x)² + (f_k(x) - f(x))²),
//
// where s_k is the deviation that candidate k predicts, times a factor that makes its mean square on
// held-out rows that of the errors there. A candidate that predicts none has the root mean square of
// its errors everywhere.
type blend struct {
	candidates []Candidate
	parts      []part // candidates that have a weight
	factor     float64
	rmse       float64 // out of fold
	weighed    bool    // weights and errors count rows for those of the pool that they stand for
	intervals  conformal.Intervals
	scores     []float64          // R_i of the intervals, in ascending order
	counts     []float64          // how many rows of the pool each R_i stands for
	residuals  []network.Residual // not saved, nor are the deviations predicted for them
	deviations []float64
	limits     dataset.Range // of the labels; not saved
	leftOut    []LeftOut     // not saved
}

// Candidate is what became of a learner.
type Candidate struct {
	Name   string   `json:"name"`
	Scale  string   `json:"scale,omitempty"` // on which it learns the labels, such as log; empty for their own
	Weight float64  `json:"weight"`
	Error  float64  `json:"error"`           // root mean square on held-out labelled rows; 0 if it was left out
	Left   string   `json:"left,omitempty"`  // why it was left out; empty if it was not
	Notes  []string `json:"notes,omitempty"` // as those of CrossFitted
}

// part is a candidate with a weight.
type part struct {
	name      string
	weight    float64
	factor    float64 // of its deviations
	constant  float64 // its deviation if it predicts none
	predictor Predictor
}

// blendOf blends candidates that were cross-fitted to a target. Names and what is to be said of the learners that
// were left out are in the candidates.
func blendOf(t *Task, target int, candidates []Candidate, crossed []*CrossFitted) (*blend, error) {
	b := &blend{candidates: candidates, weighed: t.Stand != nil, limits: t.Ranges.Of(target)}
	known, own := encode.Labelled(t.Labels, target)
	labels, sides := spread(own, known, t.Rows.Len()), t.sides(target)
	var in []int // candidates that take part
	for k, c := range crossed {
		if c == nil {
			continue
		}
		b.candidates[k].Notes, b.candidates[k].Scale = c.Notes, c.Scale
		if c.Left != "" {
			b.candidates[k].Left = c.Left
			continue
		}
		rows := intersection(t.heldRows(c), known)
		e := rootMeanSquare(errorsOf([]*CrossFitted{c}, rows, labels, sides).Data, t.stand(rows))
		switch {
		case len(rows) == 0:
			b.candidates[k].Left = "it held out no row with a label"
		case math.IsNaN(e) || math.IsInf(e, 0):
			b.candidates[k].Left = "its predictions are not finite"
		default:
			b.candidates[k].Error = e
			in = append(in, k)
		}
	}
	if len(in) == 0 {
		return nil, fmt.Errorf("no learner could learn from %s labels: %s", words.Whole(len(known)), reasons(b.candidates))
	}
	weights := t.weigh(in, crossed, target, known, labels, sides)
	if some := slices.DeleteFunc(slices.Clone(in), func(k int) bool { return weights[k] == 0 }); t.fewest(crossed,
		some) > t.fewest(crossed, in) {
		weights = t.weigh(some, crossed, target, known, labels, sides) // on more rows
	}
	b.compose(t, crossed, weights, known, labels, sides)
	return b, nil
}

// fewest returns the lowest number of folds that any of some candidates held out.
func (t *Task) fewest(crossed []*CrossFitted, some []int) int {
	n := len(t.Folds)
	for _, k := range some {
		n = min(n, crossed[k].folds(len(t.Folds)))
	}
	return n
}

// weigh returns the weight of each candidate, found on the rows that all of some predict.
func (t *Task) weigh(some []int, crossed []*CrossFitted, target int, known []int, labels []float64,
	sides []int8) []float64 {
	rows := intersection(t.firstFolds(t.fewest(crossed, some)), known)
	list := make([]*CrossFitted, len(some))
	for i, k := range some {
		list[i] = crossed[k]
	}
	weights := make([]float64, len(crossed))
	errors, counts := errorsOf(list, rows, labels, sides), t.counts(target, rows)
	found := blendWeights
	if len(known) <= fewToResample {
		found = t.resampledWeights
	}
	for i, w := range found(errors, counts) {
		weights[some[i]] = w
	}
	return weights
}

// heldRows returns the rows that a candidate predicts, in ascending order.
func (t *Task) heldRows(c *CrossFitted) []int { return t.firstFolds(c.folds(len(t.Folds))) }

// firstFolds returns the rows of the first n folds, in ascending order.
func (t *Task) firstFolds(n int) []int {
	rows := slices.Concat(t.Folds[:n]...)
	slices.Sort(rows)
	return rows
}

// compose makes the parts, and learns the intervals from the rows that all of them predict.
func (b *blend) compose(t *Task, crossed []*CrossFitted, weights []float64, known []int, labels []float64,
	sides []int8) {
	var used []int
	var held []*CrossFitted
	for k, w := range weights {
		if w == 0 {
			continue
		}
		c := crossed[k]
		b.candidates[k].Weight = w
		used, held = append(used, k), append(held, c)
		p := part{name: b.candidates[k].Name, weight: w, predictor: c.Predictor, constant: b.candidates[k].Error}
		if own := intersection(t.heldRows(c), known); c.Deviations != nil {
			if size := rootMeanSquare(pick(c.Deviations, own), t.stand(own)); size > 0 && !math.IsInf(size, 1) {
				p.factor, p.constant = b.candidates[k].Error/size, 0
			}
		}
		b.parts = append(b.parts, p)
	}
	folds := t.fewest(crossed, used)
	rows := intersection(t.firstFolds(folds), known)
	means, stds := b.mixed(len(rows), func(k int) (means, stds []float64) {
		if means = pick(held[k].Means, rows); held[k].Deviations != nil {
			stds = pick(held[k].Deviations, rows)
		}
		return means, stds
	})
	b.limits.Clip(means)
	errors := make([]float64, len(rows))
	for i, row := range rows {
		errors[i] = errorOf(means[i], labels[row], row, sides)
		b.residuals = append(b.residuals, network.Residual{Row: row, Error: errors[i]})
	}
	all, exact := stds, exactOf(rows, sides)
	rows, means, stds, errors = pick(rows, exact), pick(means, exact), pick(stds, exact), pick(errors, exact)
	known = pick(known, exactOf(known, sides))
	b.rmse, b.factor = rootMeanSquare(errors, t.stand(rows)), 1
	if size := rootMeanSquare(stds, t.stand(rows)); size > 0 {
		b.factor = b.rmse / size
	}
	for _, s := range all {
		b.deviations = append(b.deviations, s*b.factor)
	}
	for k, c := range crossed { // errors on the same rows can be compared
		if c != nil && b.candidates[k].Left == "" && c.folds(len(t.Folds)) >= folds {
			b.candidates[k].Error = rootMeanSquare(errorsOf([]*CrossFitted{c}, rows, labels, sides).Data, t.stand(rows))
		}
	}
	if random := t.countRandom(); random < fewestRandom || 2*random > len(known) || folds == len(t.Folds) ||
		!b.learnAllFolds(t, held, rows, known, means, stds, labels) {
		b.learnIntervals(t, t.Folds[:folds], rows, means, stds, labels)
	}
}

// exactOf returns the places of rows whose labels are no limits, which errors and intervals are of; all if these are
// few.
func exactOf(rows []int, sides []int8) []int {
	list := upTo(len(rows))
	if sides == nil {
		return list
	}
	if list = slices.DeleteFunc(list, func(i int) bool { return sides[rows[i]] != 0 }); len(list) < FewestLabels {
		return upTo(len(rows))
	}
	return list
}

// learnAllFolds learns the intervals from all folds, although networks did not hold out all, for labels of which random
// rows are the smaller part: those in the folds of networks would be few. Otherwise they are enough, and the errors of
// the blend itself. The parts that held out all rows predict the rows of the other folds, and their errors and
// deviations there are scaled as on the rows that all parts predict. It reports whether there are such parts.
func (b *blend) learnAllFolds(t *Task, held []*CrossFitted, rows, known []int, means, stds, labels []float64) bool {
	rest, total := &blend{}, 0.0
	var full []*CrossFitted
	for i, p := range b.parts {
		if held[i].folds(len(t.Folds)) == len(t.Folds) {
			rest.parts, full, total = append(rest.parts, p), append(full, held[i]), total+p.weight
		}
	}
	if len(full) == 0 {
		return false
	}
	for i := range rest.parts {
		rest.parts[i].weight /= total
	}
	theirs, spreads := rest.mixed(len(known), func(k int) (means, stds []float64) {
		if means = pick(full[k].Means, known); full[k].Deviations != nil {
			stds = pick(full[k].Deviations, known)
		}
		return means, stds
	})
	all, deviations := spread(theirs, known, t.Rows.Len()), spread(spreads, known, t.Rows.Len())
	off := func(means []float64) []float64 {
		errors := make([]float64, len(rows))
		for i, row := range rows {
			errors[i] = means[i] - labels[row]
		}
		return errors
	}
	errorScale, spreadScale := ratio(off(means), off(pick(all, rows))), ratio(stds, pick(deviations, rows))
	ours, widths := slices.Clone(all), slices.Clone(deviations)
	for _, row := range known {
		ours[row] = labels[row] + errorScale*(all[row]-labels[row])
		widths[row] *= spreadScale
	}
	for i, row := range rows {
		ours[row], widths[row] = means[i], stds[i]
	}
	b.learnIntervals(t, t.Folds, known, pick(ours, known), pick(widths, known), labels)
	b.intervals.Outside = len(known) - len(rows)
	return true
}

// ratio returns the root mean square of numbers over that of others; 1 where there is none.
func ratio(a, b []float64) float64 {
	if r := conformal.RootMeanSquare(a) / conformal.RootMeanSquare(b); r > 0 && !math.IsInf(r, 1) {
		return r
	}
	return 1
}

// learnIntervals learns from predictions for held-out rows.
func (b *blend) learnIntervals(t *Task, folds [][]int, rows []int, means, stds, labels []float64) {
	var held []conformal.Outcome
	for k, fold := range folds {
		in := intersection(fold, rows)
		at := make([]int, len(in))
		for i, row := range in {
			at[i], _ = slices.BinarySearch(rows, row)
		}
		held = append(held, conformal.Outcomes(pick(means, at), pick(stds, at), pick(labels, in), in, k)...)
	}
	counts, random := t.calibrating(rowsOf(held))
	for i := range held {
		if held[i].Weight = 1; counts != nil {
			held[i].Weight = counts[i]
		}
		if len(folds) == 1 { // the same models predict all rows, so any parts serve to compare intervals
			held[i].Fold = i % DefaultFolds
		}
	}
	b.intervals, b.scores, b.counts = conformal.LearnWeighted(held, len(folds), b.rmse)
	b.intervals.Random = random
}

func rowsOf(held []conformal.Outcome) []int {
	rows := make([]int, len(held))
	for i, o := range held {
		rows[i] = o.Row
	}
	return rows
}

// stand returns how many rows of the pool some rows stand for; nil means one each.
func (t *Task) stand(rows []int) []float64 {
	if t.Stand == nil {
		return nil
	}
	return pick(t.Stand, rows)
}

// rootMeanSquare is that of numbers that count as often as is given; nil means once each.
func rootMeanSquare(v, counts []float64) float64 {
	if counts == nil {
		return conformal.RootMeanSquare(v)
	}
	sum, all := 0.0, 0.0
	for i, x := range v {
		sum, all = sum+counts[i]*x*x, all+counts[i]
	}
	return math.Sqrt(sum / all)
}

// mixed returns the weighted mean of what the parts predict for n rows, and its deviation before the
// factor of the blend.
func (b *blend) mixed(n int, of func(part int) (means, stds []float64)) (means, stds []float64) {
	means, stds = make([]float64, n), make([]float64, n)
	each, deviations := make([][]float64, len(b.parts)), make([][]float64, len(b.parts))
	for k, p := range b.parts {
		each[k], deviations[k] = of(k)
		for i, v := range each[k] {
			means[i] += p.weight * v
		}
	}
	for k, p := range b.parts {
		for i, v := range each[k] {
			s, off := p.constant, v-means[i]
			if p.factor > 0 && deviations[k] != nil {
				s = p.factor * deviations[k][i]
			}
			stds[i] += p.weight * (s*s + off*off)
		}
	}
	for i, v := range stds {
		stds[i] = math.Sqrt(v)
	}
	return means, stds
}

// predict returns predictions, and their deviations if they are wanted.
func (b *blend) predict(ctx context.Context, rows Rows, deviations bool) (means, stds []float64, err error) {
	if !deviations {
		means = make([]float64, rows.Len())
		for _, p := range b.parts {
			one, _, err := p.predictor.Predict(ctx, rows, false)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", p.name, err)
			}
			for i, v := range one {
				means[i] += p.weight * v
			}
		}
		return means, nil, nil
	}
	each, devs := make([][]float64, len(b.parts)), make([][]float64, len(b.parts))
	for k, p := range b.parts {
		if each[k], devs[k], err = p.predictor.Predict(ctx, rows, true); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	means, stds = b.mixed(rows.Len(), func(k int) ([]float64, []float64) { return each[k], devs[k] })
	for i := range stds {
		stds[i] *= b.factor
	}
	return means, stds, nil
}

// title names the candidate, with the scale on which it has learnt.
func (c Candidate) title() string {
	if c.Scale == "" {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, c.Scale)
}

// reasons lists why candidates were left out.
func reasons(candidates []Candidate) string {
	var list []string
	for _, c := range candidates {
		if c.Left != "" {
			list = append(list, c.Name+": "+c.Left)
		}
	}
	return strings.Join(list, "; ")
}

func (b *blend) String() string { return ChoiceText(b.candidates, b.rmse).String() }

// ChoiceText says in a line what a blend of candidates is and why: the weights, and the errors of the candidates out of
// fold, with that of the blend.
func ChoiceText(candidates []Candidate, rmse float64) words.Text {
	var weights, errors []words.Text
	order := slices.Clone(candidates)
	slices.SortStableFunc(order, func(x, y Candidate) int {
		switch {
		case x.Weight > y.Weight:
			return -1
		case x.Weight < y.Weight:
			return 1
		}
		return 0
	})
	for _, c := range order {
		if c.Weight > 0 {
			weights = append(weights, words.Textf("%.2f %s", c.Weight, c.title()))
		}
		if c.Left == "" {
			errors = append(errors, words.Textf("%s %s", c.Name, words.Num(words.Number(c.Error))))
		}
	}
	text := words.Textf("%v (RMSE out of fold: %v", words.Joined(weights, ", "), words.Joined(errors, ", "))
	if len(weights) > 1 {
		text = words.Textf("%v, blend %s", text, words.Num(words.Number(rmse)))
	}
	if why := reasons(candidates); why != "" {
		text = words.Textf("%v; left out: %s", text, why)
	}
	return words.Textf("%v)", text)
}

// labelsOf returns labels, row by row, as a matrix.
func labelsOf(y []float64, targets int) matrix.Dense[float64] {
	return matrix.View(len(y)/targets, targets, y)
}
