package transform_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/internal/transform"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/kernel/kerneltest"
	"github.com/nextbatch/nextbatch/matrix"
)

// fits lists the transformations that are fitted to rows.
var fits = map[string]func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error{
	"scale": func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error {
		_, _, err := transform.Scale[float64](context.Background(), k, rows)
		return err
	},
	"post": func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error {
		_, _, err := transform.Posterior(context.Background(), k, rows, 1)
		return err
	},
	"train": func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error {
		_, _, err := transform.Train(context.Background(), hidden{k}, rows, 1)
		return err
	},
	"acs-grad": func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error {
		_, _, err := transform.ACSGrad(context.Background(), k, rows, 1, transform.Paper)
		return err
	},
	"acs-rf": func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error {
		_, _, err := transform.ACSRandomFeatures(context.Background(), k, rows, 3, 1,
			transform.Seeded(1, "acs"), transform.Paper)
		return err
	},
	"acs-rf-hyper": func(k kernel.FeatureMap[float64], rows matrix.Dense[float64]) error {
		_, _, err := transform.ACSRandomFeaturesHyper(context.Background(), k, rows, make([]float64, rows.Rows), 3,
			transform.Seeded(1, "acs"), transform.Paper)
		return err
	},
}

func normalRows(n, width int) matrix.Dense[float64] {
	rows, draws := matrix.New[float64](n, width), transform.Seeded(1, "rows")
	for i := range rows.Data {
		rows.Data[i] = draws.NormFloat64()
	}
	return rows
}

func TestRowsThatCannotBeFitted(t *testing.T) {
	t.Parallel()
	k := kernel.NewLinear[float64](3)
	for name, fit := range fits {
		if err := fit(k, normalRows(8, 3)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var empty *transform.EmptyError
		if err := fit(k, normalRows(0, 3)); !errors.As(err, &empty) || empty.Op != name {
			t.Errorf("%s of no rows: error %v", name, err)
		}
		var width *kernel.WidthError
		if err := fit(k, normalRows(8, 4)); !errors.As(err, &width) || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s of rows of the wrong width: error %v", name, err)
		}
		bad := normalRows(kernel.BlockRows+9, 3)
		bad.Set(kernel.BlockRows+5, 2, math.NaN())
		var row *kernel.RowError
		if err := fit(k, bad); !errors.As(err, &row) || row.Row != kernel.BlockRows+5 || row.Column != 2 {
			t.Errorf("%s of a NaN: error %v", name, err)
		}
	}
}

// The posterior of a linear kernel does not check its rows, but finds numbers that
// are not finite in its features.
func TestRowsThatAreNotFinite(t *testing.T) {
	t.Parallel()
	k, train := kernel.NewLinear[float64](33), normalRows(40, 33)
	post, _, err := transform.Posterior(t.Context(), k, train, 1)
	grad, _, errGrad := transform.ACSGrad(t.Context(), k, train, 1, transform.Paper)
	if err != nil || errGrad != nil {
		t.Fatal(err, errGrad)
	}
	for name, k := range map[string]kernel.Kernel[float64]{"post": post, "acs-grad": grad} {
		for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, column := range []int{0, 17, 32} {
				bad, dst := normalRows(kernel.BlockRows+9, 33), make([]float64, kernel.BlockRows+9)
				bad.Set(kernel.BlockRows+5, column, value)
				var row *kernel.RowError
				if err := k.Diag(t.Context(), dst, bad); !errors.As(err, &row) ||
					row.Row != kernel.BlockRows+5 || row.Column != column {
					t.Errorf("%s, %v in column %d: error %v", name, value, column, err)
				}
			}
		}
	}
}

