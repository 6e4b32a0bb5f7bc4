package network

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// withDeadUnits returns a training of a network with many dead units, in no
// particular order.
func withDeadUnits[T matrix.Float](t *testing.T, outputs, epochs int) *training[T] {
	t.Helper()
	c := Config{
		Architecture: Architecture{Hidden: []int{150, 170, 40}, Outputs: outputs},
		Training:     Training{Epochs: epochs, Batch: 48, Rate: 0.02},
	}.WithDefaults()
	d := wave[T](3, 100, 50, 5, outputs)
	net := mustInit[T](t, 5, c)
	stream := rng.New(9, "silenced")
	for l := range 2 {
		for _, j := range stream.Perm(net.sizes[l+1])[:90-20*l] {
			net.Bias(l)[j] = -100
		}
	}
	return newTraining(net, c.Training, d, rng.New(1, "order"))
}

func TestDeadUnitsAreLeftOutExactly(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		fast, plain := withDeadUnits[float64](t, outputs, 6), withDeadUnits[float64](t, outputs, 6)
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

// In float32 the products of wide layers run on other code.
func TestDeadUnitsAreLeftOutInFloat32(t *testing.T) {
	fast, plain := withDeadUnits[float32](t, 1, 3), withDeadUnits[float32](t, 1, 3)
	plain.pass.activity = nil
	for _, tr := range []*training[float32]{fast, plain} {
		if _, err := tr.run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range plain.net.parameters {
		if g := fast.net.parameters[i]; math.Abs(float64(g-w)) > 1e-3 {
			t.Fatalf("parameter %d is %v, with dead units %v", i, g, w)
		}
	}
}

// norms returns what does not depend on the order of the units: the norm of the
// last gradient of each layer.
func norms(t *training[float64]) (out []float64) {
	for l := range t.net.Layers() {
		out = append(out, math.Sqrt(t.pass.set.SumSquares(t.net.layer(t.adam.gradient, l).Data)))
	}
	return out
}

// Units that die, or come back to life, after they were reordered.
func TestUnitsDieAndRevive(t *testing.T) {
	fast, plain := withDeadUnits[float64](t, 1, 8), withDeadUnits[float64](t, 1, 8)
	plain.pass.activity = nil
	for _, tr := range []*training[float64]{fast, plain} {
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

// The order of the units, and what is left out, do not depend on the threads.
func TestDeadUnitsAreTheSameForAnyNumberOfThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want *training[float32]
	for _, threads := range []int{1, 2, 3, 7} {
		runtime.GOMAXPROCS(threads)
		got := withDeadUnits[float32](t, 1, 6)
		if _, err := got.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if slices.IsSorted(got.units[0]) || !slices.Equal(got.pass.dead, want.pass.dead) {
			t.Errorf("%d threads: %v leading columns were left out, %v with one", threads, got.pass.dead, want.pass.dead)
		}
		mustBeSame(t, fmt.Sprintf("%d threads", threads), got.net, want.net)
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
				var nets [2]*MLP[float64]
				for i := range nets {
					net := mustInit[float64](t, 80, c)
					for j := range net.Bias(dead) {
						net.Bias(dead)[j] = -1000
					}
					tr := newTraining(net, c.Training, wave[float64](3, 100, 50, 80, outputs), rng.New(1, "order"))
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

func TestRearrangeAndRestore(t *testing.T) {
	net := mustInit[float64](t, 4, Config{Architecture: Architecture{Hidden: []int{7, 5}}})
	rng.FillNormal(rng.New(1, "biases"), net.Bias(0))
	want, x := net.Clone(), matrix.FromRows([][]float64{{1, 2, 3, 4}, {-1, 0.5, 0, 2}})
	a := newArrangement(net.sizes)
	for range 3 {
		for l, order := range a {
			take := rng.New(5, "take", uint64(l)).Perm(len(order))
			net.rearrange(net.parameters, l, take, make([]float64, len(net.parameters)))
			a[l] = pick(order, take)
		}
		golden.MustMatch(t, "outputs", predict(net, x), predict(want, x), 1e-14)
	}
	if slices.Equal(net.parameters, want.parameters) {
		t.Error("nothing moved")
	}
	net.restore(a)
	mustBeSame(t, "restored", net, want)
}

func pick(order, take []int) []int {
	var picked []int
	for _, j := range take {
		picked = append(picked, order[j])
	}
	return picked
}

func TestTinyMomentsBecomeZero(t *testing.T) {
	c := ReLUPreset()
	a := newAdam(make([]float32, 4), c.Training)
	for step := 1; step <= 2*flushSteps; step++ {
		copy(a.first, []float32{1, 1e-35, -1e-35, 0})
		a.begin(0.1)
		a.update(0, 4)
		flushed := step%flushSteps == 0
		if a.first[0] == 0 || (a.first[1] == 0) != flushed || (a.first[2] == 0) != flushed {
			t.Fatalf("step %d: moments %v", step, a.first)
		}
	}
}
