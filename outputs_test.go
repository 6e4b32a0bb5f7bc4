package nextbatch_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// outputWeights are those of the three outputs in these tests.
var outputWeights = []float64{0.5, 2, 1}

// jacobian returns √w_o·∂z_o/∂W̃_l of all outputs o, for the layers from first on, one
// row for each row of x: plain loops over the formulas at the top of network/taps.go.
func jacobian(net *network.MLP[float32], x matrix.Dense[float32], first int) matrix.Dense[float32] {
	var rows [][]float32
	for i := range x.Rows {
		var row []float32
		for o, w := range outputWeights {
			for _, v := range outputGradient(net, x.Row(i), o, first) {
				row = append(row, float32(math.Sqrt(w)*v))
			}
		}
		rows = append(rows, row)
	}
	return matrix.FromRows(rows)
}

func outputGradient(net *network.MLP[float32], x []float32, output, first int) (gradient []float64) {
	a := net.Architecture()
	var ins, slopes [][]float64
	next := make([]float64, len(x))
	for j, v := range x {
		next[j] = float64(v)
	}
	for l := range net.Layers() {
		w, in := net.Weights(l), []float64{}
		for _, v := range next {
			in = append(in, a.SigmaW/math.Sqrt(float64(w.Rows))*v)
		}
		ins = append(ins, append(in, *a.SigmaB))
		next, slopes = make([]float64, w.Cols), append(slopes, make([]float64, w.Cols))
		for k := range w.Cols {
			z := *a.SigmaB * float64(net.Bias(l)[k])
			for j, v := range in {
				z += v * float64(w.At(j, k))
			}
			next[k], slopes[l][k] = a.Activation.At(z)
		}
	}
	g := make([]float64, net.Outputs()) // of the last layer
	g[output] = 1
	parts := make([][]float64, net.Layers())
	for l := net.Layers() - 1; l >= 0; l-- {
		for _, v := range ins[l] {
			for _, d := range g {
				parts[l] = append(parts[l], v*d)
			}
		}
		if l == 0 {
			break
		}
		w, below := net.Weights(l), make([]float64, net.Weights(l).Rows)
		for j := range below {
			for k, d := range g {
				below[j] += a.SigmaW / math.Sqrt(float64(w.Rows)) * d * float64(w.At(j, k)) * slopes[l-1][j]
			}
		}
		g = below
	}
	return slices.Concat(parts[first:]...)
}

// TestSeveralOutputsSelectAsJacobian compares the batches of networks with three
// outputs with those of the same rows given as features, their plain Jacobians.
func TestSeveralOutputsSelectAsJacobian(t *testing.T) {
	t.Parallel()
	for _, activation := range []network.Activation{network.ReLU, network.SiLU} {
		net, err := network.NewMLP[float32](4, network.Architecture{Hidden: []int{9, 7}, Outputs: 3, Activation: activation, SigmaB: new(0.4)}, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := matrix.New[float32](140, 4)
		rng.FillNormal(rng.New(5, "several outputs"), x.Data)
		p := nextbatch.Problem{Models: nextbatch.Models(network.Ensemble[float32]{net}, outputWeights...),
			Train: x.Slice(0, 30), Pool: x.Slice(30, 140), Batch: 10, Seed: 2}
		plain := func(first int) nextbatch.Problem {
			own := p
			own.Models, own.Train, own.Pool = nil, jacobian(net, p.Train, first), jacobian(net, p.Pool, first)
			return own
		}
		sameBatches(t, fmt.Sprint(activation, " grad"), "grad", p, plain(0), "lcmd-tp", "lcmd-p", "maxdist-tp", "kmeanspp-p", "maxdet-p", "maxdiag")
		sameBatches(t, fmt.Sprint(activation, " ll"), "ll", p, plain(2), "lcmd-tp", "lcmd-dist-p", "lcmd-count-tp", "greedy-kmeanspp-tp", "maxdist-p",
			"maxdet-tp", "bait-f-p", "bait-fb-p", "frankwolfe-p", "frankwolfe-tp", "maxdiag")
	}
}

func sameBatches(t *testing.T, what, base string, p, plain nextbatch.Problem, methods ...string) {
	t.Helper()
	for _, method := range methods {
		for _, transforms := range []string{"", ">scale", ">train", ">post", ">acs-grad"} {
			text := method + ":" + base + transforms + "@sigma2(0.01)"
			s, err := spec.Parse(text)
			if err != nil {
				continue // a method that needs features, after a transformation that loses them
			}
			got, err := nextbatch.Select(t.Context(), s, p)
			if err != nil {
				t.Fatalf("%s, %s: %v", what, text, err)
			}
			want, err := nextbatch.Select(t.Context(), spec.MustParse(method+":features"+transforms+"@sigma2(0.01)"), plain)
			if err != nil {
				t.Fatalf("%s, %s: %v", what, text, err)
			}
			if !slices.Equal(got.Rows(), want.Rows()) {
				t.Errorf("%s, %s: %v, the plain Jacobian gives %v", what, text, got.Rows(), want.Rows())
			}
		}
	}
}

// TestSketchOfSeveralOutputs: the mean of many sketches of the gradient kernel is the
// kernel of the plain Jacobian.
func TestSketchOfSeveralOutputs(t *testing.T) {
	t.Parallel()
	net, err := network.NewMLP[float32](4, network.Architecture{Hidden: []int{9, 7}, Outputs: 3, SigmaB: new(0.4)}, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := matrix.New[float32](5, 4)
	rng.FillNormal(rng.New(5, "several outputs"), x.Data)
	p := nextbatch.Problem{Models: nextbatch.Models(network.Ensemble[float32]{net}, outputWeights...), Train: x, Pool: x, Batch: 1}
	gram := func(features matrix.Dense[float32], i, j int) (sum float64) {
		for k, v := range features.Row(i) {
			sum += float64(v) * float64(features.Row(j)[k])
		}
		return sum
	}
	plain, mean := jacobian(net, x, 0), matrix.New[float64](5, 5)
	const draws = 200
	for seed := range uint64(draws) {
		p.Seed = seed
		sketch, err := nextbatch.Features(t.Context(), spec.MustParse("lcmd-tp:grad>sketch(64)"), p, x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			for j := range 5 {
				mean.Row(i)[j] += gram(sketch.Single, i, j) / draws
			}
		}
	}
	for i := range 5 {
		for j := range 5 {
			want, size := gram(plain, i, j), math.Sqrt(gram(plain, i, i)*gram(plain, j, j))
			if off := math.Abs(mean.At(i, j) - want); off > 8*size/math.Sqrt(64*draws) {
				t.Errorf("rows %d and %d: the mean over sketches is %.4f, the kernel %.4f", i, j, mean.At(i, j), want)
			}
		}
	}
}