// A network without biases whose units are all dead.
func TestDegenerateKernel(t *testing.T) {
	t.Parallel()
	dead := &kerneltest.Network[float64]{SigmaW: 1, Activation: kerneltest.ReLU,
		Biases: [][]float64{make([]float64, 4), {0}}}
	w := matrix.New[float64](3, 4)
	for i := range w.Data {
		w.Data[i] = -1
	}
	dead.Weights = []matrix.Dense[float64]{w, matrix.New[float64](4, 1)}
	rows := normalRows(8, 3)
	for i, v := range rows.Data {
		rows.Data[i] = math.Abs(v)
	}
	for _, k := range []kernel.FeatureMap[float64]{kernels.NewGrad(dead), must(kernels.NewLastLayers(dead, 1))} {
		for name, fit := range fits {
			err := fit(k, rows)
			if name == "post" { // it divides only by σ²
				if err != nil {
					t.Errorf("post: %v", err)
				}
				continue
			}
			var degenerate *transform.DegenerateError
			if !errors.As(err, &degenerate) || degenerate.Op != name || degenerate.Mean != 0 {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

func TestParametersOutOfRange(t *testing.T) {
	t.Parallel()
	k, rows, draws := kernel.NewLinear[float64](3), normalRows(8, 3), transform.Seeded(1, "draws")
	mustName := func(op, name string, value float64, err error) {
		t.Helper()
		var wrong *transform.ParameterError
		same := errors.As(err, &wrong) && (wrong.Value == value || math.IsNaN(value) && math.IsNaN(wrong.Value))
		if !same || wrong.Op != op || !strings.Contains(wrong.Name, name) {
			t.Errorf("%s with %s = %v: error %v", op, name, value, err)
		}
	}
	for _, sigma2 := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, _, err := transform.Posterior(t.Context(), k, rows, sigma2)
		mustName("post", "σ²", sigma2, err)
		_, _, err = transform.Train(t.Context(), k, rows, sigma2)
		mustName("train", "σ²", sigma2, err)
		_, _, err = transform.ACSGrad(t.Context(), k, rows, sigma2, transform.Paper)
		mustName("acs-grad", "σ²", sigma2, err)
		_, _, err = transform.ACSRandomFeatures(t.Context(), k, rows, 3, sigma2, draws, transform.Paper)
		mustName("acs-rf", "σ²", sigma2, err)
		_, err = transform.ScaleBy[float64](k, sigma2)
		mustName("scale", "factor", sigma2, err)
	}
	for _, p := range []int{0, -5} {
		_, err := transform.Sketch(k, p, draws, transform.Paper)
		mustName("sketch", "p", float64(p), err)
		_, _, err = transform.ACSRandomFeatures(t.Context(), k, rows, p, 1, draws, transform.Paper)
		mustName("acs-rf", "p", float64(p), err)
		_, _, err = transform.ACSRandomFeaturesHyper(t.Context(), k, rows, make([]float64, 8), p, draws, transform.Paper)
		mustName("acs-rf-hyper", "p", float64(p), err)
	}
	_, err := transform.Ensemble[float64]()
	mustName("ensemble", "members", 0, err)
}

func TestMembersAndLabelsThatDoNotFit(t *testing.T) {
	t.Parallel()
	var width *kernel.WidthError
	if _, err := transform.Ensemble[float64](kernel.NewLinear[float64](3),
		kernel.NewLinear[float64](4)); !errors.As(err, &width) {
		t.Errorf("members of different width: error %v", err)
	}
	k, rows, draws := kernel.NewLinear[float64](3), normalRows(8, 3), transform.Seeded(1, "draws")
	if _, _, err := transform.ACSRandomFeaturesHyper(t.Context(), k, rows, make([]float64, 7), 3, draws,
		transform.Paper); err == nil || !strings.Contains(err.Error(), "7 labels for 8 training rows") {
		t.Errorf("a label too few: error %v", err)
	}
	labels := make([]float64, 8)
	labels[5] = math.Inf(-1)
	if _, _, err := transform.ACSRandomFeaturesHyper(t.Context(), k, rows, labels, 3, draws,
		transform.Paper); err == nil || !strings.Contains(err.Error(), "label 5 is -Inf") {
		t.Errorf("an infinite label: error %v", err)
	}
}

// If rounding leaves a matrix without a Cholesky factorisation, Fit reports the
// jitter that was added.
func TestRescueIsReported(t *testing.T) {
	t.Parallel()
	rows := normalRows(40, 3)
	for i := range rows.Data {
		rows.Data[i] *= 1e6
	}
	_, fit, err := transform.Posterior(t.Context(), hidden{kernel.NewLinear[float64](3)}, rows, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	if !(fit.Jitter > 0) {
		t.Errorf("no jitter: %+v", fit)
	}
}

// A weight is so large that features overflow.
func TestFeaturesThatOverflow(t *testing.T) {
	t.Parallel()
	net := &kerneltest.Network[float32]{SigmaW: 1, Activation: kerneltest.ReLU, Biases: [][]float32{{0}, {0}},
		Weights: []matrix.Dense[float32]{matrix.View(1, 1, []float32{3e38}), matrix.View(1, 1, []float32{1})}}
	k := must(kernels.NewLastLayers(net, 1))
	_, err := kernels.FeatureMatrix(t.Context(), k, matrix.View(3, 1, []float32{0.5, 1, 2}))
	var row *kernel.RowError
	if !errors.As(err, &row) || row.Row != 2 || row.What != "feature" {
		t.Errorf("error %v", err)
	}
}

func TestNilSourceIsRefused(t *testing.T) {
	t.Parallel()
	defer func() {
		if _, refused := recover().(rng.NilError); !refused {
			t.Error("no panic with a NilError")
		}
	}()
	_, err := transform.Sketch(kernel.NewLinear[float64](3), 4, nil, transform.Paper)
	t.Errorf("a sketch from nowhere: %v", err)
}
