package network

import (
	"context"
	"errors"

	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// evaluation is the outputs of the members of an ensemble: a row for each member,
// a column for each row of the input, in scaled labels.
type evaluation struct {
	outputs   matrix.Dense[float64]
	variances matrix.Dense[float64] // k(x, x) of the posterior; empty if not requested
}

// mean returns the mean output over the members.
func (e *evaluation) mean() []float64 {
	mean := make([]float64, e.outputs.Cols)
	for m := range e.outputs.Rows {
		for i, v := range e.outputs.Row(m) {
			mean[i] += v / float64(e.outputs.Rows)
		}
	}
	return mean
}

// evaluate scales rows and runs them through all members, block by block.
func (m *Model) evaluate(team *linalg.Team, x matrix.Dense[Real], withVariances bool) (*evaluation, error) {
	members := len(m.ensemble)
	e := &evaluation{outputs: matrix.New[float64](members, x.Rows)}
	if withVariances {
		e.variances = matrix.New[float64](members, x.Rows)
	}
	if x.Rows == 0 {
		return e, nil
	}
	block := matrix.New[Real](min(forwardBlock, x.Rows), x.Cols)
	var features matrix.Dense[float64]
	passes := make([]*pass, members)
	for i, net := range m.ensemble {
		passes[i] = newForward(net, block.Rows)
		passes[i].team = team
		features = matrix.New[float64](block.Rows, passes[i].features().Cols)
	}
	for from := 0; from < x.Rows; from += forwardBlock {
		to := min(from+forwardBlock, x.Rows)
		rows := block.Slice(0, to-from)
		encode.Scale(rows, x.Slice(from, to), m.inputs)
		for i, p := range passes {
			p.inputs(rows, nil)
			matrix.Convert(matrix.View(to-from, 1, e.outputs.Row(i)[from:to]),
				p.forward().Block(0, to-from, m.output, m.output+1))
			if !withVariances {
				continue
			}
			matrix.Convert(features.Slice(0, p.n), p.features())
			if err := m.posteriors[i].variance(team, e.variances.Row(i)[from:to], features.Slice(0, p.n)); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// deviceBlock bounds the memory of the rows that a device evaluates together.
const deviceBlock = 64 << 20

// evaluateOn is evaluate on a device.
func (m *Model) evaluateOn(ctx context.Context, d Device, x matrix.Dense[Real],
	withVariances bool) (*evaluation, error) {
	p, err := m.describe(linalg.TeamOf(ctx), withVariances)
	if err != nil {
		return nil, err
	}
	members := len(m.ensemble)
	e := &evaluation{outputs: matrix.New[float64](members, x.Rows)}
	if withVariances {
		e.variances = matrix.New[float64](members, x.Rows)
	}
	most := max(forwardBlock, deviceBlock/(16*max(1, x.Cols)))
	for from := 0; from < x.Rows; from += most {
		rows := m.scaled(x.Slice(from, min(from+most, x.Rows)))
		found := matrix.New[float64](rows.Rows, p.Values[p.Result].Width)
		if err := d.Compute(ctx, p, found, matrix.Converted[float64](rows)); err != nil {
			if ctx.Err() != nil || errors.Is(err, kernels.ErrNoProgram) {
				return nil, err
			}
			return nil, &DeviceError{"predicting", d.Name(), err}
		}
		for i := range rows.Rows {
			for member := range members {
				e.outputs.Set(member, from+i, found.At(i, member))
				if withVariances {
					e.variances.Set(member, from+i, found.At(i, members+member))
				}
			}
		}
	}
	return e, nil
}
