package devicetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/nextbatch/nextbatch/internal/gathering"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Training tests what a device trains. on returns a context with the device.
func Training(t *testing.T, on func(context.Context) context.Context) {
	for _, c := range trainings() {
		t.Run(c.name, func(t *testing.T) { compareSteps(t, on, c) })
	}
	t.Run("whole trainings", func(t *testing.T) { compareErrors(t, on) })
	t.Run("divergence", func(t *testing.T) { compareDivergence(t, on) })
	t.Run("a context that ends", func(t *testing.T) { stopTraining(t, on) })
	t.Run("in company", func(t *testing.T) { compareCompany(t, on) })
}

// CPU is the CPU as a device that trains and predicts.
type CPU struct{}

// Name implements network.Device.
func (CPU) Name() string { return "the CPU as a device" }

// CannotTrain implements network.Device.
func (CPU) CannotTrain(*network.DeviceTraining) string { return "" }

// TrainNetworks implements network.Device.
func (CPU) TrainNetworks(ctx context.Context, t *network.DeviceTraining) error {
	t.TrainOnCPU(ctx)
	return nil
}

// Compute implements network.Device.
func (CPU) Compute(ctx context.Context, p *program.Program, dst, rows matrix.Dense[float64]) error {
	f, err := interpret(ctx, p, rows)
	if err != nil {
		return err
	}
	return f.Fetch(dst, 0)
}

// compareCompany trains networks of several runs together, each on rows of its own, and
// requires the bits of each run alone.
func compareCompany(t *testing.T, on func(context.Context) context.Context) {
	ctx := on(t.Context())
	device := network.DeviceOf(ctx)
	if device == nil {
		device = CPU{}
	}
	for _, c := range []trainingCase{
		{name: "one output", rows: 300, valid: 130, inputs: 5,
			config: network.Config{Architecture: network.Architecture{Hidden: []int{70, 33}}}},
		{name: "a linear model", rows: 90, valid: 20, inputs: 3,
			config: network.Config{Architecture: network.Architecture{Hidden: []int{}}}},
		{name: "several targets", rows: 190, inputs: 6, missingLabels: true,
			config: network.Config{Architecture: network.Architecture{Hidden: []int{40, 24}, Outputs: 3,
				Activation: network.SiLU}}},
	} {
		c.config.Training = network.Training{Epochs: 3, Batch: 64}
		const runs = 4
		var alone, together [runs]network.Ensemble
		train := func(ctx context.Context, run int) network.Ensemble {
			c := c
			c.config.Seed, c.draw = uint64(run), uint64(run)
			e, histories, err := network.OnDevice{}.Train(ctx, c.config, 1+run%3, c.data(), nil)
			if err != nil || histories[0].Device == "" {
				t.Errorf("%s, run %d: trained on %q, error %v", c.name, run, histories[0].Device, err)
			}
			return e
		}
		g := gathering.NewGathering(device, runs)
		var wait sync.WaitGroup
		for run := range runs {
			alone[run] = train(network.WithDevice(ctx, device), run)
			leave := g.Join()
			wait.Go(func() {
				defer leave()
				together[run] = train(network.WithDevice(ctx, g), run)
			})
		}
		wait.Wait()
		for run := range runs {
			requireSame(t, fmt.Sprintf("%s, run %d", c.name, run), together[run], alone[run])
		}
	}
}

// requireSame requires the same bits of two ensembles.
func requireSame(t *testing.T, what string, got, want network.Ensemble) {
	for i := range want {
		for l := range want[i].Layers() {
			if !reflect.DeepEqual(got[i].Weights(l).Data, want[i].Weights(l).Data) ||
				!reflect.DeepEqual(got[i].Bias(l), want[i].Bias(l)) {
				t.Errorf("%s: layer %d of member %d differs", what, l, i)
			}
		}
	}
}

// trainingCase is a training of a few steps.
type trainingCase struct {
	name          string
	config        network.Config
	members       int
	rows, valid   int
	inputs        int
	missingLabels bool
	draw          uint64 // of the rows
}

