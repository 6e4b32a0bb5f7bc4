package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/tables"
)

// Plan is a checked request whose rows have been turned into numbers. Forecast
// estimates its time; Train and Select carry it out. Only one goroutine at a time may
// use a plan.
type Plan struct {
	Spec     string         `json:"spec"`
	Labelled int            `json:"labelled"`               // rows
	Pool     int            `json:"pool"`                   // candidates
	Pending  int            `json:"pending"`                // candidates that are out being labelled
	Batch    int            `json:"batch"`                  // rows to pick
	Lines    int            `json:"measurements,omitempty"` // lines of the batch, with replicates and repeats; 0 if they are the rows
	Networks int            `json:"networks"`               // to train
	Learner  learner.Kind   `json:"learner,omitempty"`      // of the blend to fit; empty if networks alone are trained, or nothing
	Inputs   int            `json:"inputs"`                 // columns after encoding, or features
	Numeric  []string       `json:"numeric"`                // columns that are inputs as they are
	OneHot   map[string]int `json:"one_hot"`                // levels of each encoded column
	Dates    []string       `json:"dates"`                  // columns of dates and times of day, which become numbers and cycles
	Imputed  []string       `json:"imputed"`                // columns with missing values, which an input or a level of its own marks
	Dropped  []string       `json:"dropped"`                // columns that are not used

	Memory    int64    `json:"memory"`            // bytes, forecast
	File      int64    `json:"file,omitempty"`    // bytes of the features, and of the inputs, in files, if they exceed memory
	Folder    string   `json:"folder,omitempty"`  // the folder of the temporary files, if there are any
	Available int64    `json:"available"`         // bytes, filled in by the caller; 0 where unknown
	Seconds   *Seconds `json:"seconds,omitempty"` // once forecast
	Limits    []string `json:"limits"`            // the constraints on the batch
	Warnings  []string `json:"warnings"`          // what a reader should know, so far
	Notes     []string `json:"notes"`             // what else was done to the tables

	Rows *tables.Rows `json:"-"` // the tables as numbers, not yet scaled; nil with the user's own features

	request   Request
	problem   Problem         // without models, and not scaled, before Train
	poolRows  []int           // row i of the pool is this row of the input
	openEnded bool            // the batch has as many rows as fit into the budget
	shared    [][]string      // the values of Same, by number
	repeats   []int           // labelled rows that the batch measures once more, as rows of their table
	repeated  selection.Costs // what these cost
	model     *learner.Model
	networks  network.Ensemble // for the kernel, where the model is a blend that has too few
	trained   bool
	timings   Timings
	poolRMSE  []*conformal.RMSEEstimate // of each target; nil where there is no estimate
}

// Seconds is the forecast of the time that a plan takes.
type Seconds struct {
	Read   Float `json:"read"` // filled in by the caller, who has read the tables
	Train  Float `json:"train"`
	Kernel Float `json:"kernel"`
	Select Float `json:"select"`
	Total  Float `json:"total"`
}

// Timings are seconds. Read and Total are filled in by the caller, who has read the
// tables.
type Timings struct {
	Read   Float `json:"read"`
	Train  Float `json:"train"`
	Kernel Float `json:"kernel"`
	Select Float `json:"select"`
	Total  Float `json:"total"`
}

