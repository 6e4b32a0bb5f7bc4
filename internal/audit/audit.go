// Package audit finds labels that look wrong: those that disagree most with what
// models predict that have not seen them.
package audit

// Each labelled row is predicted by models that were fitted to other folds of the
// rows: ŷ_i, with the predicted standard deviation s_i, both means over the repeats.
// Large errors are expected where the model is uncertain, so a row is scored by
//
//	r_i = |y_i − ŷ_i|/g_i,   g_i = (s_i/s + β)/(1 + β),   β = 0.3,
//
// s the root mean square of the s_i. Wrong labels also mislead the models that judge
// their neighbours. So rows whose label is more likely wrong than not are left out of
// the training, and all rows are predicted again.
//
// A network alone is trained once for each fold. A blend (package learner) cross-fits its candidates anyway: its
// predictions for held-out rows are those that are compared, and the rows that were left out are predicted by
// the blend of all others. Each pass chooses among all candidates in its first repeat, and keeps to those that
// got a weight in the others.
//
// The errors of right labels are taken to follow Student's distribution. Its degrees
// of freedom ν and its scale are those for which the median and the 90 % quantile of |t|
// are those of the r_i; errors in up to a tenth of the labels move these little. ν is at
// most 5: the labels of a table say little about the far tail, and with an assumed tail
// that is too light, right labels look wrong. With
// p_i = P(|t| > r_i) and the rows in descending order of r_i, number k of n has the
// p-value (Šidák, step-down; Holland and Copenhaver 1987)
//
//	max over j ≤ k of 1 − (1 − p_j)^(n−j+1):
//
// the probability that, if the labels from k on are all right, one of them looks this
// wrong. It takes into account how many labels were examined.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/stats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Options determine how labels are audited. The zero value has defaults.
type Options struct {
	Learner learner.Kind    // the zero value means a network alone
	Network network.Options // how the networks are trained
	Folds   int             // 0 means DefaultFolds for a network alone, and learner.DefaultFolds for a blend
	Repeats int             // of the division into folds; 0 means DefaultRepeats

	// Progress, unless nil, is called after each network alone or blend, with how many there will
	// be; it takes the place of Network.Progress.
	Progress func(done, of int)
	// Fitting, unless nil, is called before each model of a blend is fitted, with the numbers of Progress so far,
	// and what learner.Options.Shown is called with.
	Fitting func(done, of int, learner string, fold, folds int)
}

// What options mean that are not set.
const (
	DefaultFolds   = 10 // of a network alone
	DefaultRepeats = 2
)

const (
	passes    = 2  // the second leaves out labels that look wrong
	leastRows = 20 // fewer say nothing about the tail of the errors
	leftOutAt = 0.5
	floor     = 0.3 // β: the least g_i is about a quarter
)

// Finding is what the audit found out about one label.
type Finding struct {
	Row        int     `json:"row"` // of the sample, from 0
	Target     int     `json:"target"`
	Label      float64 `json:"label"`
	Prediction float64 `json:"prediction"`
	Low        float64 `json:"low"` // interval that a right label is in with a probability of 95 %
	High       float64 `json:"high"`
	Score      float64 `json:"score"` // r_i over the median of all
	P          float64 `json:"p"`     // p-value, corrected for the number of labels examined

	// Far means that the label lies far outside of its interval, whatever its p-value: among few labels, it may be
	// wrong although nobody can be sure.
	Far bool `json:"far,omitempty"`
}

// Report is all findings of a target, the label that disagrees most first.
type Report struct {
	Labels   int       `json:"labels"`  // that were examined
	Freedom  float64   `json:"freedom"` // ν
	LeftOut  int       `json:"left_out"`
	RMSE     float64   `json:"rmse"` // of the predictions, on all labels, in their units
	Findings []Finding `json:"findings"`

	// Learner says which candidates a blend chose in the last pass, and why (learner.ChoiceText), and Candidates the
	// same as numbers. Notes are what went wrong with its networks. All are empty for a network alone.
	Learner    words.Text          `json:"learner,omitzero"`
	Candidates []learner.Candidate `json:"candidates,omitempty"`
	Notes      []string            `json:"notes,omitempty"`

	// TrainingNote explains why the CPU trained the networks, and not the device of the context;
	// it is empty without a device.
	TrainingNote string `json:"training_note,omitempty"`
}

