package nextbatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/explain"
	"github.com/nextbatch/nextbatch/internal/kept"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// Result is the answer to a request: the batch by the names of its rows. The command
// line prints it as JSON. Lists with one entry per pick are in the order of the picks.
type Result struct {
	Indices []int          `json:"indices"` // rows of the pool's input, from 0
	IDs     []string       `json:"ids"`
	Scores  []fitted.Float `json:"scores"`
	Reasons []string       `json:"reasons"`
	// ReasonsAlone are the reasons without what is predicted, which may steer a person who labels the rows; empty where
	// nothing is predicted.
	ReasonsAlone []string `json:"reasons_alone,omitempty"`

	// The facts that the reasons state. Lists are empty where they do not apply: without
	// labelled rows, a network or tables.
	Nearest   []string       `json:"nearest"`   // the labelled row that is nearest in the kernel
	Distances []fitted.Float `json:"distances"` // from it, in units of Typical
	// the median distance of a candidate from the nearest labelled row
	Typical fitted.Float `json:"typical_distance"`
	// on tables of categories: the row that shares most of them, or ""
	Closest []string `json:"closest,omitempty"`
	// there: levels of a pick, and pairs, that no labelled row has
	Untried     [][]string          `json:"untried,omitempty"`
	Apart       [][]Apart           `json:"apart"`             // the inputs in which a pick differs most
	Predictions []fitted.Prediction `json:"predictions"`       // of the labels; with several targets, of the first
	Coverage    fitted.Float        `json:"interval_coverage"` // the probability that an interval should contain its label
	Intervals   *fitted.Intervals   `json:"intervals"`         // how they are computed; nil without a network

	// Runs are the runs whose rows share values (limits.Limits.Same), and Run is the number of the one that each pick
	// belongs to, from 1. Both are empty without Same.
	Runs []RunResult `json:"runs,omitempty"`
	Run  []int       `json:"run,omitempty"`

	// Measurements are the lines of the batch, where they are not the picks themselves: with Limits.Replicates or
	// Limits.ReplicateShare, and with a Layout. Lines returns them in any case.
	Measurements []limits.Measurement `json:"measurements,omitempty"`

	// Learner says what was chosen for a blend, and why; Candidates are what was tried. Both are empty for a network
	// alone. With several targets they are those of the first.
	Learner    string              `json:"learner,omitempty"`
	Candidates []learner.Candidate `json:"candidates,omitempty"`

	Targets []TargetResult `json:"targets,omitempty"` // one for each of several targets

	Spec      string          `json:"spec"`
	Seed      uint64          `json:"seed"`
	Device    string          `json:"device,omitempty"`     // that selected; empty: the CPU
	TrainedOn string          `json:"trained_on,omitempty"` // the device that trained the networks; empty: the CPU
	Missing   int             `json:"missing"`              // rows by which the batch is smaller than requested
	Short     string          `json:"short"`                // why
	Fallbacks []FallbackEntry `json:"fallbacks"`
	Warnings  []string        `json:"warnings"` // of the plan, of the training and of the selection
	// labels that the model learnt from and that should get a second look, filled in by the caller (Plan.Doubtful)
	Doubtful []fitted.DoubtfulLabel `json:"doubtful,omitempty"`
	Timings  Seconds                `json:"timings"`
	Metrics  Metrics                `json:"metrics"`
	Version  string                 `json:"version"` // of the program, filled in by the caller

	Batch *Batch `json:"-"` // the same in rows of the problem
}

// Apart is an input in which a pick differs from the closest labelled row, which is the nearest one where
// Result.Closest is empty or has none, or, without labelled rows, from the middle of the candidates: the median, or the
// most frequent level.
type Apart struct {
	Input string `json:"input"`
	Value string `json:"value"`
	Other string `json:"other"`
	// by how many standard deviations of the candidates; 1 for another category
	Deviations fitted.Float `json:"deviations"`
}

