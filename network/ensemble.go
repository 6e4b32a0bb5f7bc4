package network

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/matrix"
)

// Ensemble is networks of one architecture that were trained on the same rows,
// each from its own initial weights and in its own order of mini-batches.
type Ensemble[T matrix.Float] []*MLP[T]

// TrainEnsemble trains so many members, one after the other, as Train does;
// member 0 is the network that Train returns.
//
// A member that diverges is kept with its best parameters, and the others are
// still trained; the error then joins a *DivergedError for each. If the context
// ends, the members until then are returned, the last of them with its best
// parameters, and the error holds a *StoppedError.
func TrainEnsemble[T matrix.Float](ctx context.Context, c Config, members int, d Data[T], progress func(Epoch)) (Ensemble[T], []History, error) {
	if members <= 0 {
		return nil, nil, fmt.Errorf("an ensemble has %d members", members)
	}
	var ensemble Ensemble[T]
	var histories []History
	var found error
	for i := range members {
		net, history, err := trainMember(ctx, c, i, d, progress)
		found = errors.Join(found, err)
		if net == nil {
			return nil, nil, found
		}
		ensemble, histories = append(ensemble, net), append(histories, history)
		if stopped := (*StoppedError)(nil); errors.As(err, &stopped) {
			break
		}
	}
	return ensemble, histories, found
}

// Predict writes to row i of dst the outputs of member i for all rows of x, one
// after the other: dst has a row for each member, and a column for each row of x
// and output.
func (e Ensemble[T]) Predict(ctx context.Context, dst, x matrix.Dense[T]) {
	for i, net := range e {
		matrix.MustMatch("network.Ensemble.Predict, destination", dst.Shape(),
			matrix.Shape{Rows: len(e), Cols: x.Rows * net.Outputs()})
		net.Predict(ctx, matrix.View(x.Rows, net.Outputs(), dst.Row(i)), x)
	}
}
