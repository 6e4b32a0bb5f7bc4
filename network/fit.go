package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Options determine how Fit trains. The zero value trains the paper's network.
type Options struct {
	Config  Config
	Members int // of the ensemble, whose mean is the prediction; 0 means 1

	// Holdout is the share of the rows that Fit holds out for validation. Nil
	// means 0.2, but at most 1024 rows; zero holds none out, and then the last
	// epoch is kept, the standard deviations are not calibrated and there are no
	// intervals. Validation rows in the sample replace it.
	Holdout *float64

	// Folds is how many parts the rows are divided into for cross-fitting, after
	// which the intervals are based on all rows instead of the validation rows: so
	// many more trainings, worth their time where labels are few. 0 means none.
	Folds int

	// Scaling, unless nil, scales the inputs, instead of one that is learnt from the rows: networks that
	// see different rows then take the same inputs.
	Scaling *encode.Scaler

	Noise float64 // σ² of the last-layer posterior, for labels of variance 1; 0 means 1e-6

	Trainer  Trainer     // nil means OnDevice
	Progress func(Epoch) // called after each epoch, unless nil

	// Source, Columns and Targets are a record for saved models: where the rows come
	// from, how a table became the rows (nil where there was no table), and the names of
	// the targets (nil where they have none). None of them changes what is learnt.
	Source  string
	Columns *encode.Encoder
	Targets []string
	// Centres, where there was no table, are what was subtracted from the raw numbers of each
	// input in float64, before they were rounded to the rows of the sample (dataset.Centre); nil
	// means nothing. Columns have their own. They are a record, too, for Model.Rows.
	Centres []float64
}

// Sample is the rows that a model is fitted to: raw numbers, or such less the centres of the
// options. Fit only reads them and keeps none.
type Sample struct {
	X matrix.Dense[Real]
	Y []float64 // the label of each row of X

	// Targets is the number of targets that the model predicts; 0 means 1. With several,
	// Y holds that many labels for each row, row by row, and NaN is a missing label:
	// the row is used for the targets whose labels it has.
	Targets int

	// ValidX and ValidY are the caller's own validation rows. If there are any, Fit
	// holds out no rows of X.
	ValidX matrix.Dense[Real]
	ValidY []float64 // as Y

	// Unlabelled are rows without a label, such as candidates. The scaling of the
	// inputs is learnt from them, too; without them, a column that does not vary
	// among the labelled rows is lost.
	Unlabelled matrix.Dense[Real]

	// Random says which rows of X were drawn from the pool at random, and not picked; nil means that this is
	// unknown. Blends make their intervals by it (package learner).
	Random []bool

	// Sides say of which labels only a limit is known, in the order of Y: -1 where the true one lies below, 1 where it
	// lies above, 0 where the label is the true one. Nil means that all are. A Gaussian process learns from limits.
	Sides []int8

	// Noise are known variances of the labels' noise, in the order of Y; 0 where a label is missing. Nil means that
	// none is known. Noisy labels count less.
	Noise []float64

	// Ranges are what the labels of the targets can be, as declared. A blend may learn on another scale by them.
	Ranges dataset.Ranges
}

const (
	defaultHoldout = 0.2
	mostHeldOut    = 1024 // as in the paper
	defaultNoise   = 1e-6
)

