package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// The model that was fitted last is kept in the store, with a fingerprint of everything that it depends on:
// labels, rows and settings. As long as that does not change, none is fitted.
//
// Inputs are scaled by all rows, so a model also depends on rows without a label. If it
// were fitted again for every row that arrives, nothing that was computed from the other
// rows could be kept. So a model is fitted with the rows that were there when a label or
// a setting changed last, and serves rows that are added afterwards, too, as long as these
// are few and do not change what the inputs are, as a new category does. Which rows those
// are follows from the log alone, so that the same log gives the same model.

// modelBlob is the key of the kept model: a line with its fingerprint and its held-out
// rows as JSON, then what learner.Model.MarshalBinary returns. Older campaigns lack the rows.
const modelBlob = "model"

// trainingBlob is the key of the state of interrupted trainings, as network.Resumable returns
// it. It is empty once a model has been kept. If several are interrupted at once, such as an
// ask and predictions, the last one to write wins: they train the same network, so the others
// lose a few epochs at most.
const trainingBlob = "training"

func (c *Campaign) shelf() shelf { return shelf{c.store, c.name} }

// trainer returns what trains the networks of an ask. On the CPU an ask that was stopped, by Ctrl-C or
// by the end of a service, resumes where it stopped. If its state cannot be read or written, networks are
// trained from the start, to the same weights.
func (k shelf) trainer(ctx context.Context, a Ask) network.Trainer {
	if a.Trainer != nil || network.DeviceOf(ctx) != nil {
		return a.Trainer
	}
	state, _ := k.store.Blob(ctx, k.name, trainingBlob)
	return network.Resume(state, func(state []byte) {
		_ = k.store.PutBlob(context.WithoutCancel(ctx), k.name, Blob{trainingBlob, state})
	})
}

// forgetTraining drops the state of interrupted trainings.
func (k shelf) forgetTraining(ctx context.Context) error {
	state, err := k.store.Blob(ctx, k.name, trainingBlob)
	if errors.Is(err, ErrNotFound) || err == nil && len(state) == 0 {
		return nil
	}
	return k.store.PutBlob(ctx, k.name, Blob{Key: trainingBlob})
}

// learnt is a model with its predictions for random rows that it held out.
type learnt struct {
	*learner.Model
	heldOut  []HeldOutRow
	warnings []string // of its training, if that has just happened
}

// lesson is what a model is fitted to.
type lesson struct {
	rows        *candidates
	fingerprint string
	earlier     bool // rows were added since, and the model serves them as it is
}

// lesson returns what the model of a request on the rows is fitted to.
func (r *candidates) lesson(ctx context.Context, s *State, of nextbatch.Request) (lesson, error) {
	all := lesson{rows: r, fingerprint: r.fingerprint(s, s.spans)}
	known, spans := r, s.spans[:s.learnt]
	switch {
	case s.fromSpace():
		all.fingerprint += "-" + strconv.FormatInt(s.lastAsk, 10) // its candidates are those of an ask
		known, spans = r.taught(), nil
	case s.learnt == len(s.spans):
		return all, nil
	default:
		known = r.before(s.spans[s.learnt].First)
	}
	before, err := known.features(ctx, s, of)
	if err != nil {
		return all, nil // not with these r alone
	}
	now, err := r.features(ctx, s, of)
	if err != nil {
		return all, err
	}
	if !slices.Equal(before, now) {
		return all, nil
	}
	return lesson{known, r.fingerprint(s, spans), true}, nil
}

// before returns the candidates whose number is below the given one.
func (r *candidates) before(number int64) *candidates {
	n := r.at(number)
	known := &candidates{table: &table{numbers: r.numbers[:n]}, created: r.created, labelled: r.labelled,
		earlier: r.earlier, names: r.names}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	known.rows = r.rows.Select(rows)
	for _, column := range r.labels {
		known.labels = append(known.labels, column.Select(rows).(*dataset.Numeric))
	}
	return known
}

