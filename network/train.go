package network

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// Trainer trains ensembles: CPU, or OnDevice, which trains on the device of the context, such
// as a GPU. Everything that trains takes a Trainer: Options, a
// benchmark, a request for a batch.
//
// Train trains the given number of members with the configuration, each from its own initial
// weights and in its own order of mini-batches, both of which follow from the seed
// and the number of the member. Its contract:
//
//   - The configuration need not have its defaults filled in. What is wrong with
//     it or with the data is an error, and then there is no ensemble.
//   - The same call returns the same bits again, whatever runs at the same time.
//     Trainers may differ from one another by rounding.
//   - The data belong to the caller, who does not change them until Train returns.
//     Train only reads them and keeps nothing of them. The networks that it returns
//     hold all their parameters in main memory and belong to the caller.
//   - There is a history for each network.
//   - progress, unless nil, is called after each epoch, by one goroutine at a time
//     and never after Train has returned.
//   - A member that diverges is kept with its best parameters, and the others are
//     still trained; the error then joins a *DivergedError for each.
//   - If the context ends, the members so far are returned, those under way with
//     their best parameters, and the error holds a *StoppedError.
//
// Train may be called from several goroutines.
type Trainer interface {
	Train(ctx context.Context, c Config, members int, d Data, progress func(Epoch)) (Ensemble, []History, error)
}

// CPU trains one member after the other, each as the function Train does, on the
// threads that the context grants. Member 0 is the network that Train returns.
type CPU struct{}

// Train implements Trainer. It calls progress from the goroutine of the caller.
func (CPU) Train(ctx context.Context, c Config, members int, d Data,
	progress func(Epoch)) (Ensemble, []History, error) {
	return trainMembers(members, func(member int) (*MLP, History,
		error) {
		return trainMember(ctx, c, member, d, progress)
	})
}

// trainMembers trains one member after the other.
func trainMembers(members int, train func(member int) (*MLP, History, error)) (Ensemble, []History, error) {
	if members <= 0 {
		return nil, nil, fmt.Errorf("an ensemble must have at least 1 member, not %d", members)
	}
	var ensemble Ensemble
	var histories []History
	var found error
	for i := range members {
		net, history, err := train(i)
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

// Train trains a single network as the paper does (section "Regression with
// Fully-Connected Neural Networks", appendix "Neural Network Configuration"):
// Adam minimises the mean squared error over mini-batches, with a fresh random
// order of the rows in each epoch; the incomplete last mini-batch is dropped.
// With validation rows, the parameters at the end of the epoch with the lowest
// validation RMSE are kept, the first of equal ones; without, those of the last
// epoch.
//
// Progress, unless nil, is called after each epoch, from the same goroutine.
//
// If training diverges, which is a *DivergedError, or the context ends, which is
// a *StoppedError, the network is returned with the error and has the best
// parameters so far. On any other error it is nil.
func Train(ctx context.Context, c Config, d Data, progress func(Epoch)) (*MLP, History, error) {
	return trainMember(ctx, c, 0, d, progress)
}

func trainMember(ctx context.Context, c Config, member int, d Data, progress func(Epoch)) (*MLP, History, error) {
	t, err := newMember(ctx, c, member, d, progress)
	if err != nil {
		return nil, History{}, err
	}
	history, err := t.run(ctx)
	return t.net, history, err
}

// newMember returns the training of a member at its start.
func newMember(ctx context.Context, c Config, member int, d Data, progress func(Epoch)) (*training, error) {
	c = c.WithDefaults()
	if err := errors.Join(c.Check(), d.check(linalg.TeamOf(ctx), c.Architecture.Outputs)); err != nil {
		return nil, err
	}
	net, err := NewMLP(d.X.Cols, c.Architecture, c.Seed, member)
	if err != nil {
		return nil, err
	}
	t := newTraining(net, c.Training, d, rng.New(c.Seed, "network batches", uint64(member)))
	t.member, t.progress = member, progress
	return t, nil
}