// Fit trains an ensemble on the rows of the sample and returns it as a model. It
// does the paper's preprocessing (inputs: standardise, then 5·tanh(x/5); labels:
// standardise) and, unless the sample has validation rows, holds a random part of
// the rows out for validation: the choice of the epoch, the scale of PredictStd and
// the intervals of PredictInterval are based on them.
//
// The scaling of the inputs is learnt from all rows, as in the paper, which uses
// training rows and pool; that of the labels from the training part alone. A label beyond
// OrdinaryReach counts as the farthest one within, so that it does not set the scale; its
// residual and the intervals are of the label itself.
//
// If members diverge, the error joins a *DivergedError for each, and the model has
// their best parameters so far. On any other error there is no model.
//
// With several targets there is one network for all of them, with an output for
// each. The model predicts the first; Model.Target returns the others.
func Fit(ctx context.Context, s Sample, o Options) (*Model, error) {
	s.Targets = max(s.Targets, 1)
	if a := &o.Config.Architecture; a.Outputs == 0 {
		a.Outputs = s.Targets
	}
	if err := s.fits(o); err != nil {
		return nil, err
	}
	if o.Folds > s.X.Rows/2 {
		return nil, fmt.Errorf("cross-fitting in %d folds needs at least %d rows; there are %d", o.Folds, 2*o.Folds, s.X.Rows)
	}
	all, valid := s, upTo(s.ValidX.Rows)
	if s.ValidX.Rows == 0 {
		var err error
		if s, valid, err = s.heldOut(o); err != nil {
			return nil, err
		}
	}
	team, m := linalg.TeamOf(ctx), newModel(s.Targets, o)
	d, err := m.prepare(team, s.tamed(all.Y), o)
	if err != nil {
		return nil, err
	}
	if o.Trainer == nil {
		o.Trainer = OnDevice{}
	}
	ensemble, histories, diverged := o.Trainer.Train(ctx, o.Config, max(o.Members, 1), d, o.Progress)
	if stopped := (*StoppedError)(nil); ensemble == nil || errors.As(diverged, &stopped) {
		return nil, diverged
	}
	held := make([][]conformal.Outcome, s.Targets)
	for i, one := range m.targets() {
		one.ensemble, one.config = ensemble, o.Config.WithDefaults()
		one.config.Architecture = ensemble[0].Architecture()
		one.provenance = Provenance{Source: o.Source, Rows: s.X.Rows, ValidRows: s.ValidX.Rows, Device: histories[0].Device}
		one.note = histories[0].Note
		if o.Targets != nil {
			one.provenance.Target = o.Targets[i]
		}
		for _, h := range histories {
			one.provenance.Best = append(one.provenance.Best, h.Best)
		}
		if held[i], err = one.judge(team, d, s, valid, cmp.Or(o.Noise, defaultNoise)); err != nil {
			return nil, errors.Join(diverged, err)
		}
	}
	if o.Folds > 0 {
		var more error
		if held, more, err = crossFit(ctx, all, o); err != nil {
			return nil, err
		}
		diverged = errors.Join(diverged, more)
	}
	for i, one := range m.targets() {
		one.learnIntervals(held[i], o.Folds)
		if all.ValidX.Rows == 0 || o.Folds > 0 {
			one.keepResiduals(held[i])
		}
	}
	return m, diverged
}

// fits reports what is wrong with a sample and options apart from the numbers in the rows.
func (s Sample) fits(o Options) error {
	return errors.Join(s.check(), o.check(s), checkColumns(o.Columns, s.X.Cols), o.checkCentres(s.X.Cols))
}

// Check reports what is wrong with a sample, for other learners than networks. Fit checks as much itself.
func (s Sample) Check(ctx context.Context, o Options) error {
	s.Targets = max(s.Targets, 1)
	o.Config.Architecture.Outputs = s.Targets
	if err := s.fits(o); err != nil {
		return err
	}
	if err := s.checkRows(linalg.TeamOf(ctx)); err != nil {
		return err
	}
	for k := range s.Targets {
		if _, err := fitLabels(s, k); err != nil {
			return o.ofTarget(s, k, err)
		}
	}
	return nil
}

// newModel returns a model of the given number of targets, none of which is fitted yet.
func newModel(targets int, o Options) *Model {
	m := &Model{holdout: o.Holdout}
	if o.Columns != nil {
		m.columns = new(*o.Columns)
	}
	m.centres = slices.Clone(o.Centres)
	for output := 1; output < targets; output++ {
		m.others = append(m.others, &Model{output: output, holdout: o.Holdout, columns: m.columns, centres: m.centres})
	}
	return m
}

