package devicetest

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Predictions compares the predictions of a device, and their standard deviations, with those
// of the CPU. on returns a context with the device.
func Predictions(t *testing.T, on func(context.Context) context.Context) {
	for _, c := range []struct {
		name                    string
		rows, inputs            int
		members, targets, width int
		activation              network.Activation
	}{
		{"one network", 300, 5, 1, 1, 40, network.ReLU},
		{"an ensemble", 300, 5, 3, 1, 21, network.SiLU},
		{"several targets", 200, 3, 2, 3, 33, network.GELU},
		{"several blocks", 1100, 4100, 1, 1, 8, network.Tanh},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(c.inputs)))
			sample := network.Sample{X: normal[float32](r, 90, c.inputs), Targets: c.targets}
			for i := range 90 * c.targets {
				sample.Y = append(sample.Y, 3+2*math.Sin(float64(sample.X.At(i/c.targets, i%c.targets)))+0.1*r.NormFloat64())
			}
			config := network.Config{Architecture: network.Architecture{Hidden: []int{c.width, c.width}, Outputs: c.targets,
				Activation: c.activation}, Training: network.Training{Epochs: 5}}
			model, err := network.Fit(t.Context(), sample, network.Options{Config: config, Members: c.members})
			must(t, err)
			x := normal[float32](r, c.rows, c.inputs)
			for k := range c.targets {
				comparePredictions(t, on, model.Target(k), x)
			}
		})
	}
}

func comparePredictions(t *testing.T, on func(context.Context) context.Context, m *network.Model,
	x matrix.Dense[float32]) {
	t.Helper()
	want, err := m.PredictStd(t.Context(), x)
	must(t, err)
	got, err := m.PredictStd(on(t.Context()), x)
	must(t, err)
	means, err := m.Predict(on(t.Context()), x)
	must(t, err)
	for i := range x.Rows {
		if !(math.Abs(got.Mean[i]-want.Mean[i]) <= 1e-4) || got.Mean[i] != means[i] ||
			!(math.Abs(got.Std[i]-want.Std[i]) <= 1e-4*want.Std[i]) || !near(got.Posterior[i], want.Posterior[i]) {
			t.Fatalf("row %d is %v (or %v) ± %v, on the CPU %v ± %v", i, got.Mean[i], means[i], got.Std[i],
				want.Mean[i], want.Std[i])
		}
	}
	some, err := m.PredictStd(on(t.Context()), x.Slice(7, 30))
	must(t, err)
	for i, v := range some.Mean {
		if v != got.Mean[7+i] || some.Std[i] != got.Std[7+i] {
			t.Fatalf("row %d is %v ± %v by itself, with others %v ± %v", 7+i, v, some.Std[i], got.Mean[7+i], got.Std[7+i])
		}
	}
}