// features returns the names of the inputs of a model that is fitted to the rows.
func (r *candidates) features(ctx context.Context, s *State, of nextbatch.Request) ([]string, error) {
	request, err := r.learning(s, of)
	if err != nil {
		return nil, err
	}
	fit, err := request.Rows(ctx)
	if err != nil {
		return nil, err
	}
	return fit.Encoder.Features(), nil
}

// learning returns a request that fits a model to the rows, for another request.
func (r *candidates) learning(s *State, of nextbatch.Request) (nextbatch.Request, error) {
	request, err := r.request(s)
	request.Trainer, request.Epoch, request.Fitting, request.Admit, request.FieldName = of.Trainer, of.Epoch,
		of.Fitting, of.Admit, of.FieldName
	request.Members = of.Members
	return request, err
}

// members returns how many networks the model of a request has, if it is a network alone.
func members(r nextbatch.Request, s *State) int {
	return max(1, r.WithDefaults().Spec.TrainedNetworks(), s.Settings.Members)
}

// modelWord is what messages call a model of a kind.
func modelWord(kind learner.Kind) string {
	if kind.Blends() {
		return "model"
	}
	return "network"
}

// model returns the kept model of a lesson. If there is none, and rows were added since, it
// fits one; the caller fits it to all rows otherwise.
func (k shelf) model(ctx context.Context, s *State, l lesson,
	of nextbatch.Request) (found *learnt, kept bool, err error) {
	if found = k.kept(ctx, l.fingerprint, of); found != nil || !l.earlier {
		return found, found != nil, nil
	}
	request, err := l.rows.learning(s, of)
	if err != nil {
		return nil, false, err
	}
	f, err := request.Fit(ctx)
	if err != nil {
		return nil, false, err
	}
	found = l.rows.learntBy(f, s)
	found.warnings = warnings(f)
	return found, false, k.keep(ctx, l.fingerprint, found)
}

