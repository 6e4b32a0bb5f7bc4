//go:build network64

package network

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
)

// Training without dead units is compared with training in full. Both differ in the order of their sums
// alone, which in float32 grows to differences in the third digit.

func TestDeadUnitsAreLeftOutExactly(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		fast, plain := withDeadUnits(t, outputs, 6), withDeadUnits(t, outputs, 6)
		plain.pass.activity = nil
		var dead []int
		fast.progress = func(Epoch) { dead = slices.Clone(fast.pass.dead) }
		history, err := fast.run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		wantHistory, err := plain.run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		panel := fast.pass.set.TileCols()
		if dead[0] < 90/panel*panel || dead[1] < 70/panel*panel {
			t.Errorf("%d outputs: only %v leading columns were left out", outputs, dead)
		}
		if history.Best != wantHistory.Best {
			t.Errorf("%d outputs: epoch %d was kept, want %d", outputs, history.Best, wantHistory.Best)
		}
		golden.MustMatchVector(t, "parameters", fast.net.parameters, plain.net.parameters, 1e-9)
		golden.MustMatchVector(t, "gradient", norms(fast), norms(plain), 1e-9)
	}
}

// norms returns what does not depend on the order of the units: the norm of the
// last gradient of each layer.
func norms(t *training) (out []float64) {
	for l := range t.net.Layers() {
		out = append(out, math.Sqrt(t.pass.set.SumSquares(t.net.layer(t.adam.gradient, l).Data)))
	}
	return out
}

// Units that die, or come back to life, after they were reordered.
func TestUnitsDieAndRevive(t *testing.T) {
	fast, plain := withDeadUnits(t, 1, 8), withDeadUnits(t, 1, 8)
	plain.pass.activity = nil
	for _, tr := range []*training{fast, plain} {
		tr.progress = func(e Epoch) {
			for l, order := range tr.units {
				bias := tr.net.Bias(l)
				for j, unit := range order {
					switch {
					case e.Number == 3 && unit < 20:
						bias[j] = 1
					case e.Number == 5 && unit >= 30 && unit < 90:
						bias[j] = -100
					}
				}
			}
		}
		if _, err := tr.run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	golden.MustMatchVector(t, "parameters", fast.net.parameters, plain.net.parameters, 1e-9)
	if order := fast.units[0]; slices.IsSorted(order) {
		t.Error("the units were never reordered")
	}
}

// A layer of which only the bias is left.
func TestWholeLayersDie(t *testing.T) {
	for _, hidden := range [][]int{{64}, {64, 64}, {64, 33, 64}} {
		for dead := range hidden {
			for _, outputs := range []int{1, 2} {
				c := Config{
					Architecture: Architecture{Hidden: hidden, Outputs: outputs},
					Training:     Training{Epochs: 3, Batch: 48, Rate: 0.02},
				}.WithDefaults()
				var nets [2]*MLP
				for i := range nets {
					net := mustInit(t, 80, c)
					for j := range net.Bias(dead) {
						net.Bias(dead)[j] = -1000
					}
					tr := newTraining(net, c.Training, wave(3, 100, 50, 80, outputs), rng.New(1, "order"))
					if i == 1 {
						tr.pass.activity = nil
					}
					if _, err := tr.run(context.Background()); err != nil {
						t.Fatal(err)
					}
					nets[i] = net
				}
				what := fmt.Sprintf("layer %d of %v, %d outputs", dead, hidden, outputs)
				golden.MustMatchVector(t, what, nets[0].parameters, nets[1].parameters, 1e-12)
			}
		}
	}
}
