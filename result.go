package nextbatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/explain"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/kept"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection"
)

// Result is the answer to a request: the batch by the names of its rows. The command
// line prints it as JSON. Lists with one entry per pick are in the order of the picks.
type Result struct {
	Indices []int    `json:"indices"` // rows of the pool's input, from 0
	IDs     []string `json:"ids"`
	Scores  []Float  `json:"scores"`
	Reasons []string `json:"reasons"`

	// The facts that the reasons state. Lists are empty where they do not apply: without
	// labelled rows, a network or tables.
	Nearest     []string     `json:"nearest"`           // the labelled row that is nearest in the kernel
	Distances   []Float      `json:"distances"`         // from it, in units of Typical
	Typical     Float        `json:"typical_distance"`  // the median distance of a candidate from the nearest labelled row
	Apart       [][]Apart    `json:"apart"`             // the inputs in which a pick differs most
	Predictions []Prediction `json:"predictions"`       // of the labels; with several targets, of the first
	Coverage    Float        `json:"interval_coverage"` // the probability that an interval should contain its label
	Intervals   *Intervals   `json:"intervals"`         // how they are computed; nil without a network

	// Runs are the runs whose rows share values (Limits.Same), and Run is the number of the one that each pick belongs to,
	// from 1. Both are empty without Same.
	Runs []RunResult `json:"runs,omitempty"`
	Run  []int       `json:"run,omitempty"`

	// Measurements are the lines of the batch, where they are not the picks themselves: with Limits.Replicates or
	// Limits.ReplicateShare, and with a Layout. Lines returns them in any case.
	Measurements []Measurement `json:"measurements,omitempty"`

	// Learner says what was chosen for a blend, and why; Candidates are what was tried. Both are empty for a network alone. With
	// several targets they are those of the first.
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
	Warnings  []string        `json:"warnings"`           // of the plan, of the training and of the selection
	Doubtful  []DoubtfulLabel `json:"doubtful,omitempty"` // labels that the model learnt from and that should get a second look, filled in by the caller (Plan.Doubtful)
	Timings   Timings         `json:"timings"`            // seconds
	Metrics   Metrics         `json:"metrics"`
	Version   string          `json:"version"` // of the program, filled in by the caller

	Batch *Batch `json:"-"` // the same in rows of the problem
}

// Apart is an input in which a pick differs from the nearest labelled row or, without
// labelled rows, from the middle of the candidates: the median, or the most frequent
// level.
type Apart struct {
	Input      string `json:"input"`
	Value      string `json:"value"`
	Other      string `json:"other"`
	Deviations Float  `json:"deviations"` // by how many standard deviations of the candidates; 1 for another category
}

// Prediction is what the networks predict for a pick. Low and High are nil if there are
// too few labels for an interval.
type Prediction struct {
	Value Float  `json:"value"`
	Low   *Float `json:"low,omitempty"`
	High  *Float `json:"high,omitempty"`
}

// Intervals describes how intervals are computed: their width, the held-out rows, and why.
type Intervals struct {
	conformal.Intervals
	Why string `json:"why"`
}

// DescribeIntervals describes how the intervals of a model are computed.
func DescribeIntervals(i conformal.Intervals) Intervals { return Intervals{i, i.String()} }

// TargetResult is the part of a result about one of several targets.
type TargetResult struct {
	Target      string                  `json:"target"`
	Weight      Float                   `json:"weight"`
	Labels      int                     `json:"labels"`        // labelled rows that have a label of the target
	Predictions []Prediction            `json:"predictions"`   // as in Result
	Intervals   Intervals               `json:"intervals"`     // how those of the predictions are computed
	ValidRMSE   []Float                 `json:"valid_rmse"`    // as in Metrics
	ValidRMSEOf string                  `json:"valid_rmse_of"` // what the above is of
	PoolRMSE    *conformal.RMSEEstimate `json:"pool_rmse,omitempty"`
	Learner     string                  `json:"learner,omitempty"` // as in Result
	Candidates  []learner.Candidate     `json:"candidates,omitempty"`
}

