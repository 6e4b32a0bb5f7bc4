package network

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

func TestGoldenTaps(t *testing.T) {
	for _, act := range []string{"relu", "silu"} {
		net := goldenNet[float64](t, act, 0)
		x := golden.Matrix(t, "X_train.npy")
		in, grad := NewTaps(net, x.Rows, nil).Block(t.Context(), x, 0)
		for l := range in {
			what := fmt.Sprintf("%s, layer %d", act, l+1)
			golden.MustMatch(t, what+", inputs", in[l], golden.Matrix(t, fmt.Sprintf("%s/grad_in%d_train.npy", act, l+1)), 1e-10)
			if l < len(grad) {
				golden.MustMatch(t, what+", gradients", grad[l], golden.Matrix(t, fmt.Sprintf("%s/grad_out%d_train.npy", act, l+1)), 1e-10)
			}
		}
		full := fullGradient(in, append(grad, columnOf(x.Rows, 1, 0)))
		golden.MustMatch(t, act+", full gradient", full, golden.Matrix(t, act+"/grad_full_train.npy"), 1e-10)
		in, grad = NewTaps(net, 64, nil).Block(t.Context(), x, net.Layers()-1)
		if len(in) != 1 || len(grad) != 0 {
			t.Fatalf("%d inputs and %d gradients of the last layer", len(in), len(grad))
		}
		golden.MustMatch(t, act+", last layer", in[0], golden.Matrix(t, act+"/phi_ll_train.npy"), 1e-10)
	}
}

// columnOf returns rows that are one in the given column, zero elsewhere.
func columnOf(rows, cols, column int) matrix.Dense[float64] {
	m := matrix.New[float64](rows, cols)
	for i := range rows {
		m.Set(i, column, 1)
	}
	return m
}

// fullGradient forms what taps are there to avoid.
func fullGradient(in, grad []matrix.Dense[float64]) matrix.Dense[float64] {
	var rows [][]float64
	for i := range in[0].Rows {
		var row []float64
		for l := range in {
			for _, x := range in[l].Row(i) {
				for _, g := range grad[l].Row(i) {
					row = append(row, x*g)
				}
			}
		}
		rows = append(rows, row)
	}
	return matrix.FromRows(rows)
}

func TestGoldenGradientKernelInBlocks(t *testing.T) {
	const block = 77 // 500 rows: the last block is smaller
	for _, act := range []string{"relu", "silu"} {
		net := goldenNet[float64](t, act, 0)
		x, pool := golden.Matrix(t, "X_train.npy"), golden.Matrix(t, "X_pool.npy")
		in, grad := NewTaps(net, x.Rows, nil).Block(t.Context(), x, 0)
		kernel := matrix.New[float64](x.Rows, pool.Rows)
		taps := NewTaps(net, block, nil)
		for from := 0; from < pool.Rows; from += block {
			to := min(from+block, pool.Rows)
			poolIn, poolGrad := taps.Block(t.Context(), pool.Slice(from, to), 0)
			for l := range in {
				inner, outer := matrix.New[float64](x.Rows, to-from), matrix.New[float64](x.Rows, to-from)
				linalg.Gemm(nil, inner, 1, in[l], linalg.NoTrans, poolIn[l], linalg.Trans, 0)
				for i := range outer.Data {
					outer.Data[i] = 1
				}
				if l < len(grad) {
					linalg.Gemm(nil, outer, 1, grad[l], linalg.NoTrans, poolGrad[l], linalg.Trans, 0)
				}
				for i := range x.Rows {
					for j := range to - from {
						kernel.Data[i*kernel.Stride+from+j] += inner.At(i, j) * outer.At(i, j)
					}
				}
			}
		}
		golden.MustMatch(t, act, kernel, golden.Matrix(t, act+"/k_grad_train_pool.npy"), 1e-10)
	}
}

