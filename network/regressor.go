package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/rng"
	"github.com/nextbatch/nextbatch/matrix"
)

// Regressor predicts one number from rows of raw numbers. Fit does the paper's
// preprocessing (inputs: standardise, then 5·tanh(x/5); labels: standardise),
// holds rows out for validation and trains an ensemble; Predict answers in the
// units of the labels. The zero value is ready to be fitted, with the paper's
// network.
//
// The scaling of the inputs is learnt from all rows at hand: those of Fit, the
// validation part among them, and Unlabelled. The paper takes training rows and
// pool. That of the labels is learnt from the training part alone.
//
// After Fit, the other methods may be called from several goroutines.
type Regressor[T matrix.Float] struct {
	Config  Config
	Members int     // of the ensemble, whose mean is the prediction; 0 means 1
	Holdout float64 // part of the rows that Fit holds out for validation; 0 means 0.2, of at most 1024 rows
	Noise   float64 // σ² of the last-layer posterior, labels having variance 1; 0 means 1e-6
	Source  string  // where the rows come from, for the record in saved files

	// Unlabelled are rows without a label, such as candidates, that the scaling
	// of the inputs is learnt from beside the rows of Fit. Without them, a column
	// that does not vary among the labelled rows is lost. They are not saved.
	Unlabelled matrix.Dense[T]

	// Columns says how a table became the rows, for those who use the saved
	// file on other tables; nil where there was no table. The regressor itself
	// takes rows of numbers and never looks at it.
	Columns *dataset.Encoder

	Progress func(Epoch) // called after each epoch, unless nil

	fit *fit[T] // nil before Fit
}

// fit is what Fit learns.
type fit[T matrix.Float] struct {
	config     Config // that the networks were trained with
	holdout    float64
	ensemble   Ensemble[T]
	inputs     dataset.Scaler
	labels     dataset.LabelScaler
	posteriors []posterior // one for each member, in scaled labels
	errors     []float64   // of the mean prediction on the validation rows, absolute, sorted, in units of y
	provenance Provenance
}

// Provenance is how a regressor came to be.
type Provenance struct {
	Source    string    `json:"source"`     // as given to Fit
	Rows      int       `json:"rows"`       // that it was trained on
	ValidRows int       `json:"valid_rows"` // that it was validated with
	Best      []int     `json:"best"`       // epoch that each member was taken from; 0 for the initial parameters
	ValidRMSE []float64 `json:"valid_rmse"` // of each member, in the units of the labels

	// Jitter is what the last-layer posterior of each member needed beside σ² to
	// be computed: zero as a rule. Where it is not, σ² is too small for float64,
	// and the standard deviations of PredictStd are larger than asked for.
	Jitter []float64 `json:"jitter"`
}

const (
	mostHeldOut  = 1024 // as in the paper
	defaultNoise = 1e-6
)

// Fit trains on rows x with labels y, of which it holds a random part out for
// validation: the choice of the epoch, the scale of PredictStd and the intervals
// of PredictInterval rest on it. At least two rows are needed.
//
// If members diverge, the error joins a *DivergedError for each, and the
// regressor is fitted with their best parameters until then; on any other error
// it stays as it was.
func (r *Regressor[T]) Fit(ctx context.Context, x matrix.Dense[T], y []float64) error {
	part := cmp.Or(r.Holdout, 0.2)
	if !(part > 0 && part < 1) {
		return fmt.Errorf("the part to hold out is %v, which is not between 0 and 1", part)
	}
	if x.Rows != len(y) {
		return fmt.Errorf("there are %d rows and %d labels", x.Rows, len(y))
	}
	if x.Rows < 2 {
		return fmt.Errorf("there are %d rows, but one is needed for training and one for validation", x.Rows)
	}
	held := min(max(1, int(part*float64(x.Rows))), x.Rows-1)
	if r.Holdout == 0 {
		held = min(held, mostHeldOut)
	}
	order := rng.New(r.Config.Seed, "network holdout").Perm(x.Rows)
	valid, train := order[:held], order[held:]
	slices.Sort(train)
	slices.Sort(valid)
	return r.FitValidated(ctx, x.SelectRows(train), choose(y, train), x.SelectRows(valid), choose(y, valid))
}

func choose(y []float64, rows []int) []float64 {
	chosen := make([]float64, len(rows))
	for i, row := range rows {
		chosen[i] = y[row]
	}
	return chosen
}