// Close unmaps rows that are in files (Request.Folder). The plan cannot be used after that.
func (p *Plan) Close() {
	if p.Rows != nil {
		p.Rows.Close()
	}
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// Name returns the user's name of a row of the pool or of the labelled rows: its id, or
// its number in the input, from 0.
func (p *Plan) Name(set selection.Set, at int) string {
	table, row := p.request.pool(), at
	if set == selection.TrainSet {
		table = p.request.train()
		if p.Rows != nil {
			row = p.Rows.TrainRows[at]
		}
	} else {
		row = p.poolRows[at]
	}
	return p.ids(table).Name(row)
}

// ids names the rows of a table.
func (p *Plan) ids(t *dataset.Table) tables.IDs {
	return tables.IDs{Table: t, Column: p.request.IDColumn}
}

// Model returns the model that the plan uses: that of the request or, after Train, the
// one that was trained; nil if the spec needs none.
func (p *Plan) Model() *learner.Model { return p.model }

// Doubtful returns labels of the tables that should get a second look. Call it after Train: models that have been fitted
// expect more of a label than that it is like the others.
func (p *Plan) Doubtful() []DoubtfulLabel {
	if p.Rows == nil {
		return nil
	}
	m := p.model
	if p.request.Model != nil {
		m = nil // it was fitted to other rows
	}
	return DoubtfulLabels(p.Rows, m, p.ids(p.request.train()).Name)
}

// Problem returns the problem that Select solves, for Features, Gram and Plane. It is
// complete after Train.
func (p *Plan) Problem() Problem {
	problem := p.problem
	problem.Progress = p.request.Progress
	return problem
}

// Resume makes Select resume with the choices of an interrupted run (selection.Problem).
func (p *Plan) Resume(choices []selection.Choice) { p.problem.Resume = choices }

// Picked makes Select call f with each choice, in order.
func (p *Plan) Picked(f func(selection.Choice)) { p.problem.Picked = f }

// Train trains the networks, unless there is a model or the spec needs none, and scales
// the rows. Select calls it if the caller has not.
func (p *Plan) Train(ctx context.Context) error {
	if p.trained {
		return nil
	}
	begin := time.Now()
	if p.request.fits() && p.model == nil {
		var err error
		members := p.Networks
		if p.Learner.Blends() {
			members = p.request.Members // of each fold
		}
		if p.model, err = p.fit(ctx, learner.Options{Network: network.Options{Config: p.request.Network, Members: members, Progress: p.request.Epoch}}); p.model == nil {
			return err
		}
		p.warnOf(err)
		p.warnOfLearners()
		if note := p.model.TrainingNote(); note != "" {
			p.Warnings = append(p.Warnings, note)
		}
		var warnings []string
		p.poolRMSE, warnings = PoolRMSE(p.Rows, p.model)
		p.Warnings = append(p.Warnings, warnings...)
	} else if p.model != nil {
		p.poolRMSE = make([]*conformal.RMSEEstimate, p.model.Targets())
	}
	if err := p.fitKernel(ctx); err != nil {
		return err
	}
	p.timings.Train = Float(time.Since(begin).Seconds())
	if !p.request.fits() && p.networks == nil {
		p.timings.Train = 0
	}
	if err := p.scale(ctx); err != nil {
		return err
	}
	p.trained = true
	return nil
}

// fitKernel trains networks for the kernel if the model is a blend that has too few of them.
func (p *Plan) fitKernel(ctx context.Context) error {
	if p.model == nil || !p.model.Kind().Blends() || p.Rows == nil {
		return nil
	}
	need, own := p.request.Spec.TrainedNetworks(), len(p.model.Ensemble())
	if own >= need {
		return nil
	}
	if p.Rows.Train.Rows == 0 {
		return refuse("%v uses %d networks, but %s holds %d", p.request.Spec, need, p.request.modelName(), own)
	}
	o := network.Options{Config: p.request.Network, Members: need, Progress: p.request.Epoch, Scaling: new(p.model.Scaling())}
	alone := *p
	alone.request.Learner = learner.NetworkAlone
	m, err := alone.fit(ctx, learner.Options{Network: o})
	if m == nil {
		return err
	}
	p.warnOf(err)
	p.networks = m.Ensemble()
	return nil
}

// fit fits a model. If some networks diverged, it returns both a model and an error.
func (p *Plan) fit(ctx context.Context, o learner.Options) (*learner.Model, error) {
	o.Network.Trainer, o.Network.Columns, o.Network.Targets = p.request.Trainer, &p.Rows.Encoder, p.Rows.Targets
	o.Kind, o.Others, o.Shown = p.request.Learner, p.given(), p.request.Fitting
	sample := Sample(p.Rows)
	if p.request.Random != nil {
		sample.Random = make([]bool, len(p.Rows.TrainRows))
		for i, row := range p.Rows.TrainRows {
			sample.Random[i] = p.request.Random[row]
		}
	}
	model, err := learner.Fit(ctx, sample, o)
	switch {
	case model != nil:
		return model, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, new(*network.DeviceError)):
		return nil, err
	}
	return nil, &DataError{err}
}

