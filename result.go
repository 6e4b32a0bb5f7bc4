package nextbatch

import (
	"context"

	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
)

// Result is the answer to a request: the batch by the names of its rows. The command
// line prints it as JSON. Lists with one entry per pick are in the order of the picks.
type Result struct {
	Indices []int    `json:"indices"` // rows of the pool's input, from 0
	IDs     []string `json:"ids"`
	Scores  []Float  `json:"scores"`
	Reasons []string `json:"reasons"`

	// What the reasons are made of. Lists are empty where a plan has no such thing: no
	// labelled rows, no network, no tables.
	Nearest     []string     `json:"nearest"`           // the labelled row that is nearest in the kernel
	Distances   []Float      `json:"distances"`         // from it, in units of Typical
	Typical     Float        `json:"typical_distance"`  // the median distance of a candidate from the nearest labelled row
	Apart       [][]Apart    `json:"apart"`             // the inputs in which a pick differs most
	Predictions []Prediction `json:"predictions"`       // of the labels; with several targets, of the first
	Coverage    Float        `json:"interval_coverage"` // the probability that an interval is to hold its label with
	Intervals   *Intervals   `json:"intervals"`         // how they are made; nil without a network

	Targets []TargetResult `json:"targets,omitempty"` // one for each of several targets

	Spec      string          `json:"spec"`
	Seed      uint64          `json:"seed"`
	Device    string          `json:"device,omitempty"`     // that selected; empty: the CPU
	TrainedOn string          `json:"trained_on,omitempty"` // the device that trained the networks; empty: the CPU
	Missing   int             `json:"missing"`              // rows by which the batch is smaller than requested
	Short     string          `json:"short"`                // why
	Fallbacks []FallbackEntry `json:"fallbacks"`
	Warnings  []string        `json:"warnings"` // of the plan, of the training and of the selection
	Timings   Timings         `json:"timings"`  // seconds
	Metrics   Metrics         `json:"metrics"`
	Version   string          `json:"version"` // of the program, filled in by the caller

	Batch *Batch `json:"-"` // the same in rows of the problem
}

// TargetResult is what a result says about one of several targets.
type TargetResult struct {
	Target      string                `json:"target"`
	Weight      Float                 `json:"weight"`
	Labels      int                   `json:"labels"`      // labelled rows that have a label of the target
	Predictions []Prediction          `json:"predictions"` // as in Result
	Intervals   Intervals             `json:"intervals"`   // how those of the predictions are made
	ValidRMSE   []Float               `json:"valid_rmse"`  // as in Metrics
	PoolRMSE    *network.RMSEEstimate `json:"pool_rmse,omitempty"`
}

// FallbackEntry is a selection.Fallback with rows of the input.
type FallbackEntry struct {
	Step    int    `json:"step"`
	Reason  string `json:"reason"`
	Indices []int  `json:"indices"` // drawn at random instead
	Cut     []int  `json:"cut"`     // removed from the batch again
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

// Metrics are facts about a selection.
type Metrics struct {
	Labelled  int     `json:"labelled"`
	Pool      int     `json:"pool"`
	Pending   int     `json:"pending"`    // rows of the pool that are out being labelled
	Inputs    int     `json:"inputs"`     // after encoding
	ValidRows int     `json:"valid_rows"` // labelled rows that were held out
	ValidRMSE []Float `json:"valid_rmse"` // of each network on them, in units of the labels; with several targets, of the first
	// ValidRMSEOf says what ValidRMSE is of; empty without a network.
	ValidRMSEOf string `json:"valid_rmse_of"`
	// PoolRMSE estimates the error on the pool from labelled rows that were drawn at
	// random; nil where the table does not tell which, or too few were held out.
	PoolRMSE *network.RMSEEstimate `json:"pool_rmse,omitempty"`
	Cost     *Float                `json:"cost,omitempty"`
	Memory   int64                 `json:"memory_forecast"`
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
		r.Reasons = append(r.Reasons, batch.Reason(i, p.Name))
	}
	if err := p.explain(ctx, r); err != nil {
		return nil, err
	}
	for _, f := range batch.Fallbacks {
		r.Fallbacks = append(r.Fallbacks, FallbackEntry{f.Step, f.Reason, p.inputRows(f.Rows), p.inputRows(f.Cut)})
	}
	if p.model != nil {
		how := p.model.Provenance()
		r.TrainedOn = how.Device
		r.Metrics.ValidRows = how.ValidRows
		r.Metrics.ValidRMSE = floats(how.ValidRMSE)
		if len(how.ValidRMSE) > 0 {
			r.Metrics.ValidRMSEOf = ValidRMSEMeaning(how.ValidRows)
		}
		r.Metrics.PoolRMSE = p.poolRMSE[0]
	}
	for k := range r.Targets {
		one := &r.Targets[k]
		one.ValidRMSE, one.PoolRMSE = floats(p.model.Target(k).Provenance().ValidRMSE), p.poolRMSE[k]
	}
	if costs := p.problem.Constraints.Cost; costs != nil {
		sum := 0.0
		for _, pick := range batch.Picks {
			sum += costs[pick.Row]
		}
		r.Metrics.Cost = new(Float(sum))
	}
	return r, nil
}

func floats(values []float64) []Float {
	list := make([]Float, len(values))
	for i, v := range values {
		list[i] = Float(v)
	}
	return list
}
