package network

import (
	"context"

	"github.com/nextbatch/nextbatch/matrix"
)

// Ensemble is networks of one architecture that were trained on the same rows,
// each from its own initial weights and in its own order of mini-batches.
type Ensemble []*MLP

// Predict writes to row i of dst the outputs of member i for all rows of x, one
// after the other: dst has a row for each member, and a column for each row of x
// and output.
func (e Ensemble) Predict(ctx context.Context, dst, x matrix.Dense[Real]) {
	for i, net := range e {
		matrix.MustMatch("network.Ensemble.Predict, destination", dst.Shape(),
			matrix.Shape{Rows: len(e), Cols: x.Rows * net.Outputs()})
		net.Predict(ctx, matrix.View(x.Rows, net.Outputs(), dst.Row(i)), x)
	}
}