// FitValidated is Fit with a validation part of the caller's.
func (r *Regressor[T]) FitValidated(ctx context.Context, x matrix.Dense[T], y []float64, validX matrix.Dense[T], validY []float64) error {
	if err := r.check(x, y, validX, validY); err != nil {
		return err
	}
	team, f := linalg.TeamOf(ctx), &fit[T]{}
	d, err := f.prepare(team, x, y, validX, validY, r.Unlabelled)
	if err != nil {
		return err
	}
	ensemble, histories, diverged := TrainEnsemble(ctx, r.Config, max(r.Members, 1), d, r.Progress)
	if stopped := (*StoppedError)(nil); ensemble == nil || errors.As(diverged, &stopped) {
		return diverged
	}
	f.ensemble, f.holdout = ensemble, r.Holdout
	f.config = r.Config.WithDefaults()
	f.config.Architecture = ensemble[0].Architecture()
	f.provenance = Provenance{Source: r.Source, Rows: x.Rows, ValidRows: validX.Rows}
	for _, h := range histories {
		f.provenance.Best = append(f.provenance.Best, h.Best)
	}
	if err := f.judge(team, d, validX, cmp.Or(r.Noise, defaultNoise)); err != nil {
		return errors.Join(diverged, err)
	}
	r.fit = f
	return diverged
}

func (r *Regressor[T]) check(x matrix.Dense[T], y []float64, validX matrix.Dense[T], validY []float64) error {
	var found complaints
	found.unless(r.Config.WithDefaults().Architecture.Outputs == 1, "a regressor's network has one output")
	found.unless(r.Members >= 0, "the ensemble has %d members", r.Members)
	found.unless(r.Noise >= 0 && !math.IsInf(r.Noise, 1), "σ² is %v, which is not positive", r.Noise)
	found.unless(x.Rows == len(y), "there are %d rows and %d labels", x.Rows, len(y))
	found.unless(validX.Rows == len(validY), "there are %d validation rows and %d labels", validX.Rows, len(validY))
	found.unless(x.Rows > 0 && validX.Rows > 0, "%d rows for training and %d for validation do not suffice", x.Rows, validX.Rows)
	found.unless(validX.Cols == x.Cols, "validation rows have %d columns, the others %d", validX.Cols, x.Cols)
	found.unless(r.Unlabelled.Rows == 0 || r.Unlabelled.Cols == x.Cols, "unlabelled rows have %d columns, the others %d", r.Unlabelled.Cols, x.Cols)
	return errors.Join(append(found, r.Config.Check())...)
}

// prepare learns the scaling and applies it to training and validation part.
func (f *fit[T]) prepare(team *linalg.Team, x matrix.Dense[T], y []float64, validX matrix.Dense[T], validY []float64, unlabelled matrix.Dense[T]) (d Data[T], err error) {
	for _, set := range []struct {
		name string
		rows matrix.Dense[T]
	}{{"training", x}, {"validation", validX}, {"unlabelled", unlabelled}} {
		if err := unusable(team, set.rows); err != nil {
			return d, fmt.Errorf("%s rows: %w", set.name, err)
		}
	}
	if f.inputs, err = dataset.FitScaler(matrix.Stack(x, validX, unlabelled), dataset.Population); err != nil {
		return d, err
	}
	if f.labels, err = dataset.FitLabelScaler(y); err != nil {
		return d, err
	}
	d.X, d.Y = f.scaled(x), f.scaledLabels(y)
	d.ValidX, d.ValidY = f.scaled(validX), f.scaledLabels(validY)
	return d, nil
}

func (f *fit[T]) scaled(x matrix.Dense[T]) matrix.Dense[T] {
	s := matrix.New[T](x.Rows, x.Cols)
	dataset.Scale(s, x, f.inputs)
	return s
}

func (f *fit[T]) scaledLabels(y []float64) matrix.Dense[T] {
	s := make([]float64, len(y))
	dataset.ScaleLabels(s, y, f.labels)
	return matrix.Converted[T](matrix.View(len(s), 1, s))
}

// judge computes the posteriors of the members and what the validation rows say
// about errors.
func (f *fit[T]) judge(team *linalg.Team, d Data[T], validX matrix.Dense[T], noise float64) error {
	for _, net := range f.ensemble {
		q, err := fitPosterior(team, net, d.X, noise)
		if err != nil {
			return err
		}
		f.posteriors = append(f.posteriors, q)
		f.provenance.Jitter = append(f.provenance.Jitter, q.Jitter)
	}
	e, err := f.evaluate(team, validX, true)
	if err != nil {
		return err
	}
	off := make([]float64, validX.Rows)
	for m := range f.posteriors {
		squares := 0.0
		for i, z := range e.outputs.Row(m) {
			off[i] = z - float64(d.ValidY.At(i, 0))
			squares += off[i] * off[i]
		}
		f.posteriors[m].calibrate(off, e.variances.Row(m))
		rmse := math.Sqrt(squares/float64(len(off))) * f.labels.Deviation
		f.provenance.ValidRMSE = append(f.provenance.ValidRMSE, rmse)
	}
	f.errors = e.mean()
	for i, mean := range f.errors {
		f.errors[i] = math.Abs(mean-float64(d.ValidY.At(i, 0))) * f.labels.Deviation
	}
	slices.Sort(f.errors)
	return nil
}

