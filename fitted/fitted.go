// Package fitted turns rows of tables into a fitted model, and says what to think of it: its error on the pool, labels
// that look like slips, what it predicts, and how long the fit takes.
//
//	Fit      rows of tables → Fitted: the model, warnings, doubtful labels, its error on the pool
//	Of       the same of a model that was fitted before
//	Predict  what a model predicts for rows, with intervals
//	Time     how long a fit would take, from a small one
package fitted

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// Choices are what users choose about models and about chance. Requests and the settings of a campaign have them.
type Choices struct {
	// Learner is the model to fit: the zero value means the paper's network.
	Learner learner.Kind   `json:"learner,omitempty"`
	Network network.Config `json:"network"`
	Members int            `json:"members,omitempty"` // networks to train; 0 means as many as the spec needs
	Seed    uint64         `json:"seed"`              // of methods; that of networks is in Network
}

// Options are how a model is fitted.
type Options struct {
	Choices
	// Given are further candidates of a blend, which were fitted elsewhere.
	Given []Given
	// Random says of each row of the table of labelled rows whether it was drawn from the pool at random, for callers that
	// know it without a column. Intervals rely on these rows.
	Random  []bool
	Folds   int             // of cross-fitting a network alone; 0 for none
	Trainer network.Trainer // nil means network.OnDevice

	// Fitting is called before each fit of a model of a blend, unless nil (learner.Options.Shown).
	Fitting func(learner string, fold, folds int)
	Epoch   func(network.Epoch) // called after each epoch of training, unless nil

	EarlierModels []*learner.Model // whose predictions are inputs; Rows sets them
}

// Given is a learner that was fitted elsewhere, by its predictions (learner.Given). Held are those for the rows of the
// table that holds the labelled rows, by models that have not learnt from the row, and Pool those for the rows of the
// table of candidates. They have a column for each target; entries of rows that have no label, or that are no
// candidates, have no meaning.
type Given struct {
	Name       string
	Held, Pool matrix.Dense[float64]
}

// Fitted is a model with the rows that it was fitted to, or is to predict.
type Fitted struct {
	Model    *learner.Model
	Rows     *tables.Rows
	Networks network.Ensemble // for kernels: those of the model or, where it is a blend that has too few, others
	Warnings []string         // of the fit
	// Doubtful are labels of the rows that should get a second look.
	Doubtful []DoubtfulLabel
	PoolRMSE []*conformal.RMSEEstimate // of each target; nil where there is no estimate
}

// Of returns a model that was fitted before, with rows that it may predict. The function name, unless nil, returns the
// id of a row of the table of labelled rows, whose labels are then examined.
func Of(m *learner.Model, rows *tables.Rows, name func(row int) string) *Fitted {
	f := &Fitted{Model: within(m, rows), Rows: rows, Networks: m.Ensemble(),
		PoolRMSE: make([]*conformal.RMSEEstimate, m.Targets())}
	if name != nil {
		f.Doubtful = DoubtfulLabels(rows, nil, name)
	}
	return f
}

// Fit fits a model to the labelled rows, with at least as many networks as a kernel needs. An error is a
// *tables.DataError, a *network.DeviceError or that of the context.
func Fit(ctx context.Context, rows *tables.Rows, o Options, networks int, name func(row int) string) (*Fitted, error) {
	members := o.Members // of each fold
	if !o.Learner.Blends() {
		members = max(members, networks)
	}
	model, failed, err := o.fit(ctx, rows, learner.Options{Network: network.Options{Config: o.Network,
		Members: members, Folds: o.Folds, Progress: o.Epoch}})
	if err != nil {
		return nil, err
	}
	f := &Fitted{Model: within(model, rows), Rows: rows, Networks: model.Ensemble()}
	f.Model.Earlier = o.EarlierModels
	f.Doubtful = DoubtfulLabels(rows, f.Model, name)
	f.warn(failed...)
	f.warn(leftOutNotes(rows, model, f.Doubtful, name)...)
	for k := range model.Targets() {
		for _, note := range model.Target(k).Notes() {
			if !slices.Contains(f.Warnings, note) { // networks are common to all targets
				f.warn(note)
			}
		}
	}
	if note := model.TrainingNote(); note != "" {
		f.warn(note)
	}
	var warnings []string
	f.PoolRMSE, warnings = poolRMSE(rows, model)
	f.warn(warnings...)
	return f, f.Train(ctx, o, networks)
}

// within returns a model that keeps to the declared ranges of the labels.
func within(m *learner.Model, rows *tables.Rows) *learner.Model {
	if rows == nil || len(rows.Ranges) == 0 {
		return m
	}
	return m.Within(rows.Ranges)
}

// Trained reports whether networks were trained beside the model.
func (f *Fitted) Trained() bool { return f != nil && len(f.Networks) > len(f.Model.Ensemble()) }

func (f *Fitted) warn(texts ...string) { f.Warnings = append(f.Warnings, texts...) }

// fit fits a model.
func (o *Options) fit(ctx context.Context, rows *tables.Rows, how learner.Options) (*learner.Model, []string, error) {
	how.Network.Trainer, how.Network.Columns, how.Network.Targets = o.Trainer, &rows.Encoder, rows.Targets
	how.Kind, how.Others, how.Shown = o.Learner, o.given(rows), o.Fitting
	sample := Sample(rows)
	if o.Random != nil {
		sample.Random = make([]bool, len(rows.TrainRows))
		for i, row := range rows.TrainRows {
			sample.Random[i] = o.Random[row]
		}
	}
	return Learn(ctx, sample, how)
}

// Learn fits a model to a sample: every fit of the program is one of these. Failed are the networks that diverged, if
// others did not. An error is a *tables.DataError, a *network.DeviceError or that of the context.
func Learn(ctx context.Context, s network.Sample, o learner.Options) (m *learner.Model, failed []string, err error) {
	m, err = learner.Fit(ctx, s, o)
	switch {
	case m != nil && err != nil:
		return m, strings.Split(err.Error(), "\n"), nil // one for each network
	case m != nil:
		return m, nil, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.As(err, new(*network.DeviceError)):
		return nil, nil, err
	}
	return nil, nil, &tables.DataError{Cause: err}
}

// given returns the candidates that were fitted elsewhere.
func (o *Options) given(rows *tables.Rows) (list []learner.Learner) {
	if !o.Learner.Blends() {
		return nil
	}
	for _, g := range o.Given {
		list = append(list, learner.Given(g.Name, g.Held.SelectRows(rows.TrainRows)))
	}
	return list
}

// Sample returns rows of tables as a network is fitted to them.
func Sample(r *tables.Rows) network.Sample {
	return network.Sample{X: r.Train, Y: r.Labels.Data, Targets: len(r.Targets), Unlabelled: r.Pool, Random: r.Random,
		Ranges: r.Ranges, Sides: r.Sides, Noise: r.Noise}
}

// Choice says what was chosen for a blend, and why; it is empty for a network alone.
func Choice(m *learner.Model) string {
	if !m.Kind().Blends() {
		return ""
	}
	return m.Choice()
}