// RunResult is a run: a part of the batch whose rows share the values of some columns.
type RunResult struct {
	Values []string `json:"values"` // one for each column of Limits.Same
	Rows   int      `json:"rows"`   // how many picks it has
	Gain   Float    `json:"gain"`   // what the values were chosen by (package selection, Run)
	Tried  int      `json:"tried"`  // how many values were compared
}

// Measurement is one line of a batch: a pick, which may be measured several times, or a labelled row that is measured once
// more to learn the noise.
type Measurement struct {
	ID        string `json:"id"`
	Index     int    `json:"index"`     // row of the input, from 0: of the pool's or, for a repeat, of the labelled rows'
	Pick      int    `json:"pick"`      // where the row is in the lists of the result; -1 for a repeat
	Replicate int    `json:"replicate"` // of this row in this batch, from 1
	Repeat    bool   `json:"repeat,omitempty"`
	Reason    string `json:"reason"`
	Plate     int    `json:"plate,omitempty"` // from 1, and the well on it; 0 and empty without Request.Layout
	Well      string `json:"well,omitempty"`
}

// Lines returns the measurements of the batch: each pick once, unless Measurements says otherwise.
func (r *Result) Lines() []Measurement {
	if len(r.Measurements) > 0 {
		return r.Measurements
	}
	lines := make([]Measurement, len(r.IDs))
	for i, id := range r.IDs {
		lines[i] = Measurement{ID: id, Index: r.Indices[i], Pick: i, Replicate: 1, Reason: r.Reasons[i]}
	}
	return lines
}

// RunOf returns the number of the run that a line belongs to; 0 without runs, and for a repeat.
func (r *Result) RunOf(m Measurement) int {
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
	Labelled  int     `json:"labelled"`
	Pool      int     `json:"pool"`
	Pending   int     `json:"pending"`    // rows of the pool that are out being labelled
	Inputs    int     `json:"inputs"`     // after encoding
	ValidRows int     `json:"valid_rows"` // labelled rows that were held out
	ValidRMSE []Float `json:"valid_rmse"` // of each network on them, in units of the labels; with several targets, of the first
	// ValidRMSEOf explains ValidRMSE; empty without a model.
	ValidRMSEOf string `json:"valid_rmse_of"`
	// PoolRMSE estimates the error on the pool from labelled rows that were drawn at
	// random; nil if the table does not mark them, or too few were held out.
	PoolRMSE *conformal.RMSEEstimate `json:"pool_rmse,omitempty"`
	Cost     *Float                  `json:"cost,omitempty"`
	Memory   int64                   `json:"memory_forecast"`
}

// Select picks the batch, and trains first if the caller has not. A batch that is
// smaller than requested is not an error: see Result.Missing.
func (p *Plan) Select(ctx context.Context) (*Result, error) {
	if err := p.Train(ctx); err != nil {
		return nil, p.problem.together(ctx, err)
	}
	problem := p.Problem()
	if p.request.Kept != nil && p.model != nil && len(p.networks) <= len(p.model.Ensemble()) { // the model names its own networks only
		problem.Kept, problem.Networks = p.request.Kept, kept.Name(p.model, p.request.Weights)
	}
	batch, err := p.pick(ctx, problem)
	if err != nil {
		return nil, err
	}
	if p.openEnded { // a batch that the budget ends is complete
		batch.Missing, batch.Short = 0, ""
	}
	return p.result(ctx, batch)
}

