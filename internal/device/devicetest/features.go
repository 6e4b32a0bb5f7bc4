package devicetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/place"
	"github.com/nextbatch/nextbatch/internal/program"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Computer is the part of a place.Device that computes features.
type Computer interface {
	Features32(ctx context.Context, p *program.Program, rows matrix.Dense[float32]) (place.DeviceFeatures[float32], error)
	Features64(ctx context.Context, p *program.Program, rows matrix.Dense[float64]) (place.DeviceFeatures[float64], error)
}

// Features compares the features that a device computes with those of the CPU, for every
// activation and every transformation.
func Features(t *testing.T, c Computer) {
	for _, a := range []network.Activation{network.ReLU, network.SiLU, network.Tanh, network.GELU, network.SELU,
		network.ELU, network.LeakyReLU, network.Softplus, network.Sigmoid} {
		t.Run(a.String(), func(t *testing.T) {
			k, err := transform.Sketch(kernels.NewGrad(tapsOf(t, a, 1)), 21, transform.Seeded(1, "test"), transform.Paper)
			must(t, err)
			compareFeatures(t, c.Features32, k, 300, 2e-5)
		})
	}
	for name, k := range singleKernels(t) {
		t.Run(name, func(t *testing.T) { compareFeatures(t, c.Features32, k, 300, 2e-5) })
	}
	for name, k := range doubleKernels(t) {
		t.Run(name, func(t *testing.T) { compareFeatures(t, c.Features64, k, 300, 2e-4) })
	}
	t.Run("several blocks", func(t *testing.T) {
		k, err := transform.Sketch(kernels.NewGrad(tapsOf(t, network.ReLU, 1)), 5,
			transform.Seeded(2, "test"), transform.Paper)
		must(t, err)
		compareFeatures(t, c.Features32, k, 17000, 2e-5)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p, err := kernels.ProgramOf[float32](singleKernels(t)["last layer"])
		must(t, err)
		if f, err := c.Features32(ctx, p, inputs[float32](10)); err != context.Canceled {
			t.Errorf("%v, %v", f, err)
		}
	})
}

const width = 7 // of inputs

func inputs[T matrix.Float](rows int) matrix.Dense[T] {
	return normal[T](rand.New(rand.NewPCG(5, uint64(rows))), rows, width)
}

// tapsOf returns the taps of a network whose biases are not zero.
func tapsOf(t *testing.T, a network.Activation, outputs int, weights ...float64) *network.Taps {
	bias := 0.3
	net, err := network.NewMLP(width, network.Architecture{Hidden: []int{133, 21}, Outputs: outputs,
		Activation: a, SigmaB: &bias}, 3, 0)
	must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for l := range net.Layers() {
		for i := range net.Bias(l) {
			net.Bias(l)[i] = float32(r.NormFloat64())
		}
	}
	return network.NewTaps(net, kernel.BlockRows, weights)
}

func singleKernels(t *testing.T) map[string]kernel.FeatureMap[float32] {
	single, several := tapsOf(t, network.ReLU, 1), tapsOf(t, network.SiLU, 3, 1, 0.25, 4)
	last := func(taps *network.Taps, n int) kernel.FeatureMap[float32] {
		k, err := kernels.NewLastLayers(taps, n)
		must(t, err)
		return k
	}
	sketch := func(k kernel.Kernel[float32], p int, v transform.Variant) kernel.FeatureMap[float32] {
		s, err := transform.Sketch(k.(kernel.FeatureMap[float32]), p, transform.Seeded(7, "test"), v)
		must(t, err)
		return s
	}
	ens := func(members ...kernel.Kernel[float32]) kernel.FeatureMap[float32] {
		k, err := transform.Ensemble(members...)
		must(t, err)
		return k.(kernel.FeatureMap[float32])
	}
	scaled, err := transform.ScaleBy[float32](last(single, 1), 1.7)
	must(t, err)
	return map[string]kernel.FeatureMap[float32]{
		"last layer":             last(single, 1),
		"last layer of outputs":  last(several, 1),
		"last two layers":        sketch(last(single, 2), 33, transform.Paper),
		"grad of outputs":        sketch(kernels.NewGrad(several), 130, transform.Paper),
		"grad, published":        sketch(kernels.NewGrad(single), 64, transform.Published),
		"ens of last layers":     ens(last(single, 1), last(several, 1)),
		"ens of grads, sketched": sketch(ens(kernels.NewGrad(single), kernels.NewGrad(several)), 40, transform.Paper),
		"scale":                  scaled.(kernel.FeatureMap[float32]),
		"scale, sketched":        sketch(scaled, 12, transform.Paper),
		"linear, sketched":       sketch(kernel.NewLinear[float32](width), 5, transform.Paper),
		"sketch of a sketch":     sketch(sketch(kernels.NewGrad(single), 64, transform.Paper), 9, transform.Paper),
		"ens of sketches of grads": ens(sketch(kernels.NewGrad(single), 10, transform.Paper),
			sketch(kernels.NewGrad(several), 11, transform.Paper)),
	}
}

