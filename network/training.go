package network

import (
	"context"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// training is a training in progress, with all the memory that it needs: a step
// allocates nothing.
type training struct {
	net      *MLP
	how      Training
	data     Data
	member   int
	progress func(Epoch)

	// order draws the order of the rows for an epoch: a stream.
	order interface{ Permute(dst []int) }

	rows    []int // in the order of the epoch
	batch   int
	now     Epoch // under way, with the sum of its losses so far
	drawn   bool  // its order
	taken   int   // its mini-batches so far
	step    int   // of all epochs so far
	steps   int   // in total
	pass    *pass
	head    *head
	learner learner
	adam    *adam

	validation *pass // nil without validation rows
	units      arrangement
	regrouping regrouping
	best       []Real // parameters, of units in this order:
	bestOrder  arrangement
	bestRMSE   float64
	history    History
}

func newTraining(net *MLP, how Training, d Data, order interface{ Permute(dst []int) }) *training {
	t := &training{
		net: net, how: how, data: d, order: order,
		rows: make([]int, d.X.Rows), batch: min(how.Batch, d.X.Rows),
		adam: newAdam(net.parameters, how),
		best: make([]Real, len(net.parameters)), bestRMSE: math.Inf(1),
	}
	t.steps = how.Epochs * (d.X.Rows / t.batch)
	t.pass = newBackward(net, t.batch)
	t.pass.trackActivity()
	t.head = newHead(t.pass, d, t.batch)
	t.learner = learner{adam: t.adam, written: make([]corner, net.Layers())}
	t.regrouping = newRegrouping(net)
	t.units, t.bestOrder = newArrangement(net.sizes), newArrangement(net.sizes)
	if d.ValidX.Rows > 0 {
		t.validation = newForward(net, min(forwardBlock, d.ValidX.Rows))
	}
	t.history.Epochs = make([]Epoch, 0, min(how.Epochs, 1<<12))
	copy(t.best, net.parameters)
	return t
}

// run trains to the end and leaves the best parameters in the network.
func (t *training) run(ctx context.Context) (History, error) {
	err := t.advance(ctx)
	t.finish()
	return t.history, err
}

// advance trains to the end, from the present state.
func (t *training) advance(ctx context.Context) error {
	t.pass.team = linalg.TeamOf(ctx)
	if t.validation != nil {
		t.validation.team = t.pass.team
	}
	if t.now.Number == 0 {
		t.begin(1)
	}
	for t.now.Number <= t.how.Epochs {
		if err := t.epoch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finish leaves the best parameters in the network.
func (t *training) finish() {
	copy(t.net.parameters, t.best)
	t.net.restore(t.bestOrder)
}

// begin begins an epoch.
func (t *training) begin(number int) {
	t.now = Epoch{Member: t.member, Number: number, Of: t.how.Epochs, ValidRMSE: math.NaN()}
	t.drawn, t.taken = false, 0
}

// epoch takes one step for each remaining complete mini-batch, then validates.
func (t *training) epoch(ctx context.Context) error {
	if !t.drawn {
		t.order.Permute(t.rows)
		t.drawn = true
	}
	batches := len(t.rows) / t.batch
	for ; t.taken < batches; t.taken++ {
		if ctx.Err() != nil {
			return &StoppedError{t.member, t.now.Number, t.now.Of, t.history.Best, context.Cause(ctx)}
		}
		t.now.Loss += t.take(t.rows[t.taken*t.batch:(t.taken+1)*t.batch]) / float64(batches)
	}
	now := t.now
	if t.validation != nil {
		now.ValidRMSE = t.validate()
	}
	if !finite(now.Loss) || !t.net.finite() || t.validation != nil && !finite(now.ValidRMSE) {
		return &DivergedError{Epoch: now, Kept: t.history.Best}
	}
	t.keep(now)
	t.regroup()
	if t.progress != nil {
		t.progress(now)
	}
	t.begin(now.Number + 1)
	return nil
}

// keep records an epoch, and its parameters if they are the best so far.
func (t *training) keep(now Epoch) {
	t.history.Epochs = append(t.history.Epochs, now)
	if t.validation != nil {
		if !(now.ValidRMSE < t.bestRMSE) {
			return
		}
		t.bestRMSE = now.ValidRMSE
	}
	t.history.Best = now.Number
	copy(t.best, t.net.parameters)
	t.bestOrder.set(t.units)
}

func finite(v float64) bool { return v-v == 0 }

// take makes one step on a mini-batch and returns the loss before it.
func (t *training) take(rows []int) (loss float64) {
	p := t.pass
	p.inputs(t.data.X, rows)
	p.allHidden()
	t.adam.begin(t.rate())
	t.step++
	loss = t.learnLast(rows)
	for l := t.net.Layers() - 2; l >= 0; l-- {
		if l > 0 {
			p.backward(l) // with the weights as they were in the forward pass
		}
		t.learner.learn(p, l)
	}
	return loss
}

// learnLast is the step of the last layer: it returns the loss before it and
// leaves g of the layer below.
func (t *training) learnLast(rows []int) (loss float64) {
	if t.net.Outputs() == 1 {
		return t.head.run(rows, t.adam)
	}
	last := t.net.Layers() - 1
	loss = t.residuals(t.pass.output(), rows)
	if last > 0 {
		t.pass.backward(last)
	}
	t.learner.learn(t.pass, last)
	return loss
}

// rate is the learning rate of the step to come.
func (t *training) rate() float64 {
	return t.how.Rate * t.how.Schedule.factor(t.step, t.steps)
}

// residuals returns the mean squared error of outputs z for the given rows and
// writes its gradient, 2·(z - y)/n times what the label counts, to where the backward pass starts. n counts the
// labels that are not missing; where one is missing, the gradient is 0.
func (t *training) residuals(z matrix.Dense[Real], rows []int) float64 {
	n := 0
	for _, row := range rows {
		n += known(t.data.Y.Row(row))
	}
	g, factor, sum := t.pass.grad[t.net.Layers()-1], Real(2/float64(n)), 0.0
	for i, row := range rows {
		y, to := t.data.Y.Row(row), g.Row(i)
		for j, v := range z.Row(i) {
			r := v - y[j]
			if y[j] != y[j] {
				r = 0
			}
			weighted := r
			if t.data.Weights.Rows > 0 {
				weighted *= t.data.Weights.At(row, j)
			}
			to[j] = factor * weighted
			sum += float64(r) * float64(weighted)
		}
	}
	return sum / float64(n)
}

// known counts the labels of a row that are not missing.
func known(labels []Real) (n int) {
	for _, y := range labels {
		if y == y {
			n++
		}
	}
	return n
}

// validate returns the RMSE on the validation rows, over all labels that are not
// missing.
func (t *training) validate() float64 {
	sum, labels := 0.0, 0
	x, y := t.data.ValidX, t.data.ValidY
	for from := 0; from < x.Rows; from += forwardBlock {
		to := min(from+forwardBlock, x.Rows)
		t.validation.inputs(x.Slice(from, to), nil)
		squares, n := squaredErrors(t.validation.forward(), y.Slice(from, to))
		sum, labels = sum+squares, labels+n
	}
	return math.Sqrt(sum / float64(labels))
}

// squaredErrors returns the sum over the labels that are not missing, and their number.
func squaredErrors(z, y matrix.Dense[Real]) (sum float64, n int) {
	for i := range z.Rows {
		want := y.Row(i)
		for j, v := range z.Row(i) {
			if want[j] != want[j] {
				continue
			}
			r := float64(v) - float64(want[j])
			sum += r * r
			n++
		}
	}
	return sum, n
}
