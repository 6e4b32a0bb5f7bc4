package network

// Training and prediction on a device, such as a GPU. A device trains networks of one shape
// side by side. What is small stays here: the initial weights, the order of the mini-batches,
// the learning rates and the history; so a device trains the networks that the CPU would, up
// to rounding.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Device is what trains and predicts somewhere else than in the memory of this process.
type Device interface {
	// Name names the device in results.
	Name() string
	// CannotTrain returns why the device does not train networks in that way, or "".
	CannotTrain(t *DeviceTraining) string
	// TrainNetworks trains, and leaves the parameters of the best epoch so far in the
	// networks, even if the context ends. After a failure the networks are not to be used.
	// It may be called from several goroutines; the same call leaves the same bits.
	TrainNetworks(ctx context.Context, t *DeviceTraining) error
	// Compute runs a program on rows, block by block, and writes its result, which is in
	// float64, to dst. A step that the device does not offer is kernels.ErrNoProgram. The
	// context is checked once per block.
	Compute(ctx context.Context, p *program.Program, dst, rows matrix.Dense[float64]) error
}

// DeviceTraining is networks of one shape to be trained, each in its own order of
// mini-batches, as the function Train does.
type DeviceTraining struct {
	Networks []*MLP   // with their initial weights
	Training Training // with every field set
	// Data is one for all networks, or one for each. All have as many rows, and as many
	// validation labels that are not missing.
	Data []Data

	// Steps are the constants of Adam in each step: see adam.
	Steps []deviceStep
	// Order draws the order of all rows in the next epoch of a network. It may be called
	// for several networks at a time.
	Order func(network int, rows []int)
	// Ended receives the reports of networks from first on, epoch by epoch, by one
	// goroutine at a time. It returns false if all of them have diverged or the context
	// has ended; then these networks are trained no further. Epochs that the device has
	// already started are reported, too.
	Ended func(first, epoch int, reports []DeviceEpoch) bool
}

// DataOf returns what a network is trained on.
func (t *DeviceTraining) DataOf(network int) Data {
	return t.Data[min(network, len(t.Data)-1)]
}

// TrainOnCPU trains as a device does, one network after the other: the oracle of devices.
func (t *DeviceTraining) TrainOnCPU(ctx context.Context) {
	for i, net := range t.Networks {
		going, stop := context.WithCancel(ctx)
		one := newTraining(net, t.Training, t.DataOf(i), deviceOrder{t, i})
		report := func(number int, e DeviceEpoch) {
			if !t.Ended(i, number, []DeviceEpoch{e}) {
				stop()
			}
		}
		one.progress = func(e Epoch) { report(e.Number, DeviceEpoch{Loss: e.Loss, ValidRMSE: e.ValidRMSE}) }
		_, err := one.run(going)
		stop()
		if diverged := (*DivergedError)(nil); errors.As(err, &diverged) {
			report(diverged.Number, DeviceEpoch{Loss: diverged.Loss, ValidRMSE: diverged.ValidRMSE, Diverged: true})
		}
	}
}

// deviceOrder draws the orders of one network.
type deviceOrder struct {
	of      *DeviceTraining
	network int
}

func (o deviceOrder) Permute(rows []int) { o.of.Order(o.network, rows) }

// deviceStep is what changes from a step of Adam to the next one.
type deviceStep struct{ Keep, Rate, Root Real }

// DeviceEpoch is how an epoch of a network went.
type DeviceEpoch struct {
	Loss      float64 // mean over its mini-batches
	ValidRMSE float64 // NaN without rows for validation
	Diverged  bool    // in this epoch or before: the network keeps its best parameters
}

type deviceKey struct{}

// WithDevice returns a context under which OnDevice trains on a device. A nil device is the
// CPU.
func WithDevice(ctx context.Context, d Device) context.Context {
	return context.WithValue(ctx, deviceKey{}, d)
}

// DeviceOf returns the device of a context; nil means the CPU.
func DeviceOf(ctx context.Context) Device {
	d, _ := ctx.Value(deviceKey{}).(Device)
	return d
}

// DeviceError is a failure of a device. What it trained or predicted is lost.
type DeviceError struct {
	Work   string // "training" or "predicting"
	Device string
	Cause  error
}

func (e *DeviceError) Error() string { return fmt.Sprintf("%s on %s: %v", e.Work, e.Device, e.Cause) }
func (e *DeviceError) Unwrap() error { return e.Cause }

// OnDevice trains on the device of the context, all members of an ensemble side by side.
// Without a device, and where the device has no version of a training, it is CPU; the
// history then explains why.
type OnDevice struct{}

