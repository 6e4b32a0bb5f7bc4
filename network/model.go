package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/kernels"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
)

// Model predicts one number from rows of numbers like those that it was fitted to, in the units
// of its labels; Rows returns raw numbers as such rows. It comes from Fit or UnmarshalBinary and does not change: its
// methods may be called from several goroutines. The zero value returns ErrNotFitted.
//
// A model that was fitted to several targets predicts the first of them. Target
// returns the models of the others, which share its networks.
type Model struct {
	output     int      // of the networks: the one that the model predicts
	others     []*Model // of the other targets, if this is the first one
	config     Config   // that the networks were trained with
	holdout    *float64
	ensemble   Ensemble
	inputs     encode.Scaler
	labels     encode.LabelScaler
	posteriors []posterior // one for each member, in scaled labels
	scores     []float64   // R_i of the intervals, in ascending order
	intervals  conformal.Intervals
	residuals  []Residual // not saved
	note       string     // not saved
	provenance Provenance
	columns    *encode.Encoder
	centres    []float64 // of the inputs, where there are no columns; nil means zeros
	ranges     dataset.Ranges
}

// Provenance records how a model was made.
type Provenance struct {
	Source    string `json:"source"`           // as given to Fit
	Target    string `json:"target,omitempty"` // its name, as given to Fit
	Rows      int    `json:"rows"`             // that it was trained on
	ValidRows int    `json:"valid_rows"`       // that were held out
	Best      []int  `json:"best"`             // epoch that each member was taken from; 0 for the initial parameters
	// of each member on the validation rows, in the units of the labels; empty without such rows
	ValidRMSE []float64 `json:"valid_rmse"`

	// Jitter is what had to be added to σ² to compute the last-layer posterior of
	// each member: usually zero. Otherwise σ² is too small for float64, and the
	// standard deviations of PredictStd are larger than σ² implies.
	Jitter []float64 `json:"jitter"`

	Device string `json:"device,omitempty"` // that trained the networks; empty: the CPU
}

// ErrNotFitted is the error of a model that was neither fitted nor loaded.
var ErrNotFitted = errors.New("the model has not been fitted")

// Declare returns the model with a record of the ranges of the labels of its targets. learner.Model keeps to them.
func (m *Model) Declare(ranges dataset.Ranges) *Model {
	declared := *m
	declared.ranges, declared.others = ranges, nil
	for _, one := range m.others {
		declared.others = append(declared.others, one.Declare(ranges))
	}
	return &declared
}

// Range returns the declared range of the labels of the target that the model predicts.
func (m *Model) Range() dataset.Range { return m.ranges.Of(m.output) }

// Predict returns the predictions for the rows of x: the mean over the members.
func (m *Model) Predict(ctx context.Context, x matrix.Dense[Real]) ([]float64, error) {
	e, err := m.checked(ctx, x, false)
	if err != nil {
		return nil, err
	}
	mean := e.mean()
	encode.UnscaleLabels(mean, mean, m.labels)
	return mean, nil
}

// Uncertain holds predictions with their standard deviations, all in the units of the
// labels.
type Uncertain struct {
	Mean      []float64
	Posterior []float64 // from the last-layer posteriors: the uncertainty of a single member
	Spread    []float64 // of the members' predictions around their mean
	Std       []float64 // of the label: both combined

	// Relative is Std over its root mean square on the held-out rows: 1 is a typical row.
	// It ranks rows by uncertainty. Std itself is calibrated on average only, and may
	// exceed an interval. Nil if no rows were held out, or no deviation was predicted.
	Relative []float64
}

// PredictStd returns predictions with standard deviations. The members are treated
// as a mixture of normal distributions (paper, appendix "Gaussian Process
// Posterior Transformation"): its variance is the mean of their posterior
// variances plus the variance of their predictions.
func (m *Model) PredictStd(ctx context.Context, x matrix.Dense[Real]) (Uncertain, error) {
	e, err := m.checked(ctx, x, true)
	if err != nil {
		return Uncertain{}, err
	}
	return m.uncertain(e), nil
}

// uncertain makes predictions of the outputs of the members.
func (m *Model) uncertain(e *evaluation) Uncertain {
	rows := e.outputs.Cols
	u := Uncertain{Mean: e.mean(), Posterior: make([]float64, rows), Spread: make([]float64, rows),
		Std: make([]float64, rows)}
	n := float64(len(m.ensemble))
	for i, mean := range u.Mean {
		inner, outer := 0.0, 0.0
		for j, q := range m.posteriors {
			off := e.outputs.At(j, i) - mean
			inner += q.Unit * (e.variances.At(j, i) + q.Noise) / n
			outer += off * off / n
		}
		u.Posterior[i] = math.Sqrt(inner) * m.labels.Deviation
		u.Spread[i] = math.Sqrt(outer) * m.labels.Deviation
		u.Std[i] = math.Sqrt(inner+outer) * m.labels.Deviation
	}
	encode.UnscaleLabels(u.Mean, u.Mean, m.labels)
	if t := m.intervals.Typical; t > 0 {
		u.Relative = make([]float64, rows)
		for i, s := range u.Std {
			u.Relative[i] = s / t
		}
	}
	return u
}