// Suspects returns the findings whose p-value is at most the given one.
func (r *Report) Suspects(p float64) []Finding {
	n := 0
	for n < len(r.Findings) && r.Findings[n].P <= p {
		n++
	}
	return r.Findings[:n]
}

// ShownP is the largest p-value that people should see: larger ones would look as if they meant that a label is right.
const ShownP = 0.1

// Answer says how many labels look wrong: those whose p-value is at most the given one. It also counts labels that lie
// far outside of their intervals, and names pairs of these that look swapped. The function name returns what a row of
// the sample is called.
func (r *Report) Answer(level float64, name func(row int) string) words.Text {
	n := len(r.Suspects(level))
	return words.Joined(append([]words.Text{r.wrong(n, level)}, r.swappedPairs(n, name)...), " ")
}

func (r *Report) wrong(n int, level float64) words.Text {
	far, of := r.doubtful(n)-n, words.Num(words.Whole(r.Labels))
	switch worst := r.Findings[0].P; {
	case n == 0 && far > 0 && r.Labels >= enoughLabels:
		return words.Textf("No label of %s looks wrong; %v far outside, as a few right ones of so many may.",
			of, words.Counted(far, "lies", "lie"))
	case n == 0 && far == 1:
		return words.Textf("1 label of %s lies far outside; too few labels to be sure.", of)
	case n == 0 && far > 0:
		return words.Textf("%s labels of %s lie far outside; too few labels to be sure.", words.Num(words.Whole(far)), of)
	case n == 0 && worst <= ShownP:
		return words.Textf("No label of %s looks wrong; the worst has a p-value of %.2g.", of, worst)
	case n == 0:
		return words.Textf("No label of %s looks wrong.", of)
	}
	text := words.Textf("%s labels of %s look wrong, with p-values of at most %v.", words.Num(words.Whole(n)), of, level)
	if n == 1 {
		text = words.Textf("1 label of %s looks wrong, with a p-value of at most %v.", of, level)
	}
	if far > 0 && r.Labels < enoughLabels {
		text = words.Textf("%v %v far outside; too few labels to be sure.", text,
			words.Counted(far, "more lies", "more lie"))
	}
	return text
}

// enoughLabels are so many that some right ones lie far outside of their intervals.
const enoughLabels = 200

// doubtful counts the labels that look wrong or lie far outside of their intervals: the first findings.
func (r *Report) doubtful(wrong int) int {
	n := wrong
	for n < len(r.Findings) && r.Findings[n].Far {
		n++
	}
	return n
}

// swappedPairs names pairs of labels in doubt that would each lie in the interval of the other.
func (r *Report) swappedPairs(wrong int, name func(row int) string) (texts []words.Text) {
	list := r.Findings[:r.doubtful(wrong)]
	for k, f := range list {
		for _, g := range list[:k] {
			if f.holds(g.Label) && g.holds(f.Label) {
				texts = append(texts, words.Textf("The labels of %s and %s look swapped.", name(g.Row), name(f.Row)))
			}
		}
	}
	return texts
}

func (f *Finding) holds(label float64) bool { return f.Low <= label && label <= f.High }

// Labels audits the labels of a sample and returns a report for each target. The
// sample has no validation rows of its own. If networks alone diverged, it returns both
// reports and an error that wraps the first *network.DivergedError.
func Labels(ctx context.Context, s network.Sample, o Options) ([]*Report, error) {
	s.Targets = max(s.Targets, 1)
	if err := check(s, &o); err != nil {
		return nil, err
	}
	a := &auditor{sample: s, options: o, out: make([]bool, s.X.Rows)}
	var reports []*Report
	for a.pass = range passes {
		var err error
		if reports, err = a.judge(ctx); err != nil {
			return nil, err
		}
		if a.pass < passes-1 {
			a.leaveOut(reports)
		}
	}
	if a.diverged > 0 {
		//warning:diverged
		return reports, fmt.Errorf("%d of %d networks diverged, so their predictions may be poor; the first: %w",
			a.diverged, a.done, a.first)
	}
	return reports, nil
}

