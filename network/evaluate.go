package network

import (
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// evaluation is what the members of an ensemble say about rows: a row for each
// member, a column for each row of the input, in scaled labels.
type evaluation struct {
	outputs   matrix.Dense[float64]
	variances matrix.Dense[float64] // k(x, x) of the posterior; empty if not asked for
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
func (f *fit[T]) evaluate(team *linalg.Team, x matrix.Dense[T], withVariances bool) (*evaluation, error) {
	members := len(f.ensemble)
	e := &evaluation{outputs: matrix.New[float64](members, x.Rows)}
	if withVariances {
		e.variances = matrix.New[float64](members, x.Rows)
	}
	if x.Rows == 0 {
		return e, nil
	}
	block := matrix.New[T](min(forwardBlock, x.Rows), x.Cols)
	var features matrix.Dense[float64]
	passes := make([]*pass[T], members)
	for m, net := range f.ensemble {
		passes[m] = newForward(net, block.Rows)
		passes[m].team = team
		features = matrix.New[float64](block.Rows, passes[m].features().Cols)
	}
	for from := 0; from < x.Rows; from += forwardBlock {
		to := min(from+forwardBlock, x.Rows)
		rows := block.Slice(0, to-from)
		dataset.Scale(rows, x.Slice(from, to), f.inputs)
		for m, p := range passes {
			p.inputs(rows, nil)
			matrix.Convert(matrix.View(to-from, 1, e.outputs.Row(m)[from:to]), p.forward())
			if !withVariances {
				continue
			}
			matrix.Convert(features.Slice(0, p.n), p.features())
			if err := f.posteriors[m].variance(team, e.variances.Row(m)[from:to], features.Slice(0, p.n)); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}
