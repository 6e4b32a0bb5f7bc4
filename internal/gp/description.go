package gp

import (
	"context"
	"errors"
	"fmt"

	"github.com/nextbatch/nextbatch/kernel"
	"github.com/nextbatch/nextbatch/matrix"
)

// version is that of the description. Models without stretched slopes are described as in version 1, and those without
// known noise as in version 2.
const version = 3

// Description is all that a model is made of, in plain numbers, so that any encoding can
// hold it. Restore makes the model from it again; it factorises the covariance, which
// takes more time than reading the numbers, but a file of n rather than n² of them.
type Description struct {
	Version int  `json:"version"`
	Smooth  bool `json:"smooth,omitempty"` // the rbf kernel instead of Matérn-5/2
	Inputs  int  `json:"inputs"`           // columns of a row

	Rows    []float64 `json:"rows"` // labelled rows, one after another
	Labels  []float64 `json:"labels"`
	Weights []float64 `json:"weights,omitempty"`

	Columns []int     `json:"columns"` // those that vary
	Centres []float64 `json:"centres"` // of these columns
	Units   []float64 `json:"units"`   // of these columns
	Lengths []float64 `json:"lengths"` // of these columns, in their units
	Noise   float64   `json:"noise"`   // over the variance of the signal
	Linear  float64   `json:"linear"`  // variance of a slope, in units, over that of the signal

	// Stretched slopes are in units of the length scales.
	Stretched bool `json:"stretched,omitempty"`

	Known     []float64 `json:"known,omitempty"` // variances of the labels' noise; with them the rest is given
	Signal    float64   `json:"signal,omitempty"`
	Mean      float64   `json:"mean,omitempty"` // by which the labels were standardised
	Deviation float64   `json:"deviation,omitempty"`
}

// Describe returns the description of the model. It shares memory with the model.
func (m *Model) Describe() Description {
	d := Description{Version: 1, Smooth: m.ratios.shape == kernel.RBF, Inputs: m.data.Inputs.Cols,
		Rows: m.data.Inputs.Data, Labels: m.data.Labels, Weights: m.data.Weights,
		Columns: m.units.columns, Centres: m.units.centres, Units: m.units.over,
		Lengths: m.ratios.lengths, Noise: m.ratios.noise, Linear: m.ratios.linear, Stretched: m.ratios.stretched}
	if m.ratios.stretched {
		d.Version = 2
	}
	if m.sample.known != nil {
		d.Version, d.Known, d.Signal = version, m.data.Noise, m.ratios.signal
		d.Mean, d.Deviation = m.mean, m.deviation
	}
	return d
}

// Restore returns the model that was described. Its predictions have the same bits if the
// instruction set is the same.
func Restore(ctx context.Context, d Description) (*Model, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("the description of a Gaussian process: %w", err)
	}
	data := Data{Inputs: matrix.View(len(d.Labels), d.Inputs, d.Rows), Labels: d.Labels, Weights: d.Weights,
		Noise: d.Known}
	if err := data.check(ctx); err != nil {
		return nil, fmt.Errorf("the description of a Gaussian process: %w", err)
	}
	m := newModel(data, &units{columns: d.Columns, centres: d.Centres, over: d.Units})
	m.ratios = ratios{shape: kernel.Matern52, noise: d.Noise, linear: d.Linear, stretched: d.Stretched,
		lengths: d.Lengths, signal: d.Signal}
	if d.Smooth {
		m.ratios.shape = kernel.RBF
	}
	if d.Known != nil {
		m.mean, m.deviation = d.Mean, d.Deviation
		m.teach(d.Labels, d.Known)
	}
	return m, m.condition(ctx)
}

func (d *Description) check() error {
	if d.Version < 1 || d.Version > version {
		return fmt.Errorf("it has version %d, and this program reads versions 1 to %d", d.Version, version)
	}
	if known := d.Version == version; known != (len(d.Known) > 0) || known &&
		!(d.Signal > 0 && d.Deviation > 0 && isFinite(d.Signal) && isFinite(d.Deviation) && isFinite(d.Mean)) {
		return errors.New("its known noise and its signal do not fit its version")
	}
	n, k := len(d.Labels), len(d.Columns)
	if n > MostLabels {
		return &TooManyError{n}
	}
	if d.Inputs < 0 || n > 0 && d.Inputs > len(d.Rows) || n*d.Inputs != len(d.Rows) {
		return fmt.Errorf("%d numbers are not %d rows of %d inputs", len(d.Rows), n, d.Inputs)
	}
	if len(d.Centres) != k || len(d.Units) != k || len(d.Lengths) != k {
		return errors.New("its columns, centres, units and length scales are not equally many")
	}
	for _, j := range d.Columns {
		if j < 0 || j >= d.Inputs {
			return fmt.Errorf("it has column %d of %d inputs", j, d.Inputs)
		}
	}
	for _, c := range d.Centres {
		if !isFinite(c) {
			return fmt.Errorf("a centre is %v, but must be finite", c)
		}
	}
	for _, positive := range []struct {
		name   string
		values []float64
	}{{"unit", d.Units}, {"length scale", d.Lengths}, {"variance of the noise", []float64{d.Noise}},
		{"variance of slopes", []float64{d.Linear}}} {
		if i, v := firstNotPositive(positive.values); i >= 0 {
			return fmt.Errorf("a %s is %v, but must be positive and finite", positive.name, v)
		}
	}
	return nil
}
