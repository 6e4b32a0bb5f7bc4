//go:build network64

package network

import (
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Gradients and their kernels, compared with differences and sums that float32 would round too much.

func TestGradientsAgainstCentralDifferences(t *testing.T) {
	everyActivation(t, func(t *testing.T, a Activation) {
		for _, outputs := range []int{1, 3} {
			for _, hidden := range [][]int{{}, {9}, {70, 8}, {8, 70, 9}} {
				for _, weighted := range []bool{false, true} {
					checkGradient(t, Architecture{Hidden: hidden, Outputs: outputs, Activation: a, SigmaW: 1.3, SigmaB: new(0.7)},
						weighted)
				}
			}
		}
	})
}

func checkGradient(t *testing.T, a Architecture, weighted bool) {
	t.Helper()
	const batch = 40
	d := wave(3, batch, 0, 5, a.Outputs)
	if weighted {
		d.Weights = matrix.New[Real](batch, a.Outputs)
		for i := range d.Weights.Data {
			d.Weights.Data[i] = Real(i%4) / 2
		}
	}
	net, err := NewMLP(5, a, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	rng.FillNormal(rng.New(2, "biases"), net.parameters) // no zero biases
	start := slices.Clone(net.parameters)
	c := Config{Architecture: a}.WithDefaults()
	tr := newTraining(net, c.Training, d, rng.New(1, "order"))
	rows := rng.New(4, "rows").Perm(batch)
	loss := func() float64 {
		tr.pass.inputs(d.X, rows)
		return tr.residuals(tr.pass.forward(), rows)
	}
	tr.take(rows)
	gradient := slices.Clone(tr.adam.gradient)
	largest := 0.0
	for _, v := range gradient {
		largest = max(largest, math.Abs(v))
	}
	const h = 1e-5
	for l := range net.Layers() {
		size := net.layer(start, l).Rows * net.layer(start, l).Cols
		for _, k := range []int{0, size / 3, size / 2, size - 2, size - 1} {
			at := net.offsets[l] + max(k, 0)
			copy(net.parameters, start)
			net.parameters[at] += h
			up := loss()
			net.parameters[at] -= 2 * h
			if numeric := (up - loss()) / (2 * h); math.Abs(numeric-gradient[at]) > 1e-7*largest {
				t.Errorf("%+v: layer %d, parameter %d: gradient %v, numerically %v", a, l, k, gradient[at], numeric)
			}
		}
	}
}

// The taps of each output are the derivative of that output.
func TestTapsOfSeveralOutputs(t *testing.T) {
	const inputs, rows, h = 5, 6, 1e-6
	everyActivation(t, func(t *testing.T, a Activation) {
		arch := Architecture{Hidden: []int{12, 9}, Outputs: 3, Activation: a, SigmaW: 1.2, SigmaB: new(0.6)}
		net, err := NewMLP(inputs, arch, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := waveRows(4, rows, inputs, 1)
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

// TestTapsAddUpOutputs: the kernel of several outputs is the weighted sum of theirs.
func TestTapsAddUpOutputs(t *testing.T) {
	const inputs, rows = 5, 6
	everyActivation(t, func(t *testing.T, a Activation) {
		net, err := NewMLP(inputs, Architecture{Hidden: []int{12, 9}, Outputs: 3, Activation: a, SigmaB: new(0.6)}, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := waveRows(4, rows, inputs, 1)
		for _, weights := range [][]float64{nil, {0.5, 2, 0}} {
			want := matrix.New[Real](rows, rows)
			for output := range 3 {
				in, grad := NewTaps(net, rows, weightOf(output)).Block(t.Context(), x, 0)
				w := 1.0
				if weights != nil {
					w = weights[output]
				}
				addKernel(want, w, in, blockOf(grad, output))
			}
			got := matrix.New[Real](rows, rows)
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

// columnOf returns rows that are one in the given column, zero elsewhere.
func columnOf(rows, cols, column int) matrix.Dense[Real] {
	m := matrix.New[Real](rows, cols)
	for i := range rows {
		m.Set(i, column, 1)
	}
	return m
}

// fullGradient forms what taps are there to avoid.
func fullGradient(in, grad []matrix.Dense[Real]) matrix.Dense[Real] {
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

// weightOf weighs one of three outputs alone.
func weightOf(output int) []float64 {
	weights := make([]float64, 3)
	weights[output] = 1
	return weights
}

// blockOf returns the gradients of one of three outputs.
func blockOf(grad []matrix.Dense[Real], output int) (own []matrix.Dense[Real]) {
	for _, g := range grad {
		own = append(own, g.Block(0, g.Rows, output*g.Cols/3, (output+1)*g.Cols/3))
	}
	return own
}

// addKernel adds w·Σ_l ⟨x̃_l, x̃'_l⟩·⟨g_l, g'_l⟩, with g = 1 in the last layer.
func addKernel(k matrix.Dense[Real], w float64, in, grad []matrix.Dense[Real]) {
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