// PredictInterval returns intervals that hold the label of a new row with about the
// given probability, by conformal prediction with the held-out rows; Intervals
// describes them. That supposes that new rows and labelled rows are drawn alike. Without
// cross-fitting the rows are the validation rows, which chose the epoch, too, so that
// the intervals are slightly optimistic. If there are too few rows for the coverage,
// the error is a *conformal.CoverageError.
func (m *Model) PredictInterval(ctx context.Context, x matrix.Dense[Real],
	coverage float64) (low, high []float64, err error) {
	u, err := m.predictScaled(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	r, err := conformal.Radius(m.scores, coverage)
	if err != nil {
		return nil, nil, err
	}
	low, high = u.Mean, slices.Clone(u.Mean)
	for i := range low {
		h := r
		if m.intervals.Adaptive() {
			h *= m.intervals.Stretch(u.Relative[i])
		}
		low[i] -= h
		high[i] += h
	}
	return low, high, nil
}

// predictScaled predicts, with standard deviations where the intervals need them.
func (m *Model) predictScaled(ctx context.Context, x matrix.Dense[Real]) (u Uncertain, err error) {
	if m != nil && m.intervals.Adaptive() {
		return m.PredictStd(ctx, x)
	}
	u.Mean, err = m.Predict(ctx, x)
	return u, err
}

// Targets returns how many numbers the networks predict. The model of a target
// other than the first has one.
func (m *Model) Targets() int { return 1 + len(m.others) }

// Target returns the model of a target, counted from 0: the first is m itself.
func (m *Model) Target(i int) *Model { return m.targets()[i] }

// TargetName returns the name of a target, counted from 0: as given to Fit, or its number
// from 1 if it was given none.
func (m *Model) TargetName(i int) string {
	return cmp.Or(m.targets()[i].provenance.Target, strconv.Itoa(i+1))
}

func (m *Model) targets() []*Model { return append([]*Model{m}, m.others...) }

// Intervals describes how PredictInterval makes intervals, and why so.
func (m *Model) Intervals() conformal.Intervals { return m.intervals }

// Residual is the error of a prediction by networks that had not learnt from its row.
type Residual struct {
	Row   int     // of Sample.X
	Error float64 // prediction minus label, in the units of the labels
}

// Residuals returns the residuals of the held-out rows in the order of the sample: with
// cross-fitting of all rows, otherwise of the validation rows, on which the epoch was
// chosen. There are none for a model that was loaded, and none where the validation
// rows were the caller's and there was no cross-fitting.
func (m *Model) Residuals() []Residual { return slices.Clone(m.residuals) }

// Ensemble returns the trained networks. They take inputs from Inputs and return
// labels of mean 0 and variance 1.
func (m *Model) Ensemble() Ensemble { return slices.Clone(m.ensemble) }

// Inputs returns the rows of x as the networks see them.
func (m *Model) Inputs(x matrix.Dense[Real]) (matrix.Dense[Real], error) {
	if err := m.usable(linalg.NewTeam(1), x); err != nil { // there is no context to grant more threads
		return matrix.Dense[Real]{}, err
	}
	return m.scaled(x), nil
}

// Rows returns raw numbers, in the order of the features of Columns if there are any, as the rows
// that the other methods take: less the centres of the inputs, subtracted before they are rounded
// to Real.
func (m *Model) Rows(raw matrix.Dense[float64]) (matrix.Dense[Real], error) {
	if err := m.takes(raw.Cols); err != nil {
		return matrix.Dense[Real]{}, err
	}
	rows := matrix.New[Real](raw.Rows, raw.Cols)
	dataset.Centre(rows, raw, m.Centres())
	return rows, nil
}

// Centres returns what is subtracted from each raw input before it is rounded: by Columns, or by
// whoever fitted the model. Nil means nothing.
func (m *Model) Centres() []float64 {
	if m.columns != nil {
		return m.columns.FeatureCentres()
	}
	return slices.Clone(m.centres)
}

// Scaling returns how rows become the inputs of the networks, and their outputs labels.
func (m *Model) Scaling() (inputs encode.Scaler, labels encode.LabelScaler) {
	return encode.Scaler{Mean: slices.Clone(m.inputs.Mean), Deviation: slices.Clone(m.inputs.Deviation)}, m.labels
}

// Provenance returns how the model was made.
func (m *Model) Provenance() Provenance {
	p := m.provenance
	p.Best, p.ValidRMSE, p.Jitter = slices.Clone(p.Best), slices.Clone(p.ValidRMSE), slices.Clone(p.Jitter)
	return p
}

// TrainingNote explains why the CPU trained the networks, and not the device of the context. It
// is empty if there was no such reason, and for a model that was loaded.
func (m *Model) TrainingNote() string { return m.note }

// Columns returns how a table becomes rows for the model, as given to Fit: nil
// where there was no table.
func (m *Model) Columns() *encode.Encoder { return m.columns }

// usable reports what is wrong with rows to predict.
func (m *Model) usable(team *linalg.Team, x matrix.Dense[Real]) error {
	if err := m.takes(x.Cols); err != nil {
		return err
	}
	return unusable(team, x)
}

// takes returns an error unless the model takes rows of the given number of columns.
func (m *Model) takes(columns int) error {
	if m == nil || m.ensemble == nil {
		return ErrNotFitted
	}
	if want := len(m.inputs.Mean); columns != want {
		return fmt.Errorf("rows have %d columns, the model was fitted to %d", columns, want)
	}
	return nil
}

// checked evaluates rows that are usable, on the device of the context if it has one.
func (m *Model) checked(ctx context.Context, x matrix.Dense[Real], withVariances bool) (*evaluation, error) {
	team := linalg.TeamOf(ctx)
	if err := m.usable(team, x); err != nil {
		return nil, err
	}
	if d := DeviceOf(ctx); d != nil {
		e, err := m.evaluateOn(ctx, d, x, withVariances)
		if !errors.Is(err, kernels.ErrNoProgram) {
			return e, err
		}
	}
	return m.evaluate(team, x, withVariances)
}