// Predict returns the predictions for the rows of x: the mean over the members.
func (r *Regressor[T]) Predict(ctx context.Context, x matrix.Dense[T]) ([]float64, error) {
	e, err := r.evaluate(linalg.TeamOf(ctx), x, false)
	if err != nil {
		return nil, err
	}
	mean := e.mean()
	dataset.UnscaleLabels(mean, mean, r.fit.labels)
	return mean, nil
}

// Uncertain is predictions with their standard deviations, all in the units of
// the labels.
type Uncertain struct {
	Mean      []float64
	Posterior []float64 // from the last-layer posteriors: what a single member leaves open
	Spread    []float64 // of the members' predictions around their mean
	Std       []float64 // of the label: both together
}

// PredictStd returns predictions with standard deviations. The members are taken
// as a mixture of normal distributions (paper, appendix "Gaussian Process
// Posterior Transformation"): its variance is the mean of their posterior
// variances plus the variance of their predictions.
func (r *Regressor[T]) PredictStd(ctx context.Context, x matrix.Dense[T]) (Uncertain, error) {
	e, err := r.evaluate(linalg.TeamOf(ctx), x, true)
	if err != nil {
		return Uncertain{}, err
	}
	f := r.fit
	u := Uncertain{Mean: e.mean(), Posterior: make([]float64, x.Rows), Spread: make([]float64, x.Rows), Std: make([]float64, x.Rows)}
	n := float64(len(f.ensemble))
	for i, mean := range u.Mean {
		inner, outer := 0.0, 0.0
		for m, q := range f.posteriors {
			off := e.outputs.At(m, i) - mean
			inner += q.Unit * (e.variances.At(m, i) + q.Noise) / n
			outer += off * off / n
		}
		u.Posterior[i] = math.Sqrt(inner) * f.labels.Deviation
		u.Spread[i] = math.Sqrt(outer) * f.labels.Deviation
		u.Std[i] = math.Sqrt(inner+outer) * f.labels.Deviation
	}
	dataset.UnscaleLabels(u.Mean, u.Mean, f.labels)
	return u, nil
}

// PredictInterval returns intervals that hold the label of a new row with at
// least the given probability, by split-conformal prediction with the validation
// rows. The guarantee supposes that new rows and validation rows are drawn
// alike; as the validation rows chose the epoch too, it is slightly optimistic.
// If there are too few of them for the coverage, the error is a *CoverageError.
func (r *Regressor[T]) PredictInterval(ctx context.Context, x matrix.Dense[T], coverage float64) (low, high []float64, err error) {
	mean, err := r.Predict(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	half, err := radius(r.fit.errors, coverage)
	if err != nil {
		return nil, nil, err
	}
	low, high = mean, slices.Clone(mean)
	for i := range low {
		low[i] -= half
		high[i] += half
	}
	return low, high, nil
}

// Ensemble returns the trained networks, nil before Fit. They take inputs from
// Inputs and give labels of mean 0 and variance 1.
func (r *Regressor[T]) Ensemble() Ensemble[T] {
	if r.fit == nil {
		return nil
	}
	return r.fit.ensemble
}

// Inputs returns the rows of x as the networks see them.
func (r *Regressor[T]) Inputs(x matrix.Dense[T]) (matrix.Dense[T], error) {
	if err := r.usable(linalg.NewTeam(1), x); err != nil { // nobody grants more threads here
		return matrix.Dense[T]{}, err
	}
	return r.fit.scaled(x), nil
}

// Provenance tells how the regressor came to be; it is empty before Fit.
func (r *Regressor[T]) Provenance() Provenance {
	if r.fit == nil {
		return Provenance{}
	}
	p := r.fit.provenance
	p.Best, p.ValidRMSE, p.Jitter = slices.Clone(p.Best), slices.Clone(p.ValidRMSE), slices.Clone(p.Jitter)
	return p
}

// ErrNotFitted says that a regressor was asked before it was fitted.
var ErrNotFitted = errors.New("the regressor has not been fitted")

// usable reports what is wrong with rows to predict.
func (r *Regressor[T]) usable(team *linalg.Team, x matrix.Dense[T]) error {
	if r.fit == nil {
		return ErrNotFitted
	}
	if want := len(r.fit.inputs.Mean); x.Cols != want {
		return fmt.Errorf("rows have %d columns, the regressor was fitted to %d", x.Cols, want)
	}
	return unusable(team, x)
}

func (r *Regressor[T]) evaluate(team *linalg.Team, x matrix.Dense[T], withVariances bool) (*evaluation, error) {
	if err := r.usable(team, x); err != nil {
		return nil, err
	}
	return r.fit.evaluate(team, x, withVariances)
}