func check(s network.Sample, o *Options) error {
	usual := DefaultFolds
	if o.Learner.Blends() {
		usual = learner.DefaultFolds
	}
	o.Folds, o.Repeats = cmp.Or(o.Folds, usual), cmp.Or(o.Repeats, DefaultRepeats)
	switch {
	case s.ValidX.Rows > 0:
		return errors.New("audit: the sample has validation rows; give all rows as training rows")
	case len(s.Y) != s.X.Rows*s.Targets:
		return fmt.Errorf("audit: there are %d rows and %d labels", s.X.Rows, len(s.Y))
	case o.Folds < 2 || o.Repeats < 1:
		return fmt.Errorf("audit: %d folds and %d repeats; at least 2 and 1 are needed", o.Folds, o.Repeats)
	case s.X.Rows < max(leastRows, 2*o.Folds):
		return fmt.Errorf("audit: %d labelled rows are too few to tell a wrong label from an unusual one: it takes %d",
			s.X.Rows, max(leastRows, 2*o.Folds))
	}
	return nil
}

// auditor holds an audit in progress.
type auditor struct {
	sample  network.Sample
	options Options
	pass    int
	out     []bool // rows whose labels are left out of the training
	left    int
	done    int // networks or blends fitted

	diverged int   // of them
	first    error // that of the first of these
	note     string

	chosen []*learner.Model // of each target, by the first blend of the pass
}

// predictions are for all rows (across) and targets (down): means over the repeats.
type predictions struct{ means, deviations matrix.Dense[float64] }

// judge predicts all rows by models that have not seen them and compares.
func (a *auditor) judge(ctx context.Context) ([]*Report, error) {
	s := a.sample
	p := predictions{matrix.New[float64](s.Targets, s.X.Rows), matrix.New[float64](s.Targets, s.X.Rows)}
	predict := a.predictByNetworks
	if a.options.Learner.Blends() {
		predict, a.chosen = a.predictByBlend, nil
	}
	for repeat := range a.options.Repeats {
		if err := predict(ctx, repeat, p); err != nil {
			return nil, err
		}
	}
	reports := make([]*Report, s.Targets)
	for k := range reports {
		reports[k] = a.report(k, p.means.Row(k), p.deviations.Row(k))
	}
	return reports, nil
}

// predictByNetworks adds the predictions of a network alone for each fold.
func (a *auditor) predictByNetworks(ctx context.Context, repeat int, p predictions) error {
	n := a.sample.X.Rows
	order := rng.New(a.options.Network.Config.Seed, "audit folds", uint64(repeat)).Perm(n)
	for fold := range a.options.Folds {
		if err := a.predictFold(ctx, order, fold*n/a.options.Folds, (fold+1)*n/a.options.Folds, p); err != nil {
			return err
		}
	}
	return nil
}

// predictFold adds the predictions for one fold, order[from:to].
func (a *auditor) predictFold(ctx context.Context, order []int, from, to int, p predictions) error {
	inside := slices.Clone(order[from:to])
	outside := slices.DeleteFunc(slices.Concat(order[:from], order[to:]), func(row int) bool { return a.out[row] })
	sort.Ints(outside)
	s := a.sample
	s.X, s.Y = a.sample.X.SelectRows(outside), a.labels(outside)
	s.Sides, s.Noise = a.sides(outside), a.noise(outside)
	o := a.options.Network
	o.Progress = nil
	m, err := network.Fit(ctx, s, o) // not fitted.Learn: Labels returns the typed error of a network that diverged
	if m == nil {
		return err
	}
	if err != nil { // it diverged, and the parameters of an earlier epoch predict
		a.diverged++
		a.first = cmp.Or(a.first, err)
	}
	x := a.sample.X.SelectRows(inside)
	for k := range s.Targets {
		u, err := m.Target(k).PredictStd(ctx, x)
		if err != nil {
			return err
		}
		for i, row := range inside {
			a.add(p, k, row, u.Mean[i], u.Std[i])
		}
	}
	a.fitted(m.TrainingNote())
	return nil
}

