package nextbatch

// Rows of tables become what a network learns and what Select picks from.

import (
	"context"
	"fmt"
	"slices"

	"github.com/nextbatch/nextbatch/conformal"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// Sample returns rows of tables as a network is fitted to them.
func Sample(r *tables.Rows) network.Sample {
	return network.Sample{X: r.Train, Y: r.Labels.Data, Targets: len(r.Targets), Unlabelled: r.Pool, Random: r.Random}
}

// NewProblem returns rows of tables as a problem to select from. They are scaled as the
// fitted model scales its inputs; it should have had the pool as its unlabelled
// rows. Without a model they are scaled by the mean and deviation of labelled rows
// and pool, and nngp and ntk get a network with the depth and the constants of the
// given architecture; its widths do not matter to them.
func NewProblem(ctx context.Context, r *tables.Rows, fitted *learner.Model, a network.Architecture) (Problem, error) {
	if fitted != nil {
		p, err := scaledProblem(ctx, r, fitted.Inputs, Models(fitted.Ensemble(), r.Weights...))
		p.Learnt = fitted.Learnt()
		return p, err
	}
	scale, err := standardisation(r)
	if err != nil {
		return Problem{}, err
	}
	a = network.Config{Architecture: a}.WithDefaults().Architecture
	a.Hidden = slices.Repeat([]int{1}, len(a.Hidden))
	untrained, err := network.NewMLP(r.Pool.Cols, a, 0, 0)
	if err != nil {
		return Problem{}, err
	}
	return scaledProblem(ctx, r, scale, Models(network.Ensemble{untrained}))
}

// foreignProblem is NewProblem for a network that was trained elsewhere.
func foreignProblem(ctx context.Context, r *tables.Rows, f *Foreign) (Problem, error) {
	scale, err := f.scaling(r)
	if err != nil {
		return Problem{}, err
	}
	return scaledProblem(ctx, r, scale, []Model{f.Model})
}

func scaledProblem(ctx context.Context, r *tables.Rows, scale func(matrix.Dense[float32]) (matrix.Dense[float32], error), models []Model) (p Problem, err error) {
	p.Models = models
	if p.Train, p.Pool, p.Aims.Rows, err = r.Scaled(ctx, scale); err != nil {
		return p, err
	}
	if r.Labels.Rows > 0 {
		p.Weights = r.Weights
		p.Labels, err = r.ScaledLabels()
	}
	return p, err
}

// standardisation scales by the mean and deviation of labelled rows and pool.
func standardisation(r *tables.Rows) (func(matrix.Dense[float32]) (matrix.Dense[float32], error), error) {
	scaler, err := dataset.FitScalerAll(dataset.Population, r.Train, r.Pool)
	if err != nil {
		return nil, err
	}
	return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
		scaled := matrix.New[float32](x.Rows, x.Cols)
		dataset.Scale(scaled, x, scaler)
		return scaled, nil
	}, nil
}

// Foreign is a network that was trained elsewhere, such as one of package network/onnx.
// It is used as it is: nothing is trained, and labels matter only to methods that use
// them.
type Foreign struct {
	Model Model

	// Columns is how a table becomes rows. Nil means that all columns of the table that
	// are not ids, costs, groups or labels are inputs, in the order of the table; they
	// must be numbers.
	Columns *dataset.Encoder

	// Standardise subtracts the mean of each column and divides by its deviation, as
	// they are among the labelled rows, or among the candidates where there are none.
	// A column that is constant there is only shifted. Otherwise the network gets the
	// numbers of the table.
	Standardise bool
}

// hidden returns the widths of the layers after the first, for forecasts of memory.
func (f *Foreign) hidden() (widths []int) {
	in, _ := f.Model.Taps().Widths()
	for _, w := range in[1:] {
		widths = append(widths, max(w-1, 1))
	}
	return widths
}

// Inputs returns labelled rows and candidates as the network takes them.
func (f *Foreign) Inputs(r *tables.Rows) (train, pool matrix.Dense[float32], err error) {
	scale, err := f.scaling(r)
	if err != nil {
		return train, pool, err
	}
	if train, err = scale(r.Train); err != nil {
		return train, pool, err
	}
	pool, err = scale(r.Pool)
	return train, pool, err
}

