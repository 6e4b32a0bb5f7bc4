package onnx

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// parameters lists the parameters of the layers in the order of their gradients, as
// pointers with the factor that turns a derivative by the number itself into one by
// the parameter of the kernel.
func parameters(net *Network, l int) (list []*float32, factor []float64) {
	add := func(p *float32, by float64) { list, factor = append(list, p), append(factor, by) }
	switch s := net.steps[net.layers[l]].(type) {
	case *dense:
		for i := range s.tilde.Data {
			add(&s.tilde.Data[i], 1)
		}
	case *normal:
		for i := range s.gain {
			add(&s.gain[i], net.sigmaW)
		}
		for i := range s.shift {
			add(&s.shift[i], net.sigmaB)
		}
	case *prelu:
		for i := range s.slope {
			add(&s.slope[i], net.sigmaW)
		}
	case *lookup:
		for i := range s.table.Data {
			add(&s.table.Data[i], net.sigmaW)
		}
	}
	return list, factor
}

// top returns the values whose gradients the taps have.
func top(t *testing.T, net *Network, x matrix.Dense[float32]) matrix.Dense[float32] {
	t.Helper()
	part := *net
	part.output = net.top
	y, err := part.Predict(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// gradientsOf returns the gradient of each row by the parameters of layer l, one row for
// each output: what taps are there to avoid.
func gradientsOf(net *Network, shape matrix.Shape, l int, in, g []float32) [][]float64 {
	m := net.outputs()
	rows := make([][]float64, m)
	one := net.steps[net.layers[l]].(layer).shape()
	for o := range rows {
		switch {
		case one.Cols == 0: // the gradient itself
			for _, v := range in[o*one.Rows : (o+1)*one.Rows] {
				rows[o] = append(rows[o], float64(v))
			}
		case shape.Cols == 0: // the last layer
			for _, v := range in {
				for k := range m {
					hit := 0.0
					if k == o {
						hit = float64(v) / math.Sqrt(float64(m))
					}
					rows[o] = append(rows[o], hit)
				}
			}
		default:
			for _, v := range in {
				for _, up := range g[o*one.Cols : (o+1)*one.Cols] {
					rows[o] = append(rows[o], float64(v)*float64(up))
				}
			}
		}
	}
	return rows
}

// The factors of every layer are the derivatives of the network, one parameter at a time.
func TestTapsAreDerivatives(t *testing.T) {
	t.Parallel()
	everyCase(t, func(t *testing.T, net *Network, x, _ matrix.Dense[float32]) {
		taps := net.taps(x.Rows)
		shapes := taps.shapes
		for l := range shapes {
			in, grad := taps.Block(t.Context(), x, l)
			var g matrix.Dense[float32]
			if shapes[l].Cols > 0 {
				g = grad[0]
			}
			list, factor := parameters(net, l)
			for k := 0; k < len(list); k += 1 + len(list)/7 {
				p, old := list[k], *list[k]
				h := float32(1e-2) * max(1, float32(math.Abs(float64(old))))
				*p = old + h
				up := top(t, net, x)
				*p = old - h
				down := top(t, net, x)
				*p = old
				for i := range x.Rows {
					var gi []float32
					if g.Rows > 0 {
						gi = g.Row(i)
					}
					for o, full := range gradientsOf(net, shapes[l], l, in[0].Row(i), gi) {
						numeric := (float64(up.At(i, o)) - float64(down.At(i, o))) / (2 * float64(h)) * factor[k]
						if math.Abs(full[k]-numeric) > 5e-3*max(0.1, math.Abs(numeric)) {
							t.Errorf("layer %d, parameter %d, row %d, output %d: %v, numerically %v", l, k, i, o, full[k], numeric)
						}
					}
				}
			}
		}
	})
}

// Rows have the same factors in whatever blocks they come, and from whatever layer on.
func TestTapsDoNotDependOnBlocks(t *testing.T) {
	t.Parallel()
	everyCase(t, func(t *testing.T, net *Network, x, _ matrix.Dense[float32]) {
		whole, part := net.taps(x.Rows), net.taps(2)
		shapes := whole.shapes
		for first := range shapes {
			in, grad := whole.Block(t.Context(), x, first)
			for from := 0; from < x.Rows; from += 2 {
				to := min(from+2, x.Rows)
				partIn, partGrad := part.Block(t.Context(), x.Slice(from, to), first)
				for i := range to - from {
					for l := range in {
						if !slices.Equal(in[l].Row(from+i), partIn[l].Row(i)) {
							t.Fatalf("from layer %d, x̃ %d of row %d differs", first, l, from+i)
						}
					}
					for l := range grad {
						if !slices.Equal(grad[l].Row(from+i), partGrad[l].Row(i)) {
							t.Fatalf("from layer %d, g %d of row %d differs", first, l, from+i)
						}
					}
				}
			}
		}
	})
}

// everyActivation is the perceptrons of package network with small layers.
func everyActivation(t *testing.T, f func(t *testing.T, net *network.MLP)) {
	t.Helper()
	for a := network.ReLU; a <= network.Sigmoid; a++ {
		t.Run(a.String(), func(t *testing.T) {
			net, err := network.NewMLP(4, network.Architecture{Hidden: []int{70, 40}, Activation: a}, 3, 0)
			if err != nil {
				t.Fatal(err)
			}
			for l := range net.Layers() {
				rng.FillNormal(rng.New(5, "biases", uint64(l)), net.Bias(l))
			}
			f(t, net)
		})
	}
}

func normals(seed uint64, rows, cols int) matrix.Dense[float32] {
	x := matrix.New[float32](rows, cols)
	rng.FillNormal(rng.New(seed, "rows"), x.Data)
	return x
}

// A perceptron that was written and read again has its own factors, layer by layer.
func TestTapsOfAPerceptronAreItsOwn(t *testing.T) {
	t.Parallel()
	everyActivation(t, func(t *testing.T, mlp *network.MLP) {
		raw, err := marshalMLP(mlp)
		if err != nil {
			t.Fatal(err)
		}
		net, err := Parse(raw, Options{})
		if err != nil {
			t.Fatal(err)
		}
		x := normals(2, 33, 4)
		var own kernel.Taps[float32] = network.NewTaps(mlp, x.Rows, nil)
		taps := net.Taps()
		widths, gradWidths := taps.Widths()
		if ownIn, ownGrad := own.Widths(); !slices.Equal(widths, ownIn) || !slices.Equal(gradWidths, ownGrad) {
			t.Fatalf("widths %v and %v, its own %v and %v", widths, gradWidths, ownIn, ownGrad)
		}
		in, grad := taps.Block(t.Context(), x, 0)
		wantIn, wantGrad := own.Block(t.Context(), x, 0)
		for l := range in {
			mustBeClose(t, fmt.Sprintf("x̃ of layer %d", l), in[l], wantIn[l], 2e-6)
		}
		for l := range grad {
			mustBeClose(t, fmt.Sprintf("g of layer %d", l), grad[l], wantGrad[l], 5e-6)
		}
	})
}

// mustBeClose compares relative to the largest number.
func mustBeClose(t *testing.T, what string, got, want matrix.Dense[float32], tolerance float64) {
	t.Helper()
	matrix.MustMatch(what, got.Shape(), want.Shape())
	largest, worst := 0.0, 0.0
	for i := range want.Rows {
		for j, w := range want.Row(i) {
			largest = max(largest, math.Abs(float64(w)))
			worst = max(worst, math.Abs(float64(got.At(i, j)-w)))
		}
	}
	if !(worst <= tolerance*largest) {
		t.Errorf("%s differs by %v, the largest is %v", what, worst, largest)
	}
}

func TestHiddenTensorIsTheFeature(t *testing.T) {
	t.Parallel()
	net, err := Load("testdata/reshapes.onnx", Options{SigmaW: 2, SigmaB: 3})
	if err != nil {
		t.Fatal(err)
	}
	h, err := net.Hidden("res")
	if err != nil {
		t.Fatal(err)
	}
	x := normals(1, 5, net.Inputs())
	hidden, _ := h.Taps().Block(t.Context(), x, 0)
	last, _ := net.Taps().Block(t.Context(), x, 1)
	want := matrix.New[float32](x.Rows, last[0].Cols+1) // the last layer has no biases
	for i := range x.Rows {
		copy(want.Row(i), last[0].Row(i))
		want.Set(i, last[0].Cols, 3)
	}
	mustBeClose(t, "hidden tensor", hidden[0], want, 0)
	for _, name := range []string{"nothing", "zb"} {
		if _, err := net.Hidden(name); err == nil {
			t.Errorf("tensor %q is accepted", name)
		}
	}
}

// marshalMLP returns a network without any scaling: it takes inputs as the network saw
// them and returns labels of mean 0 and variance 1.
func marshalMLP(net *network.MLP) ([]byte, error) {
	w := &writer{}
	w.perceptron(net)
	w.node("Identity", outputName, w.last)
	return w.file(net, nil)
}