// TargetResult is the part of a result about one of several targets.
type TargetResult struct {
	Target      string                  `json:"target"`
	Weight      fitted.Float            `json:"weight"`
	Labels      int                     `json:"labels"`        // labelled rows that have a label of the target
	Predictions []fitted.Prediction     `json:"predictions"`   // as in Result
	Intervals   fitted.Intervals        `json:"intervals"`     // how those of the predictions are computed
	ValidRMSE   []fitted.Float          `json:"valid_rmse"`    // as in Metrics
	ValidRMSEOf string                  `json:"valid_rmse_of"` // what the above is of
	PoolRMSE    *conformal.RMSEEstimate `json:"pool_rmse,omitempty"`
	Learner     string                  `json:"learner,omitempty"` // as in Result
	Candidates  []learner.Candidate     `json:"candidates,omitempty"`
}

// RunResult is a run: a part of the batch whose rows share the values of some columns.
type RunResult struct {
	Values []string     `json:"values"` // one for each column of limits.Limits.Same
	Rows   int          `json:"rows"`   // how many picks it has
	Gain   fitted.Float `json:"gain"`   // what the values were chosen by (package selection, Run)
	Tried  int          `json:"tried"`  // how many values were compared
}

// Lines returns the measurements of the batch: each pick once, unless Measurements says otherwise.
func (r *Result) Lines() []limits.Measurement {
	if len(r.Measurements) > 0 {
		return r.Measurements
	}
	lines := make([]limits.Measurement, len(r.IDs))
	for i, id := range r.IDs {
		lines[i] = limits.Measurement{ID: id, Index: r.Indices[i], Pick: i, Replicate: 1, Reason: r.Reasons[i]}
	}
	return lines
}

// RunOf returns the number of the run that a line belongs to; 0 without runs, and for a repeat.
func (r *Result) RunOf(m limits.Measurement) int {
	if m.Pick < 0 || len(r.Run) == 0 {
		return 0
	}
	return r.Run[m.Pick]
}

// FallbackEntry is a selection.Fallback with rows of the input.
type FallbackEntry struct {
	Step    int    `json:"step"`
	Reason  string `json:"reason"`
	Indices []int  `json:"indices"` // drawn at random instead
	Cut     []int  `json:"cut"`     // removed from the batch again
}

// Metrics are facts about a selection.
type Metrics struct {
	Labelled  int `json:"labelled"`
	Pool      int `json:"pool"`
	Pending   int `json:"pending"`    // rows of the pool that are out being labelled
	Inputs    int `json:"inputs"`     // after encoding
	ValidRows int `json:"valid_rows"` // labelled rows that were held out
	// of each network on them, in units of the labels; with several targets, of the first
	ValidRMSE []fitted.Float `json:"valid_rmse"`
	// ValidRMSEOf explains ValidRMSE; empty without a model.
	ValidRMSEOf string `json:"valid_rmse_of"`
	// PoolRMSE estimates the error on the pool from labelled rows that were drawn at
	// random; nil if the table does not mark them, or too few were held out.
	PoolRMSE *conformal.RMSEEstimate `json:"pool_rmse,omitempty"`
	Cost     *fitted.Float           `json:"cost,omitempty"`
	Memory   int64                   `json:"memory_forecast"`
}

// Select picks the batch, and trains first if the caller has not. A batch that is
// smaller than requested is not an error: see Result.Missing.
func (p *Plan) Select(ctx context.Context) (*Result, error) {
	if err := p.Train(ctx); err != nil {
		return nil, p.problem.together(ctx, err)
	}
	problem := p.Problem()
	if p.request.Kept != nil && p.fit != nil && !p.fit.Trained() { // the model names its own networks only
		problem.Kept, problem.Networks = p.request.Kept, kept.Name(p.Model(), p.request.Weights)
	}
	batch, err := p.pick(ctx, problem)
	if err != nil {
		return nil, err
	}
	if p.bound.OpenEnded() { // a batch that the budget ends is complete
		batch.Missing, batch.Short = 0, ""
	}
	if batch.Short == selection.BudgetSpent && len(batch.Picks) > 0 && !p.request.PerCost &&
		p.request.Spec.Method.Info().Score {
		batch.Short += fmt.Sprintf("; %s prefers cheap rows, so that the budget covers more of them",
			p.request.named("PerCost"))
	}
	return p.result(ctx, batch)
}

