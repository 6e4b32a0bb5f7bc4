package nextbatch

// Rows of tables become what a network learns and what Select picks from.

import (
	"context"
	"slices"

	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// NewProblem returns rows of tables as a problem to select from. They are scaled as the fitted model scales its inputs;
// it should have had the pool as its unlabelled rows. Without a model they are scaled by the mean and deviation of
// labelled rows and pool, and nngp and ntk get a network with the depth and the constants of the given architecture;
// its widths do not matter to them.
func NewProblem(ctx context.Context, r *tables.Rows, f *fitted.Fitted, a network.Architecture) (Problem, error) {
	if f != nil {
		p, err := scaledProblem(ctx, r, f.Model.Inputs, Models(f.Networks, r.Weights...))
		p.Learnt = f.Model.Learnt()
		return p, err
	}
	scale, err := encode.Standardisation(r.Train, r.Pool)
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

func scaledProblem(ctx context.Context, r *tables.Rows, scale func(matrix.Dense[float32]) (matrix.Dense[float32],
	error), models []Model) (p Problem, err error) {
	p.Models = models
	if p.Train, p.Pool, p.Aims.Rows, err = r.Scaled(ctx, scale); err != nil {
		return p, err
	}
	if r.Labels.Rows > 0 {
		p.Weights, p.Noise = r.Weights, encode.RelativeNoise(r.Labels, r.Noise)
		p.Labels, err = r.ScaledLabels()
	}
	return p, err
}

// Foreign is a network that was trained elsewhere, such as one of an ONNX file. It is used as it is: nothing is
// trained, and labels matter only to methods that use them.
type Foreign struct {
	Model Model

	// Columns is how a table becomes rows. Nil means that all columns of the table that are not ids, costs, groups or
	// labels are inputs, in the order of the table; they must be numbers.
	Columns *encode.Encoder

	// Standardise subtracts the mean of each column and divides by its deviation, as they are among the labelled rows, or
	// among the candidates where there are none. A column that is constant there is only shifted. Otherwise the network
	// gets the numbers of the table.
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

// Tables returns how the tables become rows for the network. Its encoder is missing in the given ones.
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
	return encode.Unclipped(of)
}