// checkCentres reports centres that do not fit the inputs.
func (o Options) checkCentres(inputs int) error {
	switch {
	case o.Centres == nil:
		return nil
	case o.Columns != nil:
		return errors.New("there are centres beside columns, which have their own")
	case len(o.Centres) != inputs:
		return fmt.Errorf("there are %d centres for %d inputs", len(o.Centres), inputs)
	case !slices.ContainsFunc(o.Centres, func(v float64) bool { return !finite(v) }):
		return nil
	}
	return fmt.Errorf("the centres are %v, but must be finite", o.Centres)
}

func (o Options) check(s Sample) error {
	var found complaints
	validated, outputs := len(s.ValidY) > 0, o.Config.WithDefaults().Architecture.Outputs
	found.unless(outputs == s.Targets, "the network has %d outputs, but the number of targets is %d", outputs, s.Targets)
	found.unless(o.Targets == nil || len(o.Targets) == s.Targets, "there are %d names for %d targets",
		len(o.Targets), s.Targets)
	found.unless(o.Members >= 0 && o.Members <= MostMembers, "the ensemble has %d members; it may have up to %d",
		o.Members, MostMembers)
	found.unless(o.Noise >= 0 && !math.IsInf(o.Noise, 1), "σ² is %v, but must be positive and finite", o.Noise)
	found.unless(o.Folds == 0 || o.Folds > 1, "there are %d folds; cross-fitting takes at least 2, or 0 for none", o.Folds)
	found.unless(o.Folds == 0 || validated || o.Holdout == nil || *o.Holdout > 0,
		"cross-fitting needs validation rows, and no rows are held out")
	found.unless(o.Scaling == nil || len(o.Scaling.Mean) == s.X.Cols, "the scaling is not one of %d columns", s.X.Cols)
	if o.Holdout != nil {
		found.unless(validated || *o.Holdout >= 0 && *o.Holdout < 1,
			"the share to hold out is %v, which is not from 0 up and below 1", *o.Holdout)
	}
	return errors.Join(append(found, o.Config.Check())...)
}

func (s Sample) check() error {
	var found complaints
	found.unless(s.X.Rows*s.Targets == len(s.Y), "there are %d rows and %d labels", s.X.Rows, len(s.Y))
	found.unless(s.X.Rows > 0, "there are no rows to train on")
	found.unless(s.Random == nil || len(s.Random) == s.X.Rows,
		"there are %d rows, and for %d it is known whether they are random", s.X.Rows, len(s.Random))
	found.unless(s.Noise == nil || len(s.Noise) == len(s.Y), "there are %d labels, and variances of the noise of %d",
		len(s.Y), len(s.Noise))
	for i, v := range s.Noise {
		if !(v >= 0) || math.IsInf(v, 1) {
			found = append(found, fmt.Errorf("the variance of the noise of label %d (from 0) is %v, but must be finite and not "+
				"negative", i, v))
			break
		}
	}
	found.unless(s.ValidX.Rows*s.Targets == len(s.ValidY), "there are %d validation rows and %d labels",
		s.ValidX.Rows, len(s.ValidY))
	found.unless(s.ValidX.Rows == 0 || s.ValidX.Cols == s.X.Cols, "validation rows have %d columns, the others %d",
		s.ValidX.Cols, s.X.Cols)
	found.unless(s.Unlabelled.Rows == 0 || s.Unlabelled.Cols == s.X.Cols, "unlabelled rows have %d columns, the others %d",
		s.Unlabelled.Cols, s.X.Cols)
	return errors.Join(append(found, tooLarge("labels", s.Y, s.Targets),
		tooLarge("validation labels", s.ValidY, s.Targets))...)
}

