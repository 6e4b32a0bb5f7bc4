package gp

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// goldenCase is what scikit-learn computed (testdata/golden.py).
type goldenCase struct {
	Smooth                bool
	Inputs                int
	Signal, Noise, Linear float64
	Lengths               []float64
	Rows, Labels, Weights []float64
	Test, Mean, Variance  []float64
	Likelihood            float64
	Gradient              struct{ Signal, Lengths, Linear, Constant, Noise []float64 }
}

func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []goldenCase }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal(len(file.Cases), err)
	}
	return file.Cases
}

// model is the process of the case, with labels and inputs as they are.
func (c *goldenCase) model() *Model {
	u := &units{}
	for j := range c.Inputs {
		u.add(j, 0, 1)
	}
	rows := matrix.View(len(c.Labels), c.Inputs, c.Rows)
	m := &Model{data: Data{Inputs: rows, Labels: c.Labels}, units: u, deviation: 1,
		sample: sample{rows: rows, labels: c.Labels, noises: noisesOf(c.Weights, len(c.Labels))},
		ratios: ratios{shape: kernel.Matern52, noise: c.Noise, linear: c.Linear, lengths: c.Lengths}}
	if c.Smooth {
		m.ratios.shape = kernel.RBF
	}
	return m
}

func TestGoldenLikelihood(t *testing.T) {
	t.Parallel()
	for _, c := range goldenCases(t) {
		m := c.model()
		l := newLikelihood(oneThread(t), m.sample)
		q, err := l.at(&m.ratios)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "log-likelihood", logDensity(len(c.Labels), q, c.Signal, l.logDet), c.Likelihood)
		columns := make([]float64, c.Inputs)
		noise, linear := l.gradient(columns, &m.ratios, c.Signal)
		near(t, "slope by a", -linear, c.Gradient.Linear[0])
		for j, want := range c.Gradient.Lengths {
			near(t, "slope by a length scale", -columns[j], want)
		}
		if len(c.Gradient.Noise) == 0 {
			continue // scikit-learn fits no noise of which rows have different shares
		}
		near(t, "slope by g", -noise, c.Gradient.Noise[0])
		all := c.Gradient.Signal[0] + c.Gradient.Linear[0] + c.Gradient.Constant[0] + c.Gradient.Noise[0]
		near(t, "slope by v", (q/c.Signal-float64(len(c.Labels)))/2, all)
	}
}

func TestGoldenPosterior(t *testing.T) {
	t.Parallel()
	for _, c := range goldenCases(t) {
		m := c.model()
		if err := m.condition(oneThread(t)); err != nil {
			t.Fatal(err)
		}
		mean, variance, err := m.Predict(oneThread(t), matrix.View(len(c.Mean), c.Inputs, c.Test))
		if err != nil {
			t.Fatal(err)
		}
		for i := range mean {
			near(t, "mean", mean[i], c.Mean[i])
			near(t, "variance", variance[i]*c.Signal/m.signal, c.Variance[i])
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-8*(1+math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestInverse compares the product by blocks with the plain one.
func TestInverse(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 127, 128, 129, 300} {
		rows, _ := drawn(n, 3)
		m := matrix.New[float64](n, n)
		linalg.Syrk(nil, m, 1, rows, linalg.NoTrans, 0)
		for i := range n {
			m.Row(i)[i] += float64(n)
		}
		if err := linalg.Cholesky(nil, m); err != nil {
			t.Fatal(err)
		}
		got, want := matrix.New[float64](n, n), matrix.New[float64](n, n)
		linalg.Gemm(nil, want, 1, m, linalg.Trans, m, linalg.NoTrans, 0)
		invertFactored(nil, got, m)
		for i := range got.Data {
			if math.Abs(got.Data[i]-want.Data[i]) > 1e-10*float64(n) {
				t.Fatalf("n = %d, number %d: %v, want %v", n, i, got.Data[i], want.Data[i])
			}
		}
	}
}
