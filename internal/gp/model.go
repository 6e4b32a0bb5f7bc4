package gp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// Model is a process that was conditioned on labels. Several goroutines may use it
// concurrently.
type Model struct {
	Hyperparameters

	data            Data
	units           *units
	sample          sample
	mean, deviation float64 // of the labels
	ratios          ratios
	signal          float64 // v, of standardised labels

	scaled matrix.Dense[float64] // rows over length scales
	factor matrix.Dense[float64] // L of C = L·Lᵀ
	alpha  []float64             // C^{-1} times the standardised labels
}

// newModel returns a model whose hyperparameters are still to be found.
func newModel(data Data, u *units) *Model {
	m := &Model{data: data, units: u}
	m.data.Inputs = data.Inputs.Clone()
	m.data.Labels = append([]float64(nil), data.Labels...)
	m.data.Weights = append([]float64(nil), data.Weights...)
	m.data.Noise = append([]float64(nil), data.Noise...)
	m.mean, m.deviation = meanAndDeviation(data.Labels)
	if !varies(data.Labels) {
		m.mean, m.deviation = data.Labels[0], 1
	}
	m.sample = sample{rows: u.apply(data.Inputs), labels: make([]float64, len(data.Labels)),
		noises: noisesOf(data.Weights, len(data.Labels))}
	for i, y := range data.Labels {
		m.sample.labels[i] = (y - m.mean) / m.deviation
	}
	for _, v := range data.Noise {
		m.sample.known = append(m.sample.known, v/square(m.deviation))
	}
	return m
}

// varies reports whether two of the values differ. The deviation of equal ones may be
// positive, because their mean is rounded.
func varies(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}

// noisesOf returns the mean weight over each weight.
func noisesOf(weights []float64, n int) []float64 {
	noises := make([]float64, n)
	mean, _ := meanAndDeviation(weights)
	for i := range noises {
		noises[i] = 1
		if len(weights) > 0 {
			noises[i] = mean / weights[i]
		}
	}
	return noises
}

// condition computes the posterior for the hyperparameters in ratios.
func (m *Model) condition(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	team, n := linalg.TeamOf(ctx), m.sample.rows.Rows
	m.scaled, m.factor = m.ratios.stretch(m.sample.rows), matrix.New[float64](n, n)
	job := newCrossJob(m.factor, &m.ratios, m.sample.rows, m.scaled)
	job.rows, job.scaled, job.triangle = m.sample.rows, m.scaled, true
	team.Run(n, job)
	for i := range n {
		m.factor.Row(i)[i] += m.sample.noise(&m.ratios, i)
	}
	if err := linalg.Cholesky(team, m.factor); err != nil {
		return fmt.Errorf("the covariance of the labelled rows: %w", err)
	}
	m.alpha = append([]float64(nil), m.sample.labels...)
	if err := linalg.SolveLowerVec(m.alpha, m.factor, linalg.NoTrans); err != nil {
		return err
	}
	q := simd.For[float64]().SumSquares(m.alpha)
	if err := linalg.SolveLowerVec(m.alpha, m.factor, linalg.Trans); err != nil {
		return err
	}
	if !isFinite(q * square(m.deviation)) {
		return errors.New("the labels or inputs are too large to compute with")
	}
	if m.signal = m.ratios.signal; m.sample.known == nil {
		m.signal = signal(q, n)
	}
	m.export(q)
	return ctx.Err()
}

// export writes the hyperparameters in the units of labels and inputs.
func (m *Model) export(q float64) {
	n, square := len(m.sample.labels), m.deviation*m.deviation
	constant := constantRatio * simd.For[float64]().Sum(m.alpha)
	m.Hyperparameters = Hyperparameters{Signal: m.signal * square, Noise: m.signal * m.ratios.noise * square,
		Mean: m.mean + m.deviation*constant, Lengths: make([]float64, m.data.Inputs.Cols),
		Slopes:        make([]float64, m.data.Inputs.Cols),
		LogLikelihood: logDensity(n, q, m.signal, logDeterminant(m.factor)) - float64(n)*math.Log(m.deviation)}
	for j := range m.Lengths {
		m.Lengths[j] = math.MaxFloat64
	}
	for k, j := range m.units.columns {
		m.Lengths[j] = m.ratios.lengths[k] * m.units.over[k]
		m.Slopes[j] = math.Sqrt(m.signal*m.ratios.linear) * m.deviation / m.units.over[k]
		if m.ratios.stretched {
			m.Slopes[j] /= m.ratios.lengths[k]
		}
	}
}

// Kernel is the stationary part of the covariance.
func (m *Model) Kernel() kernel.Stationary {
	return kernel.Stationary{Shape: m.ratios.shape, Variance: m.Signal, Lengths: m.Lengths}
}

// blockRows is how many rows are predicted at a time.
const blockRows = 512

// Predict returns the posterior mean and variance of the function at each row. The
// variance of a label is larger by Noise. The work is quadratic in the number of labels
// per row; that of PredictMean is linear.
func (m *Model) Predict(ctx context.Context, rows matrix.Dense[float64]) (mean, variance []float64, err error) {
	variance = make([]float64, rows.Rows)
	mean, err = m.predict(ctx, rows, variance)
	return mean, variance, err
}

// PredictMean returns the posterior mean of the function at each row.
func (m *Model) PredictMean(ctx context.Context, rows matrix.Dense[float64]) ([]float64, error) {
	return m.predict(ctx, rows, nil)
}

func (m *Model) predict(ctx context.Context, rows matrix.Dense[float64], variance []float64) ([]float64, error) {
	if rows.Cols != m.data.Inputs.Cols {
		return nil, fmt.Errorf("the rows have %d inputs, but the model has %d", rows.Cols, m.data.Inputs.Cols)
	}
	if err := checkFinite(ctx, rows); err != nil {
		return nil, err
	}
	team, mean := linalg.TeamOf(ctx), make([]float64, rows.Rows)
	cross := matrix.New[float64](min(blockRows, rows.Rows), m.sample.rows.Rows)
	job := newCrossJob(cross, &m.ratios, m.sample.rows, m.scaled)
	for from := 0; from < rows.Rows; from += blockRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := min(from+blockRows, rows.Rows)
		job.rows = m.units.apply(rows.Slice(from, to))
		job.scaled = m.ratios.stretch(job.rows)
		block := cross.Slice(0, to-from)
		team.Run(to-from, job)
		linalg.MulVec(team, mean[from:to], block, m.alpha)
		for i := range mean[from:to] {
			mean[from+i] = m.mean + m.deviation*mean[from+i]
		}
		if variance != nil {
			rows, _ := job.linear()
			if err := m.variances(team, variance[from:to], rows, block); err != nil {
				return nil, err
			}
		}
	}
	return mean, nil
}

// variances writes the posterior variances of rows, those of X or Z, whose covariances with the labelled rows are in
// cross, and overwrites these.
func (m *Model) variances(team *linalg.Team, dst []float64, rows, cross matrix.Dense[float64]) error {
	if err := linalg.SolveLower(team, cross, linalg.Right, m.factor, linalg.Trans); err != nil {
		return err
	}
	linalg.RowNorms(team, dst, cross)
	for i, explained := range dst {
		dst[i] = m.signal * square(m.deviation) * max(0, m.ratios.variance(rows.Row(i))-explained)
	}
	return nil
}