func (p *Plan) result(ctx context.Context, batch *Batch) (*Result, error) {
	r := &Result{
		Indices: p.inputRows(batch.Rows()), Spec: p.Spec, Seed: p.request.Seed, Device: batch.Device,
		IDs: []string{}, Scores: []Float{}, Reasons: []string{}, Fallbacks: []FallbackEntry{},
		Missing: batch.Missing, Short: batch.Short, Timings: p.timings, Batch: batch,
		Warnings: append(append([]string{}, p.Warnings...), batch.Warnings...),
		Metrics:  Metrics{Labelled: p.Labelled, Pool: p.Pool, Pending: p.Pending, Inputs: p.Inputs, ValidRMSE: []Float{}, Memory: p.Memory},
	}
	r.Timings.Kernel, r.Timings.Select = Float(batch.Kernel.Seconds()), Float(batch.Timing.Total.Seconds())
	for i, pick := range batch.Picks {
		r.IDs = append(r.IDs, p.Name(selection.PoolSet, pick.Row))
		r.Scores = append(r.Scores, Float(pick.Score))
		r.Reasons = append(r.Reasons, p.runText(batch, pick.Run)+batch.explained(p.request.decimal()).Reason(i, p.Name))
		if pick.Run > 0 {
			r.Run = append(r.Run, pick.Run)
		}
	}
	for _, run := range batch.Runs {
		r.Runs = append(r.Runs, RunResult{p.shared[run.Value], run.Rows, Float(run.Gain), run.Tried})
	}
	if err := p.explain(ctx, r); err != nil {
		return nil, err
	}
	p.measure(r)
	if err := p.layOut(r); err != nil {
		return nil, err
	}
	for _, f := range batch.Fallbacks {
		r.Fallbacks = append(r.Fallbacks, FallbackEntry{f.Step, f.Reason, p.inputRows(f.Rows), p.inputRows(f.Cut)})
	}
	if p.model != nil {
		how := p.model.Provenance()
		r.TrainedOn = how.Device
		r.Metrics.ValidRows = how.ValidRows
		r.Metrics.ValidRMSE, r.Metrics.ValidRMSEOf = floats(how.ValidRMSE), ValidRMSEMeaning(p.model)
		r.Metrics.PoolRMSE = p.poolRMSE[0]
		r.Learner, r.Candidates = learnerText(p.model), p.model.Candidates()
	}
	for k := range r.Targets {
		one := &r.Targets[k]
		model := p.model.Target(k)
		one.ValidRMSE, one.ValidRMSEOf, one.PoolRMSE = floats(model.Provenance().ValidRMSE), ValidRMSEMeaning(model), p.poolRMSE[k]
		one.Learner, one.Candidates = learnerText(model), model.Candidates()
	}
	if costs := p.problem.Constraints.Cost; costs != nil {
		sum := p.repeated
		for _, pick := range batch.Picks {
			sum.Add(costs[pick.Row])
		}
		r.Metrics.Cost = new(Float(sum.Sum()))
	}
	return r, nil
}

// predictedStart begins the part of a reason that holds predictions, which is the last.
const predictedStart = "; predicted "

// ReasonsAlone returns the reasons without what is predicted, which may steer a person who labels the rows. The result may have been
// stored as JSON.
func (r *Result) ReasonsAlone() []string {
	list := slices.Clone(r.Reasons)
	if len(r.Predictions) == 0 {
		return list
	}
	for i, reason := range list {
		if at := strings.LastIndex(reason, predictedStart); at >= 0 {
			list[i] = reason[:at]
		}
	}
	return list
}

// learnerText says what a blend chose; empty for a network alone.
func learnerText(m *learner.Model) string {
	if !m.Kind().Blends() {
		return ""
	}
	return m.Choice()
}

// inputRows converts rows of the pool to rows of the input.
func (p *Plan) inputRows(rows []int) []int {
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = p.poolRows[row]
	}
	return list
}

func floats(values []float64) []Float {
	list := make([]Float, len(values))
	for i, v := range values {
		list[i] = Float(v)
	}
	return list
}