// add adds the prediction of one repeat for a row.
func (a *auditor) add(p predictions, target, row int, mean, deviation float64) {
	p.means.Row(target)[row] += mean / float64(a.options.Repeats)
	p.deviations.Row(target)[row] += deviation / float64(a.options.Repeats)
}

// fitted counts a network or blend that was fitted.
func (a *auditor) fitted(note string) {
	a.note = note
	a.done++
	if a.options.Progress != nil {
		a.options.Progress(a.done, a.of())
	}
}

// of returns how many networks or blends there will be.
func (a *auditor) of() int {
	if a.options.Learner.Blends() {
		return passes * a.options.Repeats
	}
	return passes * a.options.Repeats * a.options.Folds
}

// Forecast returns about how many seconds an audit takes, measured on a few rows: least if a blend gives up its
// networks after their first fold in each pass, and most if they get a weight. Both are 0 if that is not known.
func Forecast(ctx context.Context, s network.Sample, o Options) (least, most float64, err error) {
	s.Targets = max(s.Targets, 1)
	if check(s, &o) != nil {
		return 0, 0, nil // Labels says what is wrong
	}
	pace, err := learner.Measure(ctx, s, learner.Options{Kind: o.Learner, Network: o.Network})
	if pace == nil {
		return 0, 0, err
	}
	least, most = o.forecast(s.X.Rows, pace.Seconds)
	return least, most, nil
}

// forecast adds up the fits of an audit, each of which takes some seconds.
func (o Options) forecast(rows int, fit func(labels, networkFolds int) float64) (least, most float64) {
	fits := float64((&auditor{options: o}).of())
	if !o.Learner.Blends() {
		one := fits * fit(rows-rows/o.Folds, 1)
		return one, one
	}
	return passes*fit(rows, 1) + (fits-passes)*fit(rows, 0), fits * fit(rows, o.Folds)
}

func (a *auditor) labels(rows []int) []float64 {
	return matrix.View(a.sample.X.Rows, a.sample.Targets, a.sample.Y).SelectRows(rows).Data
}

// sides returns those of the labels of some rows; nil if all labels are the true ones.
func (a *auditor) sides(rows []int) (list []int8) {
	for _, row := range rows {
		if a.sample.Sides != nil {
			list = append(list, a.sample.Sides[row*a.sample.Targets:][:a.sample.Targets]...)
		}
	}
	return list
}

// noise returns the known variances of the labels of some rows; nil if none are known.
func (a *auditor) noise(rows []int) []float64 {
	if a.sample.Noise == nil {
		return nil
	}
	return matrix.View(a.sample.X.Rows, a.sample.Targets, a.sample.Noise).SelectRows(rows).Data
}

// leaveOut leaves out of the next pass the labels that are more likely wrong than not.
func (a *auditor) leaveOut(reports []*Report) {
	for _, r := range reports {
		for _, f := range r.Suspects(leftOutAt) {
			if !a.out[f.Row] && 2*(a.left+1) < a.sample.X.Rows {
				a.out[f.Row], a.left = true, a.left+1
			}
		}
	}
}

