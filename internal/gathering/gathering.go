package gathering

// Runs that execute at the same time, such as those of a benchmark, train one network each,
// again and again. A device trains many networks of one shape in little more time than one
// network, so a gathering trains those of several runs together.

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nextbatch/nextbatch/network"
)

// Gathering is a device that gathers the trainings of concurrent runs. Those of one shape
// are trained side by side, one group after the other, so that other runs can use the
// device and the CPU meanwhile. Which runs share a group depends on timing; a network
// does not, because a device trains it to the same bits in any company.
//
// A run joins, puts the gathering into its context with WithDevice, and leaves at its end.
// It trains one ensemble at a time.
type Gathering struct {
	network.Device
	full int

	mu      sync.Mutex
	runs    int // that have joined and not left
	busy    bool
	waiting []*gathered
}

// gathered is the training of one run.
type gathered struct {
	ctx  context.Context
	task *network.DeviceTraining
	data [3]int     // rows, validation rows and their labels
	done chan error // receives the outcome
}

// NewGathering returns a gathering for a device. A group starts when the device is free and
// the group has full trainings, or no run is still on its way to a training.
func NewGathering(d network.Device, full int) *Gathering {
	return &Gathering{Device: d, full: max(1, full)}
}

// Join counts a run: others may wait for its trainings until it leaves.
func (g *Gathering) Join() (leave func()) {
	g.change(func() { g.runs++ })
	return sync.OnceFunc(func() { g.change(func() { g.runs-- }) })
}

// TrainNetworks implements Device, for runs that have joined. If the context ends before the
// training starts, the networks keep their initial weights; if it ends later and other
// networks are being trained beside them, the training ends with theirs.
//
// A failure of the device is that of the whole group.
func (g *Gathering) TrainNetworks(ctx context.Context, t *network.DeviceTraining) error {
	one := newGathered(ctx, t)
	g.change(func() { g.waiting = append(g.waiting, one) })
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
	}
	started := true
	g.change(func() {
		if i := slices.Index(g.waiting, one); i >= 0 {
			g.waiting, started = slices.Delete(g.waiting, i, i+1), false
		}
	})
	if !started {
		return nil
	}
	return <-one.done
}

// change changes the state, and starts a group if it then can.
func (g *Gathering) change(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
	if group := g.next(); group != nil {
		g.busy = true
		g.waiting = slices.DeleteFunc(g.waiting, func(one *gathered) bool { return slices.Contains(group, one) })
		go g.train(group)
	}
}

// next returns the group that can start: one that is full, or else, once no run is on its
// way, the one with the fewest rows. So runs that lag behind catch up with the others.
func (g *Gathering) next() (group []*gathered) {
	if g.busy {
		return nil
	}
	for _, found := range g.groups() {
		if len(found) >= g.full {
			return found
		}
		if len(g.waiting) >= g.runs && (group == nil || found[0].rows() < group[0].rows()) {
			group = found
		}
	}
	return group
}

// groups sorts the waiting trainings by their shapes.
func (g *Gathering) groups() (groups [][]*gathered) {
	for _, one := range g.waiting {
		i := slices.IndexFunc(groups, func(group []*gathered) bool { return group[0].alike(one) })
		if i < 0 {
			groups, i = append(groups, nil), len(groups)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}

func newGathered(ctx context.Context, t *network.DeviceTraining) *gathered {
	d, labels := t.Data[0], 0
	for i := range d.ValidY.Rows {
		for _, y := range d.ValidY.Row(i) {
			if y == y { // a label that is missing is NaN
				labels++
			}
		}
	}
	return &gathered{ctx: ctx, task: t, data: [3]int{d.X.Rows, d.ValidX.Rows, labels}, done: make(chan error, 1)}
}

func (one *gathered) rows() int { return one.data[0] }

// alike reports whether the networks of two trainings can be trained side by side.
func (one *gathered) alike(other *gathered) bool {
	a, b := one.task.Networks[0], other.task.Networks[0]
	return one.data == other.data && slices.Equal(a.Sizes(), b.Sizes()) &&
		reflect.DeepEqual(a.Architecture(), b.Architecture()) &&
		reflect.DeepEqual(one.task.Training, other.task.Training)
}

// train trains a group on the device.
func (g *Gathering) train(group []*gathered) {
	ctx, end := whileAny(group)
	err := g.Device.TrainNetworks(ctx, together(group))
	end()
	g.change(func() { g.busy = false })
	for _, one := range group {
		one.done <- err
	}
}

// whileAny returns a context that ends when those of all runs have. end frees it.
func whileAny(group []*gathered) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	var left atomic.Int32
	left.Store(int32(len(group)))
	var forget []func() bool
	for _, one := range group {
		forget = append(forget, context.AfterFunc(one.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		cancel()
		for _, f := range forget {
			f()
		}
	}
}

// together returns the trainings of a group as one.
func together(group []*gathered) *network.DeviceTraining {
	if len(group) == 1 {
		return group[0].task
	}
	all := &network.DeviceTraining{Training: group[0].task.Training, Steps: group[0].task.Steps}
	var owner, number []int // of each network: its training, and its number there
	for k, one := range group {
		for i, net := range one.task.Networks {
			all.Networks, all.Data = append(all.Networks, net), append(all.Data, one.task.DataOf(i))
			owner, number = append(owner, k), append(number, i)
		}
	}
	all.Order = func(network int, rows []int) { group[owner[network]].task.Order(number[network], rows) }
	all.Ended = func(first, epoch int, reports []network.DeviceEpoch) (more bool) {
		for from := 0; from < len(reports); {
			k, to := owner[first+from], from+1
			for to < len(reports) && owner[first+to] == k {
				to++
			}
			if group[k].task.Ended(number[first+from], epoch, reports[from:to]) {
				more = true
			}
			from = to
		}
		return more
	}
	return all
}