// explain fills in what reasons are made of, and adds it to them.
func (p *Plan) explain(ctx context.Context, r *Result) error {
	r.Nearest, r.Distances, r.Apart, r.Predictions = []string{}, []Float{}, [][]Apart{}, []Prediction{}
	r.Coverage, r.Typical = conformal.DefaultCoverage, Float(r.Batch.Typical)
	var inputs explain.Inputs
	if p.Rows != nil {
		inputs = explain.NewInputs(p.Rows.Encoder.Columns(), p.request.pool(), p.request.train(), p.poolRows, p.request.decimal())
	}
	for i, pick := range r.Batch.Picks {
		if pick.Labelled >= 0 {
			r.Nearest = append(r.Nearest, p.Name(selection.TrainSet, pick.Labelled))
			r.Distances = append(r.Distances, Float(pick.Distance/r.Batch.Typical))
		}
		if p.Rows != nil {
			labelled, row := "", -1
			if pick.Labelled >= 0 {
				labelled, row = p.Name(selection.TrainSet, pick.Labelled), p.Rows.TrainRows[pick.Labelled]
			}
			apart := inputs.Apart(p.poolRows[pick.Row], row)
			r.Apart = append(r.Apart, apartOf(apart))
			r.Reasons[i] += explain.Differences(apart, labelled)
		}
	}
	if p.model == nil || p.Rows == nil || len(r.Batch.Picks) == 0 {
		return nil
	}
	return p.predict(ctx, r)
}

func apartOf(inputs []explain.Apart) []Apart {
	list := make([]Apart, len(inputs))
	for i, a := range inputs {
		list[i] = Apart{a.Input, a.Value, a.Other, Float(a.Deviations)}
	}
	return list
}

// predict adds predictions to the reasons.
func (p *Plan) predict(ctx context.Context, r *Result) error {
	rows := p.Rows.Pool.SelectRows(r.Batch.Rows())
	model, err := p.modelOf(r.Batch.Rows())
	if err != nil {
		return &DataError{err}
	}
	targets := make([]TargetResult, model.Targets())
	for k := range targets {
		predictions, err := predictions(ctx, model.Target(k), rows)
		if err != nil {
			return &DataError{err}
		}
		targets[k] = p.targetResult(k, predictions)
	}
	if r.Predictions, r.Intervals = targets[0].Predictions, &targets[0].Intervals; len(targets) > 1 {
		r.Targets = targets
	}
	for i := range r.Reasons {
		r.Reasons[i] += predictedStart + predictedText(targets, i, p.request.decimal())
	}
	return nil
}

// predictions returns what a model predicts for rows.
func predictions(ctx context.Context, m *learner.Model, rows matrix.Dense[float32]) (list []Prediction, err error) {
	values, err := m.Predict(ctx, rows)
	if err != nil {
		return nil, err
	}
	low, high, err := m.PredictInterval(ctx, rows, conformal.DefaultCoverage)
	few := errors.As(err, new(*conformal.CoverageError))
	if err != nil && !few {
		return nil, err
	}
	for i, v := range values {
		one := Prediction{Value: Float(v)}
		if !few {
			one.Low, one.High = new(Float(low[i])), new(Float(high[i]))
		}
		list = append(list, one)
	}
	return list, nil
}

// targetResult describes a target, with predictions for the picks.
func (p *Plan) targetResult(k int, predictions []Prediction) TargetResult {
	one := TargetResult{Target: p.model.TargetName(k), Weight: 1, Predictions: predictions, Intervals: DescribeIntervals(p.model.Target(k).Intervals())}
	if p.request.Weights != nil {
		one.Weight = Float(p.request.Weights[k])
	}
	if at := slices.Index(p.Rows.Targets, one.Target); at >= 0 {
		rows, _ := p.Rows.Labelled(at)
		one.Labels = len(rows)
	}
	return one
}

// predictedText is the part of a reason about the predictions for pick i.
func predictedText(targets []TargetResult, i int, decimal byte) string {
	texts := make([]string, len(targets))
	for k, t := range targets {
		one := t.Predictions[i]
		texts[k] = words.Marked(words.Number(float64(one.Value)), decimal)
		if one.Low != nil {
			value, low, high := words.Interval(float64(one.Value), float64(*one.Low), float64(*one.High))
			texts[k] = fmt.Sprintf("%s, between %s and %s with probability %.0f %% (%s)", words.Marked(value, decimal), words.Marked(low, decimal), words.Marked(high, decimal), 100*conformal.DefaultCoverage, t.Intervals.Basis())
		}
		if len(targets) > 1 {
			texts[k] = t.Target + " " + texts[k]
		}
	}
	return strings.Join(texts, "; ")
}
