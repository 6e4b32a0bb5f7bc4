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
func jacobian(net *network.MLP, x matrix.Dense[float32], first int) matrix.Dense[float32] {
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

func outputGradient(net *network.MLP, x []float32, output, first int) (gradient []float64) {
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
		net, err := network.NewMLP(4, network.Architecture{Hidden: []int{9, 7}, Outputs: 3, Activation: activation,
			SigmaB: new(0.4)}, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := matrix.New[float32](140, 4)
		rng.FillNormal(rng.New(5, "several outputs"), x.Data)
		p := nextbatch.Problem{Models: nextbatch.Models(network.Ensemble{net}, outputWeights...),
			Train: x.Slice(0, 30), Pool: x.Slice(30, 140), Batch: 10, Seed: 2}
		plain := func(first int) nextbatch.Problem {
			own := p
			own.Models, own.Train, own.Pool = nil, jacobian(net, p.Train, first), jacobian(net, p.Pool, first)
			return own
		}
		sameBatches(t, fmt.Sprint(activation, " grad"), "grad", p, plain(0), "lcmd-tp", "lcmd-p", "maxdist-tp",
			"kmeanspp-p", "maxdet-p", "maxdiag")
		sameBatches(t, fmt.Sprint(activation, " ll"), "ll", p, plain(2), "lcmd-tp", "lcmd-dist-p", "lcmd-count-tp",
			"greedy-kmeanspp-tp", "maxdist-p",
			"maxdet-tp", "bait-f-p", "bait-fb-p", "frankwolfe-p", "frankwolfe-tp", "maxdiag")
	}
}

// TestEnsembleOfSeveralOutputs: an ensemble of two such networks selects as their Jacobians side by side.
func TestEnsembleOfSeveralOutputs(t *testing.T) {
	t.Parallel()
	for _, activation := range []network.Activation{network.ReLU, network.SiLU} {
		var nets network.Ensemble
		for member := range 2 {
			net, err := network.NewMLP(4, network.Architecture{Hidden: []int{9, 7}, Outputs: 3, Activation: activation,
				SigmaB: new(0.4)}, 3, member)
			if err != nil {
				t.Fatal(err)
			}
			nets = append(nets, net)
		}
		x := matrix.New[float32](140, 4)
		rng.FillNormal(rng.New(5, "several outputs"), x.Data)
		p := nextbatch.Problem{Models: nextbatch.Models(nets, outputWeights...), Train: x.Slice(0, 30),
			Pool: x.Slice(30, 140), Batch: 10, Seed: 2}
		plain := func(first int) nextbatch.Problem {
			beside := func(rows matrix.Dense[float32]) matrix.Dense[float32] {
				a, b := jacobian(nets[0], rows, first), jacobian(nets[1], rows, first)
				both := matrix.New[float32](rows.Rows, a.Cols+b.Cols)
				matrix.Copy(both.Block(0, rows.Rows, 0, a.Cols), a)
				matrix.Copy(both.Block(0, rows.Rows, a.Cols, both.Cols), b)
				return both
			}
			own := p
			own.Models, own.Train, own.Pool = nil, beside(p.Train), beside(p.Pool)
			return own
		}
		sameBatches(t, fmt.Sprint(activation, " grad>ens"), "grad>ens(2)", p, plain(0), "lcmd-tp", "maxdet-p", "maxdiag")
		sameBatches(t, fmt.Sprint(activation, " ll>ens"), "ll>ens(2)", p, plain(2), "lcmd-tp", "kmeanspp-p", "maxdet-p",
			"bait-f-p", "frankwolfe-p")
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
	const draws = 200
	for _, activation := range []network.Activation{network.ReLU, network.SiLU} {
		net, p := fewRowsOfSeveralOutputs(t, activation)
		mean := meanGram(t, "lcmd-tp:grad>sketch(64)", p, draws)
		plain := gram(jacobian(net, p.Pool, 0))
		for i := range mean.Rows {
			for j, m := range mean.Row(i) {
				size := math.Sqrt(plain.At(i, i) * plain.At(j, j))
				if off := math.Abs(m - plain.At(i, j)); off > 8*size/math.Sqrt(64*draws) {
					t.Errorf("%v, rows %d and %d: the mean over sketches is %.4f, the kernel %.4f", activation,
						i, j, m, plain.At(i, j))
				}
			}
		}
	}
}

// TestRandomFeaturesOfSeveralOutputs: the random features of acs-rf have the same mean kernel as those of the plain
// Jacobian, whose draws are others.
func TestRandomFeaturesOfSeveralOutputs(t *testing.T) {
	t.Parallel()
	const draws = 200
	for _, activation := range []network.Activation{network.ReLU, network.SiLU} {
		net, p := fewRowsOfSeveralOutputs(t, activation)
		got := meanGram(t, "frankwolfe-p:ll>acs-rf(64)@sigma2(0.01)", p, draws)
		p.Models, p.Train, p.Pool = nil, jacobian(net, p.Train, 2), jacobian(net, p.Pool, 2)
		want := meanGram(t, "frankwolfe-p:features>acs-rf(64)@sigma2(0.01)", p, draws)
		for i := range want.Rows {
			for j, w := range want.Row(i) {
				size := math.Sqrt(want.At(i, i) * want.At(j, j))
				if off := math.Abs(got.At(i, j) - w); off > 12*size/math.Sqrt(64*draws) {
					t.Errorf("%v, rows %d and %d: the mean over draws is %.4f, that of the plain Jacobian %.4f",
						activation, i, j, got.At(i, j), w)
				}
			}
		}
	}
}

// fewRowsOfSeveralOutputs returns a network with three outputs, and a problem of few rows.
func fewRowsOfSeveralOutputs(t *testing.T, activation network.Activation) (*network.MLP, nextbatch.Problem) {
	t.Helper()
	net, err := network.NewMLP(4, network.Architecture{Hidden: []int{9, 7}, Outputs: 3, Activation: activation,
		SigmaB: new(0.4)}, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := matrix.New[float32](10, 4)
	rng.FillNormal(rng.New(5, "several outputs"), x.Data)
	return net, nextbatch.Problem{Models: nextbatch.Models(network.Ensemble{net}, outputWeights...), Train: x.Slice(5, 10),
		Pool: x.Slice(0, 5), Batch: 1}
}

// meanGram returns the mean of the kernel matrix of the pool over as many seeds.
func meanGram(t *testing.T, text string, p nextbatch.Problem, draws int) matrix.Dense[float64] {
	t.Helper()
	mean := matrix.New[float64](p.Pool.Rows, p.Pool.Rows)
	for seed := range uint64(draws) {
		p.Seed = seed
		features, err := nextbatch.Features(t.Context(), spec.MustParse(text), p, p.Pool)
		if err != nil {
			t.Fatal(err)
		}
		rows := features.Double
		if rows.Rows == 0 {
			rows = matrix.Converted[float64](features.Single)
		}
		for i := range mean.Rows {
			for j := range mean.Cols {
				mean.Row(i)[j] += dot(rows.Row(i), rows.Row(j)) / float64(draws)
			}
		}
	}
	return mean
}

func gram(features matrix.Dense[float32]) matrix.Dense[float64] {
	rows, values := matrix.Converted[float64](features), matrix.New[float64](features.Rows, features.Rows)
	for i := range values.Rows {
		for j := range values.Cols {
			values.Row(i)[j] = dot(rows.Row(i), rows.Row(j))
		}
	}
	return values
}

func dot(x, y []float64) (sum float64) {
	for k, v := range x {
		sum += v * y[k]
	}
	return sum
}