// given returns the candidates that were fitted elsewhere.
func (p *Plan) given() (list []learner.Learner) {
	if !p.request.Learner.Blends() {
		return nil
	}
	for _, g := range p.request.Given {
		list = append(list, learner.Given{Title: g.Name, Held: g.Held.SelectRows(p.Rows.TrainRows)})
	}
	return list
}

// checkGiven reports predictions for other rows than those of the tables.
func (p *Plan) checkGiven() error {
	r, targets := &p.request, len(p.request.TargetColumns)
	for _, g := range r.Given {
		for _, of := range []struct {
			rows  matrix.Dense[float64]
			table *dataset.Table
			name  string
		}{{g.Held, r.train(), r.named("Train")}, {g.Pool, r.pool(), r.named("Pool")}} {
			if of.table == nil || of.rows.Rows != of.table.Rows() || of.rows.Cols != targets {
				return refuse("%s: there are %d×%d predictions for the rows of %s and %s", g.Name, of.rows.Rows, of.rows.Cols,
					r.tableName(of.table, of.name), words.Count(targets, "target", "targets"))
			}
		}
	}
	return nil
}

// modelOf returns the model for certain candidates.
func (p *Plan) modelOf(candidates []int) (*learner.Model, error) {
	predictions := map[string]matrix.Dense[float64]{}
	for _, g := range p.request.Given {
		predictions[g.Name] = g.Pool.SelectRows(p.inputRows(candidates))
	}
	return p.model.With(predictions)
}

// warnOf turns joined errors, one per network, into warnings.
func (p *Plan) warnOf(err error) {
	if err != nil {
		p.Warnings = append(p.Warnings, strings.Split(err.Error(), "\n")...)
	}
}

// warnOfLearners warns of what went wrong with candidates of a blend.
func (p *Plan) warnOfLearners() {
	p.Warnings = append(p.Warnings, LeftOutNotes(p.Rows, p.model, p.Doubtful(), p.ids(p.request.train()).Name)...)
	for k := range p.model.Targets() {
		for _, note := range p.model.Target(k).Notes() {
			if !slices.Contains(p.Warnings, note) { // networks are common to all targets
				p.Warnings = append(p.Warnings, note)
			}
		}
	}
}

// scale puts the scaled rows and the models into the problem.
func (p *Plan) scale(ctx context.Context) error {
	if p.Rows == nil {
		return nil
	}
	var scaled Problem
	var err error
	if p.request.Foreign != nil {
		scaled, err = foreignProblem(ctx, p.Rows, p.request.Foreign)
	} else {
		scaled, err = NewProblem(ctx, p.Rows, p.model, p.request.Network.Architecture)
		if len(p.networks) > len(scaled.Models) {
			scaled.Models = Models(p.networks, p.Rows.Weights...)
		}
	}
	if err != nil {
		return p.unusable(ctx, err)
	}
	p.problem.Models, p.problem.Labels, p.problem.Weights, p.problem.Learnt = scaled.Models, scaled.Labels, scaled.Weights, scaled.Learnt
	p.problem.Train, p.problem.Pool, p.problem.Aims.Rows = scaled.Train, scaled.Pool, scaled.Aims.Rows
	return nil
}

func (p *Plan) pick(ctx context.Context, problem Problem) (*Batch, error) {
	batch, err := Select(ctx, p.request.Spec, problem)
	conflict := (*selection.ConflictError)(nil)
	wrong := (*selection.ProblemError)(nil)
	switch {
	case err == nil || ctx.Err() != nil:
		return batch, err
	case errors.As(err, new(*selection.DeviceError)):
		return nil, err
	case errors.As(err, &conflict):
		return nil, p.conflictError(conflict.Fields)
	case errors.As(err, &wrong):
		return nil, &RequestError{err.Error()}
	}
	return nil, p.unusable(ctx, err)
}

// unusable returns the error of rows that cannot be used, of their temporary files, or of the
// context.
func (p *Plan) unusable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rowfile.IsOfFolder(err):
		return fmt.Errorf("%w; %s names another folder", err, p.request.named("Folder"))
	}
	return &DataError{err}
}