// fingerprint identifies what a model is fitted to and how. That of a network alone is the same as before there were
// other learners.
func (r *candidates) fingerprint(s *State, spans []span) string {
	set := s.Settings
	hash := sha256.New()
	// The hash cannot fail, and neither can the encoding of checked settings.
	_ = json.NewEncoder(hash).Encode([]any{
		set.Network, set.Weights, set.Categorical, set.Keep, set.Missing, set.CostColumn, set.GroupColumn, set.GroupIsInput,
		s.Created.Targets, keyOf(spans),
	})
	if len(set.Ordered) > 0 {
		fmt.Fprintln(hash, "ordered", set.Ordered)
	}
	if set.Learner.Blends() {
		fmt.Fprintln(hash, "learner", set.Learner)
		if set.RandomStart { // the intervals depend on it
			fmt.Fprintln(hash, "random start")
		}
	}
	if len(set.Ranges) > 0 {
		fmt.Fprintln(hash, "range", set.Ranges)
	}
	for _, e := range s.Earlier {
		fmt.Fprintln(hash, "earlier", e.Blocks)
	}
	for _, ref := range s.With(StatusLabelled) {
		fmt.Fprintln(hash, ref.Row, s.Label(ref.Row))
		for target := range s.Created.Targets {
			if side := s.Side(ref.Row, target); side != 0 {
				fmt.Fprintln(hash, "limit", target, side)
			}
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// kept returns the kept model if it has the fingerprint and, if it is a network alone, as many members as the
// request wants. One that cannot be read is fitted again.
func (k shelf) kept(ctx context.Context, fingerprint string, of nextbatch.Request) *learnt {
	raw, err := k.store.Blob(ctx, k.name, modelBlob)
	if err != nil {
		return nil
	}
	line, rest, found := bytes.Cut(raw, []byte("\n"))
	name, heldOut, _ := bytes.Cut(line, []byte(" "))
	if !found || string(name) != fingerprint {
		return nil
	}
	kept := &learnt{Model: &learner.Model{}}
	if err := kept.UnmarshalBinary(rest); err != nil || !of.Learner.Blends() && len(kept.Ensemble()) < of.Members {
		return nil
	}
	if len(heldOut) > 0 && json.Unmarshal(heldOut, &kept.heldOut) != nil {
		return nil
	}
	return kept
}

// keep keeps a model that has been fitted.
func (k shelf) keep(ctx context.Context, fingerprint string, l *learnt) error {
	raw, err := l.MarshalBinary()
	if err != nil {
		return err
	}
	heldOut, err := json.Marshal(l.heldOut)
	if err != nil {
		return err
	}
	if err := k.store.PutBlob(ctx, k.name, Blob{modelBlob, slices.Concat([]byte(fingerprint+" "), heldOut,
		[]byte("\n"), raw)}); err != nil {
		return err
	}
	return k.forgetTraining(ctx)
}

// learntBy returns a model that has been fitted. Rows of the start are among those that it held out even if nobody has
// said that they are random: saying so later then has an effect at once.
func (r *candidates) learntBy(f *fitted.Fitted, s *State) *learnt {
	l := &learnt{Model: f.Model}
	at := map[int64]int{} // of a row in heldOut
	for target := range l.Targets() {
		for _, residual := range l.Target(target).Residuals() {
			row := r.numbers[f.Rows.TrainRows[residual.Row]]
			if !s.isRandom(row) && !s.touched.get(row).ofStart() {
				continue
			}
			i, known := at[row]
			if !known {
				i, at[row] = len(l.heldOut), len(l.heldOut)
				l.heldOut = append(l.heldOut, HeldOutRow{row, floats(nans(l.Targets()))})
			}
			l.heldOut[i].Values[target] = fitted.Float(f.Rows.Labels.At(residual.Row, target) + residual.Error)
		}
	}
	l.heldOut = thin(s, l.heldOut)
	return l
}

// mostOfStart is how many held-out rows of the start a model records: they show the error to a few per cent, and all
// of a large start would make the log long with each ask.
const mostOfStart = 1000

// thin drops held-out rows of the start, at random, until there are few enough.
func thin(s *State, list []HeldOutRow) []HeldOutRow {
	var start []int64
	for _, held := range list {
		if s.touched.get(held.Row).ofStart() {
			start = append(start, held.Row)
		}
	}
	if len(start) <= mostOfStart {
		return list
	}
	slices.Sort(start)
	drop := map[int64]bool{}
	for _, i := range rng.New(0, "held-out rows").Perm(len(start))[mostOfStart:] {
		drop[start[i]] = true
	}
	return slices.DeleteFunc(list, func(held HeldOutRow) bool { return drop[held.Row] })
}

func floats(list []float64) []fitted.Float {
	values := make([]fitted.Float, len(list))
	for i, v := range list {
		values[i] = fitted.Float(v)
	}
	return values
}

// Predicted is the predictions for the open rows.
type Predicted struct {
	Rows        []RowRef
	Predictions [][]fitted.Prediction // of each target; nil for a row without inputs
	Intervals   []fitted.Intervals    // how those of each target were made
	Learner     learner.Kind          // what predicted
	Trained     int                   // labelled rows that the model was fitted to
	Model       string                // its fingerprint
	Kept        bool                  // no model was fitted
	Warnings    []string
}

// predictedBytes is the memory of predictions while they are made: lists of
// values, limits and what each member predicts, and then the Predicted.
func predictedBytes(rows, targets, members int) int64 {
	const row, target, member = 80, 150, 16
	return int64(rows) * int64(row+targets*(target+member*members))
}

// ErrTooFewLabels is the error of Predict, by errors.Is, if there are not enough labels for a model.
var ErrTooFewLabels = errors.New("there are too few labels for a model")

// tooFewLabels is an ErrTooFewLabels that says how many the model of a campaign needs.
type tooFewLabels struct {
	kind    learner.Kind
	targets int
}

func (e tooFewLabels) Error() string {
	text := fmt.Sprintf("predictions need a %s, and a %[1]s at least %d labelled rows", modelWord(e.kind), e.kind.Fewest())
	if e.kind.Blends() && e.targets > 1 {
		text += " of each target"
	}
	return text
}

func (tooFewLabels) Is(target error) bool { return target == ErrTooFewLabels }

// Predict predicts the labels of all open rows, with the kept model or one that it
// fits. Of the ask, only the functions and the trainer have an effect.
func (c *Campaign) Predict(ctx context.Context, a Ask) (*Predicted, error) {
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	few := tooFewLabels{s.Settings.Learner, len(s.Created.Targets)}
	switch counts := s.Counts(); {
	case counts.Labelled < int64(s.Settings.Learner.Fewest()):
		return nil, few
	case counts.Open == 0:
		return &Predicted{}, nil
	}
	rows, err := c.candidates(ctx, s)
	if err != nil {
		return nil, err
	}
	if !rows.suffice(s.Settings.Learner) {
		return nil, few
	}
	r, err := rows.request(s)
	if err != nil {
		return nil, err
	}
	a.into(&r, c.shelf().trainer(ctx, a))
	n := members(r, s)
	if r.Learner.Blends() {
		n = learner.MostCandidates
	}
	r.Output = func(z forecast.Sizes) int64 { return predictedBytes(z.Pool, len(s.Created.Targets), n) }
	p := &Predicted{Learner: s.Settings.Learner}
	var f *fitted.Fitted
	if f, p.Model, p.Kept, err = c.shelf().fit(ctx, s, rows, r); err != nil {
		return nil, err
	}
	p.Trained, p.Warnings = f.Rows.Train.Rows, warnings(f)
	if text := f.Rows.Unlabelled(); text != "" {
		p.Warnings = append(p.Warnings, text)
	}
	if text := s.limitsAsLabels(); text != "" {
		p.Warnings = append(p.Warnings, text)
	}
	for target := range f.Model.Targets() {
		p.Intervals = append(p.Intervals, fitted.DescribeIntervals(f.Model.Target(target).Intervals()))
	}
	open := slices.DeleteFunc(rows.open, rows.isDrawn)
	for _, at := range open {
		p.Rows = append(p.Rows, rows.ref(at))
	}
	p.Predictions, err = predict(ctx, f, open)
	return p, err
}

// fit returns the model of the campaign with all rows: the kept one, or one that it fits and then keeps; and its
// fingerprint.
func (k shelf) fit(ctx context.Context, s *State, rows *candidates,
	r nextbatch.Request) (f *fitted.Fitted, fingerprint string, kept bool, err error) {
	r.Members = members(r, s)
	l, err := rows.lesson(ctx, s, r)
	if err != nil {
		return nil, "", false, err
	}
	found, kept, err := k.model(ctx, s, l, r)
	if err != nil {
		return nil, "", false, err
	}
	if found != nil {
		r.Model = found.Model
	}
	if f, err = r.Fit(ctx); err != nil {
		return nil, "", false, err
	}
	if found == nil {
		err = k.keep(ctx, l.fingerprint, rows.learntBy(f, s))
	} else {
		f.Warnings = found.warn(f.Warnings)
	}
	return f, l.fingerprint, kept, err
}

// warnings are those of reading the rows and of fitting the model.
func warnings(f *fitted.Fitted) []string { return slices.Concat(f.Rows.Warnings, f.Warnings) }

// warn adds the warnings of the training to those of a plan that uses the model.
func (l *learnt) warn(list []string) []string {
	for _, w := range l.warnings {
		if !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// predict returns the predictions for rows of the table that a model was fitted to, one for each target; nil for rows
// that were dropped.
func predict(ctx context.Context, f *fitted.Fitted, rows []int) ([][]fitted.Prediction, error) {
	var at, which []int // rows of the pool, and their places in rows
	for i, row := range rows {
		if j, found := slices.BinarySearch(f.Rows.PoolRows, row); found {
			at, which = append(at, j), append(which, i)
		}
	}
	predicted, err := fitted.Predict(ctx, f.Model, f.Rows.Pool.SelectRows(at))
	if err != nil {
		return nil, err
	}
	list := make([][]fitted.Prediction, len(rows))
	for i, one := range predicted {
		list[which[i]] = one
	}
	return list, nil
}