// tooLarge reports a label that is infinite, or whose square is, so that labels cannot be
// standardised or judged.
func tooLarge(name string, y []float64, targets int) error {
	for i, v := range y {
		if math.IsInf(v, 0) {
			return fmt.Errorf("%s: %w", name, &ValueError{Row: i / targets, Column: i % targets, Value: v})
		}
		if math.IsInf(v*v, 1) {
			return fmt.Errorf("%s: %w", name, &encode.RangeError{Row: i / targets, Column: i % targets, Value: v})
		}
	}
	return nil
}

// heldOut moves a random part of the rows to the validation rows, and returns which.
func (s Sample) heldOut(o Options) (Sample, []int, error) {
	share, most := defaultHoldout, mostHeldOut
	if o.Holdout != nil {
		share, most = *o.Holdout, s.X.Rows
	}
	if share == 0 {
		return s, nil, nil
	}
	if s.X.Rows < encode.FewestToLearn {
		return s, nil, fmt.Errorf("there are %d rows, but one is needed for training and one for validation", s.X.Rows)
	}
	held := min(max(1, int(share*float64(s.X.Rows))), s.X.Rows-1, most)
	order := rng.New(o.Config.Seed, "network holdout").Perm(s.X.Rows)
	if s.Targets > 1 {
		s.balance(order, held)
	}
	valid, train := order[:held], order[held:]
	slices.Sort(train)
	slices.Sort(valid)
	return Sample{
		X: s.X.SelectRows(train), Y: s.choose(train), Targets: s.Targets, Noise: s.chooseNoise(train),
		ValidX: s.X.SelectRows(valid), ValidY: s.choose(valid), Unlabelled: s.Unlabelled,
	}, valid, nil
}

// balance exchanges rows so that both the first held rows of the order and the others have
// a label of each target, as far as there are enough: few rows may have a label of a
// target, and without one on either side nothing can be learnt or judged.
func (s Sample) balance(order []int, held int) {
	labels := matrix.View(s.X.Rows, s.Targets, s.Y)
	has := func(row, target int) bool { return !math.IsNaN(labels.At(row, target)) }
	count := func(rows []int, target int) (n int) {
		for _, row := range rows {
			if has(row, target) {
				n++
			}
		}
		return n
	}
	// spare reports whether a side can do without a row.
	spare := func(side []int, row int) bool {
		for k := range s.Targets {
			if has(row, k) && count(side, k) == 1 {
				return false
			}
		}
		return true
	}
	for _, sides := range [][2][]int{{order[:held], order[held:]}, {order[held:], order[:held]}} {
		to, from := sides[0], sides[1]
		for k := range s.Targets {
			if count(to, k) > 0 || count(from, k) < 2 {
				continue
			}
			in := slices.IndexFunc(from, func(row int) bool { return has(row, k) && spare(from, row) })
			out := slices.IndexFunc(to, func(row int) bool { return spare(to, row) })
			if in >= 0 && out >= 0 {
				to[out], from[in] = from[in], to[out]
			}
		}
	}
}

func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// choose returns the labels of the given rows.
func (s Sample) choose(rows []int) []float64 {
	return matrix.View(s.X.Rows, s.Targets, s.Y).SelectRows(rows).Data
}

// chooseNoise returns the variances of the noise of the labels of the given rows.
func (s Sample) chooseNoise(rows []int) []float64 {
	if s.Noise == nil {
		return nil
	}
	return matrix.View(s.X.Rows, s.Targets, s.Noise).SelectRows(rows).Data
}

// labelsOf returns the labels of one of several targets.
func labelsOf(y []float64, targets, target int) []float64 {
	if targets == 1 {
		return y
	}
	own := make([]float64, 0, len(y)/targets)
	for i := target; i < len(y); i += targets {
		own = append(own, y[i])
	}
	return own
}