// Train implements Trainer.
func (OnDevice) Train(ctx context.Context, c Config, members int, d Data,
	progress func(Epoch)) (Ensemble, []History, error) {
	device := DeviceOf(ctx)
	if device == nil {
		return CPU{}.Train(ctx, c, members, d, progress)
	}
	e, histories, why, err := trainOn(ctx, device, c, members, d, progress)
	if why == "" {
		return e, histories, err
	}
	e, histories, err = CPU{}.Train(ctx, c, members, d, progress)
	for i := range histories {
		//warning:on-the-cpu
		histories[i].Note = fmt.Sprintf("the networks were trained on the CPU, not on %s: %s", device.Name(), why)
	}
	return e, histories, err
}

// trainOn trains on a device, unless there is a reason to refuse.
func trainOn(ctx context.Context, device Device, c Config, members int, d Data,
	progress func(Epoch)) (_ Ensemble, _ []History, refusal string, _ error) {
	c = c.WithDefaults()
	if members <= 0 {
		return nil, nil, "", fmt.Errorf("an ensemble must have at least 1 member, not %d", members)
	}
	team := linalg.TeamOf(ctx)
	err := errors.Join(c.Check(), d.check(team, c.Architecture.Outputs))
	if err != nil {
		return nil, nil, "", err
	}
	t := &deviceTraining{ctx: ctx, how: c.Training, progress: progress, validated: d.ValidX.Rows > 0}
	task := &DeviceTraining{Training: c.Training, Data: []Data{d}, Ended: t.ended,
		Order: func(network int, rows []int) { t.members[network].order.Permute(rows) }}
	if task.Networks, err = newMLPs(team, d.X.Cols, c, members); err != nil {
		return nil, nil, "", err
	}
	for i := range members {
		t.members = append(t.members, deviceMember{order: rng.New(c.Seed, "network batches", uint64(i)),
			bestRMSE: math.Inf(1)})
	}
	if d.Weights.Rows > 0 {
		return nil, nil, "it trains only on labels that count alike", nil
	}
	if why := device.CannotTrain(task); why != "" {
		return nil, nil, why, nil
	}
	task.Steps = deviceSteps(c.Training, d.X.Rows)
	if err := device.TrainNetworks(ctx, task); err != nil {
		return nil, nil, "", &DeviceError{"training", device.Name(), err}
	}
	e, histories, err := t.finish(task.Networks, device.Name())
	return e, histories, "", err
}

// newMLPs draws the initial parameters of the members of an ensemble, each by itself.
func newMLPs(team *linalg.Team, inputs int, c Config, members int) ([]*MLP, error) {
	nets, errs := make([]*MLP, members), make([]error, members)
	team.OverPieces(members, 1, func(i, _, _ int) { nets[i], errs[i] = NewMLP(inputs, c.Architecture, c.Seed, i) })
	return nets, errors.Join(errs...)
}

// deviceSteps returns the constants of all steps of a training on the given number of rows.
func deviceSteps(t Training, rows int) []deviceStep {
	steps := make([]deviceStep, t.Epochs*(rows/min(t.Batch, rows)))
	for i := range steps {
		s := adamStep(t, i+1, t.Rate*t.Schedule.factor(i, len(steps)))
		steps[i] = deviceStep{s.Keep, s.Rate, s.Root}
	}
	return steps
}

// deviceTraining is what is known of the networks while a device trains them.
type deviceTraining struct {
	ctx       context.Context
	how       Training
	progress  func(Epoch)
	validated bool
	members   []deviceMember
}

type deviceMember struct {
	order    *rng.Stream
	history  History
	bestRMSE float64
	diverged error
}

// ended is DeviceTraining.Ended.
func (t *deviceTraining) ended(first, epoch int, reports []DeviceEpoch) bool {
	sound := false
	for i, r := range reports {
		m := &t.members[first+i]
		if m.diverged != nil {
			continue
		}
		now := Epoch{Member: first + i, Number: epoch, Of: t.how.Epochs, Loss: r.Loss, ValidRMSE: r.ValidRMSE}
		if r.Diverged {
			m.diverged = &DivergedError{Epoch: now, Kept: m.history.Best}
			continue
		}
		sound = true
		m.history.Epochs = append(m.history.Epochs, now)
		if !t.validated || r.ValidRMSE < m.bestRMSE {
			m.history.Best, m.bestRMSE = epoch, r.ValidRMSE
		}
		if t.progress != nil {
			t.progress(now)
		}
	}
	return sound && t.ctx.Err() == nil
}

// finish returns the members as Trainer promises: with errors for those that diverged, and
// without those that the end of the context left untouched.
func (t *deviceTraining) finish(networks Ensemble, device string) (Ensemble, []History, error) {
	var histories []History
	var found error
	for i, m := range t.members {
		done := len(m.history.Epochs)
		if m.diverged == nil && done < t.how.Epochs {
			if done == 0 && i > 0 {
				break
			}
			found = errors.Join(found, &StoppedError{i, done + 1, t.how.Epochs, m.history.Best, context.Cause(t.ctx)})
		}
		found = errors.Join(found, m.diverged)
		m.history.Device = device
		histories = append(histories, m.history)
	}
	return networks[:len(histories)], histories, found
}