// The taps of each output are the derivative of that output.
func TestTapsOfSeveralOutputs(t *testing.T) {
	const inputs, rows, h = 5, 6, 1e-6
	everyActivation(t, func(t *testing.T, a Activation) {
		arch := Architecture{Hidden: []int{12, 9}, Outputs: 3, Activation: a, SigmaW: 1.2, SigmaB: new(0.6)}
		net, err := NewMLP[float64](inputs, arch, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := waveRows[float64](4, rows, inputs, 1)
		start := slices.Clone(net.parameters)
		for output := range 3 {
			in, grad := NewTaps(net, rows, weightOf(output)).Block(t.Context(), x, 0)
			full := fullGradient(in, append(blockOf(grad, output), columnOf(rows, 3, output)))
			column := 0
			for l := range net.Layers() {
				w := net.layer(net.parameters, l)
				for _, k := range []int{0, len(w.Data) / 2, len(w.Data) - 1} {
					w.Data[k] = start[net.offsets[l]+k] + h
					up := predict(net, x)
					w.Data[k] = start[net.offsets[l]+k] - h
					down := predict(net, x)
					w.Data[k] = start[net.offsets[l]+k]
					for i := range rows {
						numeric := (up.At(i, output) - down.At(i, output)) / (2 * h)
						if got := full.At(i, column+k); math.Abs(got-numeric) > 1e-8*max(1, math.Abs(numeric)) {
							t.Errorf("output %d, row %d, layer %d, parameter %d: %v, numerically %v", output, i, l, k, got, numeric)
						}
					}
				}
				column += len(w.Data)
			}
		}
	})
}

// weightOf weighs one of three outputs alone.
func weightOf(output int) []float64 {
	weights := make([]float64, 3)
	weights[output] = 1
	return weights
}

// blockOf returns the gradients of one of three outputs.
func blockOf(grad []matrix.Dense[float64], output int) (own []matrix.Dense[float64]) {
	for _, g := range grad {
		own = append(own, g.Block(0, g.Rows, output*g.Cols/3, (output+1)*g.Cols/3))
	}
	return own
}

// TestTapsAddUpOutputs: the kernel of several outputs is the weighted sum of theirs.
func TestTapsAddUpOutputs(t *testing.T) {
	const inputs, rows = 5, 6
	everyActivation(t, func(t *testing.T, a Activation) {
		net, err := NewMLP[float64](inputs, Architecture{Hidden: []int{12, 9}, Outputs: 3, Activation: a, SigmaB: new(0.6)}, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := waveRows[float64](4, rows, inputs, 1)
		for _, weights := range [][]float64{nil, {0.5, 2, 0}} {
			want := matrix.New[float64](rows, rows)
			for output := range 3 {
				in, grad := NewTaps(net, rows, weightOf(output)).Block(t.Context(), x, 0)
				w := 1.0
				if weights != nil {
					w = weights[output]
				}
				addKernel(want, w, in, blockOf(grad, output))
			}
			got := matrix.New[float64](rows, rows)
			in, grad := NewTaps(net, rows, weights).Block(t.Context(), x, 0)
			addKernel(got, 1, in, grad)
			for i, k := range want.Data {
				if math.Abs(got.Data[i]-k) > 1e-12*math.Abs(k)+1e-14 {
					t.Fatalf("weights %v: element %d is %v, not %v", weights, i, got.Data[i], k)
				}
			}
		}
	})
}

// addKernel adds w·Σ_l ⟨x̃_l, x̃'_l⟩·⟨g_l, g'_l⟩, with g = 1 in the last layer.
func addKernel(k matrix.Dense[float64], w float64, in, grad []matrix.Dense[float64]) {
	dot := func(a, b []float64) (sum float64) {
		for i, v := range a {
			sum += v * b[i]
		}
		return sum
	}
	for i := range k.Rows {
		for j := range k.Cols {
			for l := range in {
				term := w * dot(in[l].Row(i), in[l].Row(j))
				if l < len(grad) {
					term *= dot(grad[l].Row(i), grad[l].Row(j))
				}
				k.Row(i)[j] += term
			}
		}
	}
}

func predict[T matrix.Float](net *MLP[T], x matrix.Dense[T]) matrix.Dense[T] {
	z := matrix.New[T](x.Rows, net.Outputs())
	net.Predict(context.Background(), z, x)
	return z
}

func TestTapsAllocateNothing(t *testing.T) {
	net := mustInit[float32](t, 6, small(SiLU))
	x, _ := waveRows[float32](1, 100, 6, 1)
	taps := NewTaps(net, 100, nil)
	requireNoAllocs(t, "a block", func() { taps.Block(t.Context(), x, 0); taps.Block(t.Context(), x, 2) })
}

func TestTapsRefuse(t *testing.T) {
	net := mustInit[float32](t, 6, small(ReLU))
	shape := func(rows, cols int) matrix.Shape { return matrix.Shape{Rows: rows, Cols: cols} }
	mustPanic(t, matrix.ShapeError{Op: "network.NewTaps, block", Got: shape(0, 6), Want: shape(1, 6)}, func() { NewTaps(net, 0, nil) })
	mustPanic(t, matrix.ShapeError{Op: "network.NewTaps, weights", Got: shape(1, 2), Want: shape(1, 1)}, func() { NewTaps(net, 8, []float64{1, 2}) })
	mustPanic(t, matrix.ShapeError{Op: "network.Taps", Got: shape(9, 6), Want: shape(8, 6)},
		func() { NewTaps(net, 8, nil).Block(t.Context(), matrix.New[float32](9, 6), 0) })
	mustPanic(t, matrix.ShapeError{Op: "network.Taps", Got: shape(8, 5), Want: shape(8, 6)},
		func() { NewTaps(net, 8, nil).Block(t.Context(), matrix.New[float32](8, 5), 0) })
	mustPanic(t, matrix.IndexError{Op: "network.Taps, first layer", Index: 3, Limit: 3},
		func() { NewTaps(net, 8, nil).Block(t.Context(), matrix.New[float32](8, 6), 3) })
	mustPanic(t, matrix.ShapeError{Op: "network.Predict, inputs", Got: shape(8, 5), Want: shape(8, 6)},
		func() { net.Predict(t.Context(), matrix.New[float32](8, 1), matrix.New[float32](8, 5)) })
	mustPanic(t, matrix.ShapeError{Op: "network.Predict, destination", Got: shape(7, 1), Want: shape(8, 1)},
		func() { net.Predict(t.Context(), matrix.New[float32](7, 1), matrix.New[float32](8, 6)) })
	mustPanic(t, matrix.ShapeError{Op: "network.Ensemble.Predict, destination", Got: shape(2, 9), Want: shape(2, 8)},
		func() {
			Ensemble[float32]{net, net}.Predict(t.Context(), matrix.New[float32](2, 9), matrix.New[float32](8, 6))
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
		net := mustInit[float32](t, 6, c)
		x, _ := waveRows[float32](1, 2*forwardBlock+300, 6, 1)
		all := predict(net, x)
		for _, i := range rng.New(3, "rows").Perm(x.Rows)[:50] {
			if one := predict(net, x.Slice(i, i+1)); !slices.Equal(one.Row(0), all.Row(i)) {
				t.Errorf("row %d: %v alone, %v among others", i, one.Row(0), all.Row(i))
			}
		}
		net.Predict(t.Context(), matrix.New[float32](0, outputs), x.Slice(0, 0))
	}
}