func doubleKernels(t *testing.T) map[string]kernel.FeatureMap[float64] {
	const sigma2 = 1e-2
	train := inputs[float64](90)
	taps := tapsOf(t, network.ReLU, 1)
	sketched, err := transform.Sketch(kernels.NewGrad(taps), 70, transform.Seeded(1, "test"), transform.Paper)
	must(t, err)
	inDouble := kernels.ToFloat64(sketched)
	after, _, err := transform.TrainFeatures(t.Context(), inDouble, train, sigma2)
	must(t, err)
	last, err := kernels.NewLastLayers(kernels.TapsToFloat64(taps), 1)
	must(t, err)
	lastAfter, _, err := transform.PosteriorFeatures(t.Context(), last, train, sigma2)
	must(t, err)
	linear, _, err := transform.TrainFeatures(t.Context(), kernel.NewLinear[float64](width), train, sigma2)
	must(t, err)
	fisher, _, err := transform.ACSGradFeatures(t.Context(), inDouble, train, sigma2, transform.Paper)
	must(t, err)
	fisherSketch, err := transform.Sketch(fisher, 55, transform.Seeded(2, "test"), transform.Paper)
	must(t, err)
	random, _, err := transform.ACSRandomFeatures(t.Context(), inDouble, train, 66, sigma2,
		transform.Seeded(3, "test"), transform.Paper)
	must(t, err)
	published, _, err := transform.ACSRandomFeatures(t.Context(), inDouble, train, 66, sigma2,
		transform.Seeded(3, "test"), transform.Published)
	must(t, err)
	labels := make([]float64, train.Rows)
	for i := range labels {
		labels[i] = math.Sin(train.At(i, 0))
	}
	hyper, _, err := transform.ACSRandomFeaturesHyper(t.Context(), inDouble, train, labels, 31,
		transform.Seeded(4, "test"), transform.Paper)
	must(t, err)
	return map[string]kernel.FeatureMap[float64]{
		"sketch in float64": inDouble, "sketch, train": after, "last layer, posterior": lastAfter, "linear, train": linear,
		"acs-grad, sketched": fisherSketch, "acs-rf": random, "acs-rf, published": published, "acs-rf-hyper": hyper,
	}
}

// compareFeatures compares a program on a device with the features of the CPU, row by
// row: the norm of the error with that of the row.
func compareFeatures[T matrix.Float](t *testing.T, compute func(context.Context, *program.Program,
	matrix.Dense[T]) (place.DeviceFeatures[T], error), k kernel.FeatureMap[T], n int, tolerance float64) {
	t.Helper()
	rows := inputs[T](n)
	want, err := kernels.FeatureMatrix(t.Context(), k, rows)
	must(t, err)
	p, err := kernels.ProgramOf[T](k)
	must(t, err)
	if p == nil {
		t.Fatal("there is no program")
	}
	f, err := compute(t.Context(), p, rows)
	must(t, err)
	defer f.Close()
	if f.Shape() != want.Shape() {
		t.Fatalf("the features have the shape %v, on the CPU %v", f.Shape(), want.Shape())
	}
	got, err := place.Fetched(f)
	must(t, err)
	norms := make([]T, n)
	must(t, f.Norms(norms))
	for i := range n {
		off, norm := 0.0, 0.0
		for j, w := range want.Row(i) {
			off += square(float64(got.At(i, j) - w))
			norm += square(float64(w))
		}
		if !(math.Sqrt(off) <= tolerance*math.Sqrt(norm)) {
			t.Fatalf("row %d is %v, on the CPU %v", i, got.Row(i), want.Row(i))
		}
		if !(math.Abs(float64(norms[i])-norm) <= 4*tolerance*norm) {
			t.Fatalf("row %d has the squared norm %v, on the CPU %v", i, norms[i], norm)
		}
	}
	compareParts(t, compute, p, rows, got)
}

// compareParts requires that the features of a row depend on that row alone, and those of
// rows from the middle are fetched.
func compareParts[T matrix.Float](t *testing.T, compute func(context.Context, *program.Program,
	matrix.Dense[T]) (place.DeviceFeatures[T], error), p *program.Program, rows, all matrix.Dense[T]) {
	t.Helper()
	f, err := compute(t.Context(), p, rows.Slice(3, 40))
	must(t, err)
	defer f.Close()
	some := matrix.New[T](5, all.Cols)
	must(t, f.Fetch(some, 7))
	for i := range some.Rows {
		if !reflect.DeepEqual(some.Row(i), all.Row(10+i)) {
			t.Fatalf("row %d is %v by itself, with others %v", 10+i, some.Row(i), all.Row(10+i))
		}
	}
}