// result answers with a batch.
func (p *Plan) result(ctx context.Context, batch *Batch) (*Result, error) {
	r := &Result{
		Indices: p.inputRows(batch.Rows()), Spec: p.Spec, Seed: p.request.Seed, Device: batch.Device,
		IDs: []string{}, Scores: []fitted.Float{}, Reasons: []string{}, Fallbacks: []FallbackEntry{},
		Missing: batch.Missing, Short: batch.Short, Timings: p.timings, Batch: batch,
		Warnings: append(append([]string{}, p.Warnings...), batch.Warnings...),
		Metrics: Metrics{Labelled: p.Labelled, Pool: p.Pool, Pending: p.Pending, Inputs: p.Inputs,
			ValidRMSE: []fitted.Float{}, Memory: p.Memory},
	}
	r.Timings.Kernel, r.Timings.Select = fitted.Float(batch.Kernel.Seconds()), fitted.Float(batch.Timing.Total.Seconds())
	a, explained := &answer{p, r, p.comparedInputs()}, batch.explained()
	explained.Decimal, explained.Unnamed = p.request.decimal(), a.inputs.OfCategories()
	for i, pick := range batch.Picks {
		r.IDs = append(r.IDs, p.Name(selection.PoolSet, pick.Row))
		r.Scores = append(r.Scores, fitted.Float(pick.Score))
		r.Reasons = append(r.Reasons, a.runText(batch, pick.Run)+explained.Reason(i, p.Name))
		if pick.Run > 0 {
			r.Run = append(r.Run, pick.Run)
		}
	}
	for _, run := range batch.Runs {
		r.Runs = append(r.Runs, RunResult{p.bound.Shared(run.Value), run.Rows, fitted.Float(run.Gain), run.Tried})
	}
	if err := a.explain(ctx); err != nil {
		return nil, err
	}
	if err := a.measure(); err != nil {
		return nil, err
	}
	for _, f := range batch.Fallbacks {
		r.Fallbacks = append(r.Fallbacks, FallbackEntry{f.Step, f.Reason, p.inputRows(f.Rows), p.inputRows(f.Cut)})
	}
	if p.fit != nil {
		how, of := p.fit.Model.Provenance(), p.fit.Describe(0)
		r.TrainedOn = how.Device
		r.Metrics.ValidRows, r.Metrics.ValidRMSE, r.Metrics.ValidRMSEOf, r.Metrics.PoolRMSE = how.ValidRows, of.ValidRMSE,
			of.ValidRMSEOf, of.PoolRMSE
		r.Learner, r.Candidates = a.learnerText(of), of.Candidates
	}
	if cost, known := p.bound.Spent(batch.Rows()); known {
		r.Metrics.Cost = new(fitted.Float(cost))
	}
	return r, nil
}

// answer is a result in the making.
type answer struct {
	p      *Plan
	r      *Result
	inputs *explain.Inputs // what reasons compare rows in
}

// modelOf returns the model for certain candidates.
func (a *answer) modelOf(candidates []int) (*learner.Model, error) {
	predictions := map[string]matrix.Dense[float64]{}
	for _, g := range a.p.request.Given {
		predictions[g.Name] = g.Pool.SelectRows(a.p.inputRows(candidates))
	}
	return a.p.Model().With(predictions)
}

// measure lists the measurements of the batch, if rows are measured more than once or have wells.
func (a *answer) measure() error {
	a.r.Measurements = a.p.bound.Measure(a.r.Lines())
	lines := a.r.Lines()
	placed, err := a.p.bound.LayOut(lines, a.r.RunOf)
	if placed {
		a.r.Measurements = lines
	}
	return err
}

// runText begins the reason of a pick in a run.
func (a *answer) runText(b *Batch, run int) string {
	if run == 0 {
		return ""
	}
	return a.p.bound.RunText(b.Runs[run-1].Value, run, len(b.Runs), a.p.request.decimal())
}

// learnerText says what a blend chose, and what compares rows if that is something else; empty for a network alone.
func (a *answer) learnerText(of fitted.Target) string {
	if other := a.p.fit.PickedBy(a.p.request.Spec); other != "" {
		return of.Learner + "; " + other
	}
	return of.Learner
}