// report compares the labels of a target with the predictions.
func (a *auditor) report(target int, means, deviations []float64) *Report {
	growth := growths(deviations)
	r := &Report{LeftOut: a.left, TrainingNote: a.note}
	if a.chosen != nil {
		m := a.chosen[target]
		r.Candidates, r.Notes = m.Candidates(), m.Notes()
		r.Learner = learner.ChoiceText(r.Candidates, m.Provenance().ValidRMSE[0])
	}
	var scores []float64
	squares := 0.0
	for row, prediction := range means {
		y := a.sample.Y[row*a.sample.Targets+target]
		if math.IsNaN(y) {
			continue
		}
		f := Finding{Row: row, Target: target, Label: y, Prediction: prediction, Score: math.Abs(y-prediction) / growth[row]}
		scores = append(scores, f.Score)
		squares += (y - prediction) * (y - prediction)
		r.Findings = append(r.Findings, f)
	}
	r.Labels = len(scores)
	r.RMSE = math.Sqrt(squares / float64(len(scores)))
	slices.SortFunc(r.Findings, func(x, y Finding) int {
		if x.Score != y.Score {
			return map[bool]int{true: -1, false: 1}[x.Score > y.Score]
		}
		return x.Row - y.Row
	})
	slices.Sort(scores)
	tail := fitTail(scores)
	r.Freedom = tail.Nu
	r.judgeEach(tail, growth, quantile(scores, 0.5))
	r.keepTo(a.sample.Ranges.Of(target))
	return r
}

// A label lies far outside if it is farOut times as far from its prediction as the end of the interval, and if its
// p-value were at most farAt with the lightest tail: that of few labels is often estimated to be so heavy that none has
// a small one.
const farOut, farAt = 2, 0.25

// judgeEach fills in p-values and intervals.
func (r *Report) judgeEach(tail stats.StudentsT, growth []float64, median float64) {
	light := stats.StudentsT{Sigma: 1, Nu: mostFreedom}
	light.Sigma = max(median/light.Quantile(0.75), math.SmallestNonzeroFloat64)
	half, highest, lightest := tail.Quantile(0.975), 0.0, 0.0
	for k := range r.Findings {
		f := &r.Findings[k]
		highest, lightest = max(highest, r.corrected(tail, k)), max(lightest, r.corrected(light, k))
		f.P, f.Far = highest, f.Score > farOut*half && lightest <= farAt
		f.Low, f.High = f.Prediction-half*growth[f.Row], f.Prediction+half*growth[f.Row]
		if median > 0 {
			f.Score /= median
		}
	}
}

// corrected returns the probability that, if the labels from finding k on are all right, one of them has a score like
// that.
func (r *Report) corrected(tail stats.StudentsT, k int) float64 {
	one := 2 * tail.Survival(r.Findings[k].Score)
	return -math.Expm1(float64(r.Labels-k) * math.Log1p(-one))
}

// keepTo keeps predictions and intervals to a range.
func (r *Report) keepTo(declared dataset.Range) {
	for k := range r.Findings {
		f := &r.Findings[k]
		three := []float64{f.Prediction, f.Low, f.High}
		declared.Clip(three)
		f.Prediction, f.Low, f.High = three[0], three[1], three[2]
	}
}

// growths returns the g_i.
func growths(deviations []float64) []float64 {
	sum := 0.0
	for _, s := range deviations {
		sum += s * s / float64(len(deviations))
	}
	typical, g := math.Sqrt(sum), make([]float64, len(deviations))
	for i, s := range deviations {
		g[i] = 1
		if typical > 0 {
			g[i] = (s/typical + floor) / (1 + floor)
		}
	}
	return g
}

// fitTail returns the distribution of the errors of right labels, from sorted scores.
func fitTail(scores []float64) stats.StudentsT {
	middle, far := quantile(scores, 0.5), quantile(scores, 0.9)
	ratio := func(nu float64) float64 {
		t := stats.StudentsT{Sigma: 1, Nu: nu}
		return t.Quantile(0.95) / t.Quantile(0.75)
	}
	low, high := math.Log(leastFreedom), math.Log(mostFreedom)
	for range 60 { // the ratio falls with ν
		if nu := (low + high) / 2; ratio(math.Exp(nu))*middle > far {
			low = nu
		} else {
			high = nu
		}
	}
	t := stats.StudentsT{Sigma: 1, Nu: math.Exp(high)}
	t.Sigma = max(middle/t.Quantile(0.75), math.SmallestNonzeroFloat64)
	return t
}

// Bounds of ν: with 1.5 the tails are almost those of Cauchy's distribution.
const leastFreedom, mostFreedom = 1.5, 5

func quantile(sorted []float64, q float64) float64 {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
