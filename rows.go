package nextbatch

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// Sample returns rows of tables as a network is fitted to them.
func Sample(r *tables.Rows) network.Sample {
	return network.Sample{X: r.Train, Y: r.Labels.Data, Targets: len(r.Targets), Unlabelled: r.Pool}
}

// NewProblem returns rows of tables as a problem to select from. They are scaled as the
// fitted model scales its inputs; it should have had the pool as its unlabelled
// rows. Without a model they are scaled by the mean and deviation of labelled rows
// and pool, and nngp and ntk get a network with the depth and the constants of the
// given architecture; its widths do not matter to them.
func NewProblem(ctx context.Context, r *tables.Rows, fitted *network.Model, a network.Architecture) (Problem, error) {
	if fitted != nil {
		return scaledProblem(ctx, r, fitted.Inputs, Models(fitted.Ensemble(), r.Weights...))
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