// comparedInputs are what reasons compare rows in; without tables there are none.
func (p *Plan) comparedInputs() *explain.Inputs {
	if p.Rows == nil {
		return &explain.Inputs{}
	}
	r := &p.request
	return explain.NewInputs(p.Rows.Encoder, r.pool(), r.train(), p.poolRows, p.Rows.TrainRows, r.decimal())
}

// explain fills in what reasons are made of, and adds it to them.
func (a *answer) explain(ctx context.Context) error {
	a.r.Nearest, a.r.Distances, a.r.Apart, a.r.Predictions = []string{}, []fitted.Float{},
		[][]Apart{}, []fitted.Prediction{}
	a.r.Coverage, a.r.Typical = conformal.DefaultCoverage, fitted.Float(a.r.Batch.Typical)
	for i, pick := range a.r.Batch.Picks {
		if pick.Labelled >= 0 {
			a.r.Nearest = append(a.r.Nearest, a.p.Name(selection.TrainSet, pick.Labelled))
			a.r.Distances = append(a.r.Distances, fitted.Float(pick.Distance/a.r.Batch.Typical))
		}
		if a.p.Rows != nil {
			of := a.inputs.Explain(a.p.poolRows[pick.Row], pick.Labelled,
				func(at int) string { return a.p.Name(selection.TrainSet, at) })
			a.r.Apart, a.r.Reasons[i] = append(a.r.Apart, apartOf(of.Apart)), a.r.Reasons[i]+of.Reason
			if pick.Labelled >= 0 && a.inputs.OfCategories() {
				a.r.Closest, a.r.Untried = append(a.r.Closest, of.Closest), append(a.r.Untried, of.Untried)
			}
		}
	}
	if a.p.Model() == nil || a.p.Rows == nil || len(a.r.Batch.Picks) == 0 {
		return nil
	}
	return a.predict(ctx)
}

func apartOf(inputs []explain.Apart) []Apart {
	list := make([]Apart, len(inputs))
	for i, a := range inputs {
		list[i] = Apart{a.Input, a.Value, a.Other, fitted.Float(a.Deviations)}
	}
	return list
}

// predict adds predictions to the reasons.
func (a *answer) predict(ctx context.Context) error {
	rows := a.p.Rows.Pool.SelectRows(a.r.Batch.Rows())
	model, err := a.modelOf(a.r.Batch.Rows())
	if err != nil {
		return &DataError{Cause: err}
	}
	predictions, err := fitted.Predict(ctx, model, rows)
	if err != nil {
		return &DataError{Cause: err}
	}
	targets := make([]TargetResult, model.Targets())
	for k := range targets {
		targets[k] = a.targetResult(k)
		for _, of := range predictions {
			targets[k].Predictions = append(targets[k].Predictions, of[k])
		}
	}
	if a.r.Predictions, a.r.Intervals = targets[0].Predictions, &targets[0].Intervals; len(targets) > 1 {
		a.r.Targets = targets
	}
	a.r.ReasonsAlone = slices.Clone(a.r.Reasons)
	for i := range a.r.Reasons {
		a.r.Reasons[i] += "; predicted " + predictedText(targets, i, a.p.request.decimal())
	}
	return nil
}

// targetResult describes a target.
func (a *answer) targetResult(k int) TargetResult {
	of := a.p.fit.Describe(k)
	one := TargetResult{Target: of.Target, Weight: 1, Labels: of.Labels, Intervals: of.Intervals, ValidRMSE: of.ValidRMSE,
		ValidRMSEOf: of.ValidRMSEOf, PoolRMSE: of.PoolRMSE, Learner: a.learnerText(of), Candidates: of.Candidates}
	if a.p.request.Weights != nil {
		one.Weight = fitted.Float(a.p.request.Weights[k])
	}
	return one
}

// predictedText is the part of a reason about the predictions for pick i.
func predictedText(targets []TargetResult, i int, decimal byte) string {
	texts := make([]string, len(targets))
	for k, t := range targets {
		one := t.Predictions[i]
		texts[k] = explain.Predicted(float64(one.Value), (*float64)(one.Low), (*float64)(one.High), t.Intervals.Basis(),
			decimal)
		if len(targets) > 1 {
			texts[k] = t.Target + " " + texts[k]
		}
	}
	return strings.Join(texts, "; ")
}
