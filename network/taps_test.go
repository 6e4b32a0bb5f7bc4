package network

import (
	"context"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

func predict(net *MLP, x matrix.Dense[Real]) matrix.Dense[Real] {
	z := matrix.New[Real](x.Rows, net.Outputs())
	net.Predict(context.Background(), z, x)
	return z
}

func TestTapsAllocateNothing(t *testing.T) {
	net := mustInit(t, 6, small(SiLU))
	x, _ := waveRows(1, 100, 6, 1)
	taps := NewTaps(net, 100, nil)
	requireNoAllocs(t, "a block", func() { taps.Block(t.Context(), x, 0); taps.Block(t.Context(), x, 2) })
}

func TestTapsRefuse(t *testing.T) {
	net := mustInit(t, 6, small(ReLU))
	shape := func(rows, cols int) matrix.Shape { return matrix.Shape{Rows: rows, Cols: cols} }
	mustPanic(t, matrix.ShapeError{Op: "network.NewTaps, block", Got: shape(0, 6), Want: shape(1, 6)},
		func() { NewTaps(net, 0, nil) })
	mustPanic(t, matrix.ShapeError{Op: "network.NewTaps, weights", Got: shape(1, 2), Want: shape(1, 1)},
		func() { NewTaps(net, 8, []float64{1, 2}) })
	mustPanic(t, matrix.ShapeError{Op: "network.Taps", Got: shape(9, 6), Want: shape(8, 6)},
		func() { NewTaps(net, 8, nil).Block(t.Context(), matrix.New[Real](9, 6), 0) })
	mustPanic(t, matrix.ShapeError{Op: "network.Taps", Got: shape(8, 5), Want: shape(8, 6)},
		func() { NewTaps(net, 8, nil).Block(t.Context(), matrix.New[Real](8, 5), 0) })
	mustPanic(t, matrix.IndexError{Op: "network.Taps, first layer", Index: 3, Limit: 3},
		func() { NewTaps(net, 8, nil).Block(t.Context(), matrix.New[Real](8, 6), 3) })
	mustPanic(t, matrix.ShapeError{Op: "network.Predict, inputs", Got: shape(8, 5), Want: shape(8, 6)},
		func() { net.Predict(t.Context(), matrix.New[Real](8, 1), matrix.New[Real](8, 5)) })
	mustPanic(t, matrix.ShapeError{Op: "network.Predict, destination", Got: shape(7, 1), Want: shape(8, 1)},
		func() { net.Predict(t.Context(), matrix.New[Real](7, 1), matrix.New[Real](8, 6)) })
	mustPanic(t, matrix.ShapeError{Op: "network.Ensemble.Predict, destination", Got: shape(2, 9), Want: shape(2, 8)},
		func() {
			Ensemble{net, net}.Predict(t.Context(), matrix.New[Real](2, 9), matrix.New[Real](8, 6))
		})
}

func mustPanic(t *testing.T, want any, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panic value %v, want %v", got, want)
		}
	}()
	f()
}

// A prediction does not depend on the rows around it.
func TestPredictInBlocks(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		c := small(Tanh)
		c.Architecture.Outputs, c.Architecture.Hidden = outputs, []int{70, 130}
		net := mustInit(t, 6, c)
		x, _ := waveRows(1, 2*forwardBlock+300, 6, 1)
		all := predict(net, x)
		for _, i := range rng.New(3, "rows").Perm(x.Rows)[:50] {
			if one := predict(net, x.Slice(i, i+1)); !slices.Equal(one.Row(0), all.Row(i)) {
				t.Errorf("row %d: %v alone, %v among others", i, one.Row(0), all.Row(i))
			}
		}
		net.Predict(t.Context(), matrix.New[Real](0, outputs), x.Slice(0, 0))
	}
}