// prepare learns the scaling and applies it to the training and the validation rows.
func (m *Model) prepare(team *linalg.Team, s Sample, o Options) (d Data, err error) {
	if err := s.checkRows(team); err != nil {
		return d, err
	}
	if o.Scaling != nil {
		m.inputs = *o.Scaling
	} else if m.inputs, err = encode.FitScalerAll(encode.Population, s.X, s.ValidX, s.Unlabelled); err != nil {
		return d, err
	}
	for i, one := range m.targets() {
		one.inputs = m.inputs
		if one.labels, err = fitLabels(s, i); err != nil {
			return d, o.ofTarget(s, i, err)
		}
	}
	d.X, d.Y, d.Weights = m.scaled(s.X), m.scaledLabels(s.Y), s.precisions()
	if s.ValidX.Rows > 0 {
		d.ValidX, d.ValidY = m.scaled(s.ValidX), m.scaledLabels(s.ValidY)
	}
	return d, nil
}

// precisions returns how much each label counts, in the shape of the labels; empty if all count alike.
func (s Sample) precisions() (all matrix.Dense[Real]) {
	for k := range s.Targets {
		if s.Noise == nil {
			break
		}
		weights := encode.Precision(labelsOf(s.Y, s.Targets, k), labelsOf(s.Noise, s.Targets, k))
		if weights == nil {
			continue
		}
		if all.Rows == 0 {
			all = matrix.New[Real](s.X.Rows, s.Targets)
			for i := range all.Data {
				all.Data[i] = 1
			}
		}
		for i, w := range weights {
			all.Set(i, k, Real(w))
		}
	}
	return all
}

// ordinaryReach is how far beyond the middle four fifths of its labels, in ranges of these, Fit takes a label as it is
// (encode.OrdinaryLabels). That is about 27 standard deviations of normal labels. Log-normal ones, of which the
// logarithm has a deviation of 1, exceed it once in 6,000.
const ordinaryReach = 10

// tamed clips the outlying labels of a sample to the ordinary range of a list of labels.
func (s Sample) tamed(labels []float64) Sample {
	s.Y, s.ValidY = slices.Clone(s.Y), slices.Clone(s.ValidY)
	for k := range s.Targets {
		low, high := encode.OrdinaryLabels(labelsOf(labels, s.Targets, k), ordinaryReach)
		for _, y := range [][]float64{s.Y, s.ValidY} {
			for i := k; i < len(y); i += s.Targets {
				if y[i] < low || y[i] > high { // not NaN
					y[i] = min(max(y[i], low), high)
				}
			}
		}
	}
	return s
}

// checkRows reports numbers in rows that are not finite.
func (s Sample) checkRows(team *linalg.Team) error {
	for _, set := range []struct {
		name string
		rows matrix.Dense[Real]
	}{{"training", s.X}, {"validation", s.ValidX}, {"unlabelled", s.Unlabelled}} {
		if err := unusable(team, set.rows); err != nil {
			return fmt.Errorf("%s rows: %w", set.name, err)
		}
	}
	return nil
}

// ofTarget adds to an error which of several targets it is about.
func (o Options) ofTarget(s Sample, i int, err error) error {
	if s.Targets > 1 {
		return fmt.Errorf("%s: %w", o.targetName(i), err)
	}
	return err
}

// targetName is what messages call a target.
func (o Options) targetName(i int) string {
	if o.Targets == nil {
		return fmt.Sprintf("target %d (from 0)", i)
	}
	return fmt.Sprintf("target %q", o.Targets[i])
}

// fitLabels learns the scaling of a target's labels.
func fitLabels(s Sample, target int) (encode.LabelScaler, error) {
	if s.Targets == 1 {
		return encode.FitLabelScaler(s.Y)
	}
	if err := unusableLabels(nil, matrix.View(s.X.Rows, s.Targets, s.Y)); err != nil {
		return encode.LabelScaler{}, fmt.Errorf("labels: %w", err)
	}
	own := withoutMissing(labelsOf(s.Y, s.Targets, target))
	if len(own) == 0 {
		return encode.LabelScaler{}, fmt.Errorf("there is no label among the %d rows to train on; label at least %d rows",
			s.X.Rows, encode.FewestToLearn)
	}
	if s.ValidX.Rows > 0 && len(withoutMissing(labelsOf(s.ValidY, s.Targets, target))) == 0 {
		return encode.LabelScaler{}, fmt.Errorf("there is no label among the %d validation rows", s.ValidX.Rows)
	}
	return encode.FitLabelScaler(own)
}