func trainings() []trainingCase {
	shape := func(activation network.Activation, outputs int, hidden ...int) network.Config {
		return network.Config{Architecture: network.Architecture{Hidden: hidden, Outputs: outputs, Activation: activation},
			Training: network.Training{Epochs: 2, Batch: 64}, Seed: 5}
	}
	list := []trainingCase{
		{name: "the paper's network", config: network.Config{Training: network.Training{Epochs: 1}, Seed: 1}, members: 1,
			rows: 768, valid: 300, inputs: 10},
		{name: "an ensemble", config: shape(network.ReLU, 1, 96, 40), members: 5, rows: 200, valid: 50, inputs: 7},
		{name: "no validation rows", config: shape(network.ReLU, 1, 64, 64), members: 2, rows: 130, inputs: 33},
		{name: "odd widths", config: shape(network.SiLU, 1, 37, 131, 5), members: 1, rows: 131, valid: 3, inputs: 3},
		{name: "one hidden layer", config: shape(network.SiLU, 1, 50), members: 1, rows: 100, valid: 20, inputs: 6},
		{name: "a linear model", config: shape(network.ReLU, 1, []int{}...), members: 3, rows: 100, valid: 20, inputs: 6},
		{name: "several targets", config: shape(network.ReLU, 3, 60, 33), members: 2, rows: 190, valid: 40,
			inputs: 6, missingLabels: true},
		{name: "many targets", config: shape(network.Tanh, 41, 60, 33), members: 1, rows: 190, valid: 40,
			inputs: 6, missingLabels: true},
		{name: "fewer rows than a mini-batch", config: shape(network.ReLU, 1, 30), members: 1, rows: 11, valid: 2, inputs: 2},
		{name: "many validation rows", config: shape(network.ReLU, 1, 30, 20), members: 2, rows: 64, valid: 2100, inputs: 2},
	}
	decay := trainingCase{name: "decay, schedule and moments", config: shape(network.ReLU, 1, 40, 40), members: 1,
		rows: 256, valid: 9, inputs: 4}
	decay.config.Training.Decay, decay.config.Training.Schedule = 0.1, network.Hat
	decay.config.Training.Beta1, decay.config.Training.Beta2, decay.config.Training.Eps = new(0.8), new(0.99), 1e-6
	bare := trainingCase{name: "no biases", config: shape(network.ReLU, 1, 40, 40), members: 1,
		rows: 128, valid: 9, inputs: 4}
	bare.config.Architecture.SigmaB = new(0.0)
	list = append(list, decay, bare)
	for a := range network.Sigmoid + 1 {
		list = append(list, trainingCase{name: a.String(), config: shape(a, 1, 48, 48), members: 1,
			rows: 192, valid: 30, inputs: 5})
	}
	return list
}

// data returns random rows with labels that can be learnt.
func (c trainingCase) data() network.Data {
	r := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.inputs)+c.draw<<32))
	outputs := max(c.config.Architecture.Outputs, 1)
	part := func(rows int) (x, y matrix.Dense[float32]) {
		x, y = normal[float32](r, rows, c.inputs), matrix.New[float32](rows, outputs)
		for i := range rows {
			for j := range outputs {
				v := math.Sin(float64(x.At(i, 0))+float64(j)) + 0.5*float64(x.At(i, c.inputs-1))*float64(x.At(i, c.inputs/2))
				if c.missingLabels && j > 0 && r.IntN(3) == 0 {
					v = math.NaN()
				}
				y.Set(i, j, float32(v))
			}
		}
		return x, y
	}
	var d network.Data
	d.X, d.Y = part(c.rows)
	if c.valid > 0 {
		d.ValidX, d.ValidY = part(c.valid)
	}
	return d
}

// compareSteps requires the weights of the CPU after a few steps, and the same bits again.
func compareSteps(t *testing.T, on func(context.Context) context.Context, c trainingCase) {
	d := c.data()
	want, course, err := network.CPU{}.Train(t.Context(), c.config, c.members, d, nil)
	must(t, err)
	train := func() (network.Ensemble, []network.History) {
		got, found, err := network.OnDevice{}.Train(on(t.Context()), c.config, c.members, d, nil)
		must(t, err)
		if len(got) != c.members || len(found) != c.members {
			t.Fatalf("%d networks and %d histories", len(got), len(found))
		}
		return got, found
	}
	got, found := train()
	if found[0].Note != "" {
		t.Fatal(found[0].Note)
	}
	for i, h := range found {
		if h.Best != course[i].Best {
			t.Errorf("member %d is taken from epoch %d, on the CPU %d", i, h.Best, course[i].Best)
		}
		for e, epoch := range h.Epochs {
			w := course[i].Epochs[e]
			if epoch.Number != w.Number || epoch.Of != w.Of || epoch.Member != w.Member || !close3(epoch.Loss, w.Loss) ||
				!close3(epoch.ValidRMSE, w.ValidRMSE) {
				t.Errorf("%+v, on the CPU %+v", epoch, w)
			}
		}
		if off := weightsOff(got[i], want[i]); !(off < 1e-4) {
			t.Errorf("the weights of member %d are off by %.2g of their deviation", i, off)
		}
	}
	again, _ := train()
	requireSame(t, "trained again", again, got)
}

