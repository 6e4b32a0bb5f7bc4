package network

import (
	"context"
	"errors"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Train trains a network as the paper does (section "Regression with
// Fully-Connected Neural Networks", appendix "Neural Network Configuration"):
// the mean squared error over mini-batches is minimised with Adam, over a fresh
// random order of the rows in each epoch; the incomplete last mini-batch is left
// out. With rows for validation, the parameters at the end of the epoch with the
// lowest validation RMSE are kept, the first of equal ones; without, those of
// the last epoch.
//
// After each epoch progress is called from the same goroutine, unless it is nil.
//
// If training diverges, which is a *DivergedError, or the context ends, which is
// a *StoppedError, the network is returned beside the error, with the best
// parameters until then. On any other error it is nil.
func Train[T matrix.Float](ctx context.Context, c Config, d Data[T], progress func(Epoch)) (*MLP[T], History, error) {
	return trainMember(ctx, c, 0, d, progress)
}

func trainMember[T matrix.Float](ctx context.Context, c Config, member int, d Data[T], progress func(Epoch)) (*MLP[T], History, error) {
	c = c.WithDefaults()
	if err := errors.Join(c.Check(), d.check(linalg.TeamOf(ctx), c.Architecture.Outputs)); err != nil {
		return nil, History{}, err
	}
	net, err := NewMLP[T](d.X.Cols, c.Architecture, c.Seed, member)
	if err != nil {
		return nil, History{}, err
	}
	t := newTrainer(net, c.Training, d, rng.New(c.Seed, "network batches", uint64(member)))
	t.member, t.progress = member, progress
	history, err := t.run(ctx)
	return net, history, err
}