// Tables returns how the tables become rows for the network. Its encoder is missing in
// the given ones.
func (f *Foreign) Tables(t tables.Tables) (_ tables.Tables, err error) {
	t.Encoder, t.Centre = f.Columns, f.Standardise
	if t.Encoder == nil {
		t.Encoder, err = t.AsNumbers(f.Model.Inputs())
	}
	return t, err
}

// scaling returns how rows become inputs of the network.
func (f *Foreign) scaling(r *tables.Rows) (func(matrix.Dense[float32]) (matrix.Dense[float32], error), error) {
	if !f.Standardise {
		return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) { return x, nil }, nil
	}
	of := r.Train
	if of.Rows == 0 {
		of = r.Pool
	}
	scaler, err := dataset.FitScalerAll(dataset.Population, of)
	if err != nil {
		return nil, err
	}
	return func(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
		return standardised(x, scaler), nil
	}, nil
}

func standardised(x matrix.Dense[float32], s dataset.Scaler) matrix.Dense[float32] {
	dst := matrix.New[float32](x.Rows, x.Cols)
	for i := range x.Rows {
		to := dst.Row(i)
		for j, v := range x.Row(i) {
			unit := s.Deviation[j]
			if unit == 0 {
				unit = 1
			}
			to[j] = float32((float64(v) - s.Mean[j]) / unit)
		}
	}
	return dst
}

// A method picks rows that are hard for the network. The error on held-out labelled
// rows that a method picked therefore overstates the error on the pool, and may rise
// from round to round while the network gets better. Labelled rows that were drawn from
// the pool at random, if the table marks them, have no such bias.

// ValidRMSEMeaning explains the RMSE of a model on rows that it held out; it is empty where there is none.
func ValidRMSEMeaning(m *learner.Model) string {
	n := m.Provenance().ValidRows
	if len(m.Provenance().ValidRMSE) == 0 {
		return ""
	}
	const picked = "if a method picked these labels, it overstates the pool's error"
	switch {
	case m.CountsPool():
		return fmt.Sprintf("RMSE on %d labelled rows, each predicted by models that had not learnt from it, and counted for the rows of the pool that it stands for", n)
	case m.Kind().Blends():
		return fmt.Sprintf("RMSE on %d labelled rows, each predicted by models that had not learnt from it; %s", n, picked)
	}
	return fmt.Sprintf("RMSE on %d labelled rows held out of training; %s", n, picked)
}

// PoolRMSE estimates, for each target, the error on the pool of a model that was fitted to
// the rows, from those that were held out and drawn at random. An estimate is nil if the
// table does not mark these, or if they are too few, which a warning reports.
func PoolRMSE(r *tables.Rows, m *learner.Model) (estimates []*conformal.RMSEEstimate, warnings []string) {
	for k := range m.Targets() {
		e, warning := poolRMSE(r, m.Target(k))
		if warning != "" && m.Targets() > 1 {
			warning = "target " + m.TargetName(k) + ": " + warning
		}
		if estimates = append(estimates, e); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return estimates, warnings
}

func poolRMSE(r *tables.Rows, m *learner.Model) (estimate *conformal.RMSEEstimate, warning string) {
	if r.Random == nil {
		return nil, ""
	}
	var errors []float64
	for _, held := range m.Residuals() {
		if r.Random[held.Row] {
			errors = append(errors, held.Error)
		}
	}
	e, err := conformal.EstimateRMSE(errors)
	if err != nil {
		warning = fmt.Sprintf("the pool's error is not estimated: %d held-out rows were drawn at random, and it takes %d", len(errors), conformal.LeastErrors)
		if !m.Kind().Blends() { // which hold out as many rows wherever they are fitted
			warning += "; 'nextbatch fit', which predicts every row by networks that have not seen it, counts all of them"
		}
		return nil, warning
	}
	return &e, ""
}