func square(x float64) float64 { return x * x }

// Interpreter runs programs with plain loops. It shows that a program describes the
// features of the CPU, without a device.
type Interpreter struct{}

// Features32 implements Computer.
func (Interpreter) Features32(ctx context.Context, p *program.Program,
	rows matrix.Dense[float32]) (place.DeviceFeatures[float32], error) {
	return interpret(ctx, p, rows)
}

// Features64 implements Computer.
func (Interpreter) Features64(ctx context.Context, p *program.Program,
	rows matrix.Dense[float64]) (place.DeviceFeatures[float64], error) {
	return interpret(ctx, p, rows)
}

// inMemory are features that are not on a device.
type inMemory[T matrix.Float] struct{ rows matrix.Dense[T] }

func (f inMemory[T]) On() place.Device    { return nil }
func (f inMemory[T]) Shape() matrix.Shape { return f.rows.Shape() }
func (f inMemory[T]) Close()              {}

func (f inMemory[T]) Norms(dst []T) error {
	for i := range dst {
		dst[i] = 0
		for _, v := range f.rows.Row(i) {
			dst[i] += v * v
		}
	}
	return nil
}

func (f inMemory[T]) Fetch(dst matrix.Dense[T], first int) error {
	matrix.Copy(dst, f.rows.Slice(first, first+dst.Rows))
	return nil
}

func interpret[T matrix.Float](ctx context.Context, p *program.Program,
	rows matrix.Dense[T]) (place.DeviceFeatures[T], error) {
	dst := matrix.New[T](rows.Rows, p.Values[p.Result].Width)
	for i := range rows.Rows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		values := make([][]float64, len(p.Values))
		for v, shape := range p.Values {
			values[v] = make([]float64, shape.Width)
		}
		for j, x := range rows.Row(i) {
			values[0][j] = float64(x)
		}
		for _, s := range p.Steps {
			to := interpretStep(s, values)
			if !p.Values[to].Double {
				for j, v := range values[to] {
					values[to][j] = float64(float32(v))
				}
			}
		}
		for j, v := range values[p.Result] {
			dst.Row(i)[j] = T(v)
		}
	}
	return inMemory[T]{dst}, nil
}

// interpretStep runs a step on one row and returns the value that it wrote.
func interpretStep(s program.Step, values [][]float64) program.Value {
	switch s := s.(type) {
	case program.Multiply:
		interpretMultiply(s, values)
		return s.To
	case program.Place:
		for j, v := range values[s.From] {
			if s.Scales != nil {
				v *= s.Scales[j]
			}
			values[s.To][s.At+j] = s.Factor * v
		}
		return s.To
	case program.Fill:
		values[s.To][s.At] = s.Number
		return s.To
	case program.Activate:
		function, err := network.ParseActivation(s.Function)
		if err != nil {
			panic(err)
		}
		for j, z := range values[s.From] {
			value, slope := function.At(z)
			values[s.To][j] = s.Factor * value
			if s.Slope != program.None {
				values[s.Slope][j] = slope
			}
		}
		return s.To
	case program.Outer:
		right := values[s.Right]
		for i, l := range values[s.Left] {
			for j, r := range right {
				values[s.To][i*len(right)+j] = l * r
			}
		}
		return s.To
	case program.Convert:
		copy(values[s.To], values[s.From])
		return s.To
	case program.Likelihood:
		kappa := 0.0
		for _, v := range values[s.Features] {
			kappa += v * v
		}
		for j, v := range values[s.Projections] {
			values[s.To][j] = s.Log*math.Log1p(s.Rate*kappa) + s.Linear*kappa + s.Offset - s.Slope*v*v
		}
		return s.To
	}
	panic(fmt.Sprintf("devicetest: no such step: %T", s))
}

func interpretMultiply(s program.Multiply, values [][]float64) {
	by := s.By.Double.At
	if s.By.Double.Rows == 0 {
		by = func(i, j int) float64 { return float64(s.By.Single.At(i, j)) }
	}
	for j := range values[s.To] {
		sum := 0.0
		for i, v := range values[s.From] {
			if s.Transposed {
				sum += v * by(j, i)
			} else {
				sum += v * by(i, j)
			}
		}
		sum *= s.Factor
		if s.Times != program.None {
			sum *= values[s.Times][j]
		}
		if s.Add {
			sum += values[s.To][j]
		}
		values[s.To][j] = sum
	}
}