// close3 compares numbers to three digits.
func close3(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-3*math.Max(math.Abs(a), math.Abs(b))
}

// weightsOff returns the root mean square of the differences of weights and biases, in
// units of that of the weights.
func weightsOff(a, b *network.MLP) float64 {
	off, all := 0.0, 0.0
	add := func(v, w float32) {
		off += math.Pow(float64(v)-float64(w), 2)
		all += math.Pow(float64(w), 2)
	}
	for l := range a.Layers() {
		for i, v := range a.Weights(l).Data {
			add(v, b.Weights(l).Data[i])
		}
		for i, v := range a.Bias(l) {
			add(v, b.Bias(l)[i])
		}
	}
	return math.Sqrt(off / all)
}

// compareErrors requires validation errors near those of the CPU after whole trainings,
// where rounding has had time to grow.
func compareErrors(t *testing.T, on func(context.Context) context.Context) {
	for _, a := range []network.Activation{network.ReLU, network.SiLU} {
		c := trainingCase{rows: 400, valid: 300, inputs: 5, members: 4,
			config: network.Config{Architecture: network.Architecture{Hidden: []int{96, 96}, Activation: a},
				Training: network.Training{Epochs: 100, Batch: 64}}}
		d := c.data()
		_, want, err := network.CPU{}.Train(t.Context(), c.config, c.members, d, nil)
		must(t, err)
		_, got, err := network.OnDevice{}.Train(on(t.Context()), c.config, c.members, d, nil)
		must(t, err)
		if x, y := meanBest(got), meanBest(want); math.Abs(x-y) > 0.05*y {
			t.Errorf("%v: the validation RMSE is %.4f, on the CPU %.4f", a, x, y)
		}
	}
}

func meanBest(list []network.History) (mean float64) {
	for _, h := range list {
		mean += h.Epochs[h.Best-1].ValidRMSE / float64(len(list))
	}
	return mean
}

// compareDivergence trains at a rate that no training survives.
func compareDivergence(t *testing.T, on func(context.Context) context.Context) {
	c := trainingCase{rows: 64, valid: 10, inputs: 3}
	d := c.data()
	config := network.Config{Architecture: network.Architecture{Hidden: []int{16, 16}},
		Training: network.Training{Epochs: 8, Batch: 32, Rate: 1e30}}
	_, want, wanted := network.CPU{}.Train(t.Context(), config, 2, d, nil)
	e, got, err := network.OnDevice{}.Train(on(t.Context()), config, 2, d, nil)
	if len(e) != 2 || err == nil || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", wanted) {
		t.Fatalf("%d networks, %v; on the CPU %v", len(e), err, wanted)
	}
	for i := range got {
		if got[i].Best != want[i].Best || len(got[i].Epochs) != len(want[i].Epochs) {
			t.Errorf("member %d keeps epoch %d of %d, on the CPU %d of %d", i, got[i].Best, len(got[i].Epochs),
				want[i].Best, len(want[i].Epochs))
		}
		for l := range e[i].Layers() {
			for _, v := range e[i].Weights(l).Data {
				if v-v != 0 {
					t.Fatalf("member %d keeps %v", i, v)
				}
			}
		}
	}
}

// stopTraining ends the context after the first epoch, and before it.
func stopTraining(t *testing.T, on func(context.Context) context.Context) {
	c := trainingCase{rows: 64, valid: 10, inputs: 3}
	config := network.Config{Architecture: network.Architecture{Hidden: []int{16}},
		Training: network.Training{Epochs: 1000, Batch: 32}}
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	e, histories, err := network.OnDevice{}.Train(on(ctx), config, 1, c.data(), func(network.Epoch) { told++; cancel() })
	stopped := (*network.StoppedError)(nil)
	if len(e) != 1 || len(histories) != 1 || !errors.As(err, &stopped) || told == 0 || told > 100 ||
		told != len(histories[0].Epochs) || stopped.Number != told+1 {
		t.Errorf("%d networks, %d epochs, %v", len(e), told, err)
	}
	e, _, err = network.OnDevice{}.Train(on(ctx), config, 3, c.data(), nil)
	if len(e) != 1 || !errors.As(err, &stopped) || stopped.Number != 1 || stopped.Kept != 0 {
		t.Errorf("%d networks, %v", len(e), err)
	}
}
