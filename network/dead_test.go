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
func withDeadUnits(t *testing.T, outputs, epochs int) *training {
	t.Helper()
	c := Config{
		Architecture: Architecture{Hidden: []int{150, 170, 40}, Outputs: outputs},
		Training:     Training{Epochs: epochs, Batch: 48, Rate: 0.02},
	}.WithDefaults()
	d := wave(3, 100, 50, 5, outputs)
	net := mustInit(t, 5, c)
	stream := rng.New(9, "silenced")
	for l := range 2 {
		for _, j := range stream.Perm(net.sizes[l+1])[:90-20*l] {
			net.Bias(l)[j] = -100
		}
	}
	return newTraining(net, c.Training, d, rng.New(1, "order"))
}

// In float32 the products of wide layers run on other code.
func TestDeadUnitsAreLeftOutInFloat32(t *testing.T) {
	fast, plain := withDeadUnits(t, 1, 3), withDeadUnits(t, 1, 3)
	plain.pass.activity = nil
	for _, tr := range []*training{fast, plain} {
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

// The order of the units, and what is left out, do not depend on the threads.
func TestDeadUnitsAreTheSameForAnyNumberOfThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want *training
	for _, threads := range []int{1, 2, 3, 7} {
		runtime.GOMAXPROCS(threads)
		got := withDeadUnits(t, 1, 6)
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

func TestRearrangeAndRestore(t *testing.T) {
	net := mustInit(t, 4, Config{Architecture: Architecture{Hidden: []int{7, 5}}})
	rng.FillNormal(rng.New(1, "biases"), net.Bias(0))
	want, x := net.Clone(), matrix.FromRows([][]Real{{1, 2, 3, 4}, {-1, 0.5, 0, 2}})
	a := newArrangement(net.sizes)
	for range 3 {
		for l, order := range a {
			take := rng.New(5, "take", uint64(l)).Perm(len(order))
			net.rearrange(net.parameters, l, take, make([]Real, len(net.parameters)))
			a[l] = pick(order, take)
		}
		golden.MustMatch(t, "outputs", predict(net, x), predict(want, x), tolerance(1e-14, 1e-6))
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
	a := newAdam(make([]Real, 4), c.Training)
	for step := 1; step <= 2*flushSteps; step++ {
		copy(a.first, []Real{1, 1e-35, -1e-35, 0})
		a.begin(0.1)
		a.update(0, 4)
		flushed := step%flushSteps == 0
		if a.first[0] == 0 || (a.first[1] == 0) != flushed || (a.first[2] == 0) != flushed {
			t.Fatalf("step %d: moments %v", step, a.first)
		}
	}
}
