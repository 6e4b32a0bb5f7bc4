package fitted

import (
	"context"
	"errors"

	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
)

// Prediction is what a model predicts for a row. Low and High are nil if there are
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

// Predict returns what a model predicts for each row, one prediction for each target.
func Predict(ctx context.Context, m *learner.Model, rows matrix.Dense[float32]) ([][]Prediction, error) {
	list := make([][]Prediction, rows.Rows)
	for k := range m.Targets() {
		one := m.Target(k)
		values, err := one.Predict(ctx, rows)
		if err != nil {
			return nil, err
		}
		low, high, err := one.PredictInterval(ctx, rows, conformal.DefaultCoverage)
		few := errors.As(err, new(*conformal.CoverageError))
		if err != nil && !few {
			return nil, err
		}
		for i, v := range values {
			p := Prediction{Value: Float(v)}
			if !few {
				p.Low, p.High = new(Float(low[i])), new(Float(high[i]))
			}
			list[i] = append(list[i], p)
		}
	}
	return list, nil
}

// Target is what a fit says about one of its targets.
type Target struct {
	Target      string                  `json:"target"`
	Labels      int                     `json:"labels"` // rows that have one
	ValidRMSE   []Float                 `json:"valid_rmse"`
	ValidRMSEOf string                  `json:"valid_rmse_of"` // what the above is of
	PoolRMSE    *conformal.RMSEEstimate `json:"pool_rmse,omitempty"`
	Intervals   Intervals               `json:"intervals"`
	Learner     string                  `json:"learner,omitempty"`    // what was chosen for a blend, and why
	Candidates  []learner.Candidate     `json:"candidates,omitempty"` // of a blend
}

// Describe describes the fit of a target.
func (f *Fitted) Describe(k int) Target {
	m := f.Model.Target(k)
	t := Target{Target: f.Model.TargetName(k), ValidRMSE: []Float{}, ValidRMSEOf: ValidRMSEMeaning(m),
		PoolRMSE:  f.PoolRMSE[k],
		Intervals: DescribeIntervals(m.Intervals()), Learner: Choice(m), Candidates: m.Candidates()}
	for i, name := range f.Rows.Targets {
		if name == t.Target {
			_, labels := f.Rows.Labelled(i)
			t.Labels = len(labels)
		}
	}
	for _, v := range m.Provenance().ValidRMSE {
		t.ValidRMSE = append(t.ValidRMSE, Float(v))
	}
	return t
}