func withoutMissing(y []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(y), math.IsNaN)
}

func (m *Model) scaled(x matrix.Dense[Real]) matrix.Dense[Real] {
	s := matrix.New[Real](x.Rows, x.Cols)
	encode.Scale(s, x, m.inputs)
	return s
}

// farthest is how many deviations of the training labels a label counts as being from
// their mean, at most. A validation label that is wrong by many orders of magnitude would
// otherwise be infinite as a float32; its residual is computed from the label itself.
const farthest = 1e15

func (m *Model) scaledLabels(y []float64) matrix.Dense[Real] {
	targets := m.targets()
	s := matrix.New[Real](len(y)/len(targets), len(targets))
	for k, one := range targets {
		own := slices.Clone(labelsOf(y, len(targets), k))
		encode.ScaleLabels(own, own, one.labels)
		for i, v := range own {
			s.Set(i, k, Real(min(max(v, -farthest), farthest)))
		}
	}
	return s
}

// judge computes the posteriors of the members, calibrates them on the validation
// rows, and returns the outcomes of these. Valid are their numbers in the sample.
func (m *Model) judge(team *linalg.Team, d Data, s Sample, valid []int, noise float64) ([]conformal.Outcome, error) {
	rows := d.X
	if known := labelled(d.Y, m.output); len(known) < rows.Rows {
		rows = rows.SelectRows(known)
	}
	for _, net := range m.ensemble {
		q, err := fitPosterior(team, net, rows, noise)
		if err != nil {
			return nil, err
		}
		m.posteriors = append(m.posteriors, q)
		m.provenance.Jitter = append(m.provenance.Jitter, q.Jitter)
	}
	if s.ValidX.Rows == 0 {
		return nil, nil
	}
	e, err := m.evaluate(team, s.ValidX, true)
	if err != nil {
		return nil, err
	}
	known := labelled(d.ValidY, m.output)
	off, variances := make([]float64, len(known)), make([]float64, len(known))
	for i := range m.posteriors {
		squares := 0.0
		for j, row := range known {
			off[j], variances[j] = e.outputs.At(i, row)-float64(d.ValidY.At(row, m.output)), e.variances.At(i, row)
			squares += off[j] * off[j]
		}
		m.posteriors[i].calibrate(off, variances)
		rmse := math.Sqrt(squares/float64(len(off))) * m.labels.Deviation
		m.provenance.ValidRMSE = append(m.provenance.ValidRMSE, rmse)
	}
	u := m.uncertain(e)
	m.intervals.Typical = conformal.RootMeanSquare(u.Std)
	held := conformal.Outcomes(u.Mean, u.Std, labelsOf(s.ValidY, s.Targets, m.output), valid, 0)
	for i := range held {
		held[i].Fold = i % validationParts
	}
	return held, nil
}

// labelled returns the rows that have a label of the target.
func labelled(y matrix.Dense[Real], target int) []int {
	return slices.DeleteFunc(upTo(y.Rows), func(i int) bool { return y.At(i, target) != y.At(i, target) })
}

// validationParts are what the validation rows are divided into to choose the floor
// of the intervals.
const validationParts = 5

// learnIntervals chooses the intervals by the outcomes of held-out rows.
func (m *Model) learnIntervals(held []conformal.Outcome, folds int) {
	m.intervals, m.scores = conformal.Learn(held, folds, m.intervals.Typical)
}

// keepResiduals records the residuals in the order of the rows.
func (m *Model) keepResiduals(held []conformal.Outcome) {
	for _, o := range held {
		m.residuals = append(m.residuals, Residual{o.Row, o.Residual})
	}
	slices.SortFunc(m.residuals, func(a, b Residual) int { return a.Row - b.Row })
}
