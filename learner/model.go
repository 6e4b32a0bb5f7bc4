package learner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/gp"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
)

// Model is a fitted model: a network alone, or a blend. It predicts one number from rows like those that it
// was fitted to, in the units of its labels. It comes from Fit, OfNetwork or Load and does not change: its methods may
// be called from several goroutines. The zero value returns network.ErrNotFitted.
//
// A model that was fitted to several targets predicts the first of them. Target returns the
// models of the others.
type Model struct {
	alone   *network.Model // nil for a blend
	blended *blended       // nil for a network alone
	target  int            // of the blend: the one that the model predicts
	single  bool           // it was returned by Target for another than the first

	// Earlier are models of earlier data, whose predictions are inputs of this one: columns that are named like their
	// targets (package fitted). They are saved with it.
	Earlier []*Model
}

// blended is what the models of all targets of a blend share.
type blended struct {
	kind    Kind
	inputs  encode.Scaler
	columns *encode.Encoder
	centres []float64
	source  string
	rows    int // labelled rows
	device  string
	note    string // why no device trained the networks; not saved
	targets []fitted
	ranges  dataset.Ranges // of the targets, as declared

	networks []*network.Model // those of the folds, with an output for each target, even if they have no weight
}

// fitted is what was learnt about a target.
type fitted struct {
	name  string
	blend *blend
	// The process with the usual beliefs and the extra trees of all labels are kept for kernels even if they have no
	// weight.
	process *processes
	scaled  *onScale // nil if the labels were learnt on their own scale only
	forest  *forest
}

// OfNetwork returns a network alone as a model.
func OfNetwork(m *network.Model) *Model { return &Model{alone: m} }

// newBlended returns a model that has yet to be fitted.
func newBlended(t *Task, o Options) *blended {
	m := &blended{kind: o.Kind, inputs: t.Scaling, source: o.Network.Source, rows: t.Rows.Len(),
		targets: make([]fitted, t.Targets())}
	if o.Network.Columns != nil {
		m.columns = new(*o.Network.Columns)
	}
	m.centres = slices.Clone(o.Network.Centres)
	for k := range m.targets {
		if o.Network.Targets != nil {
			m.targets[k].name = o.Network.Targets[k]
		}
	}
	return m
}

// keep keeps the models of a target that kernels use.
func (m *blended) keep(target int, crossed []*CrossFitted) {
	to := &m.targets[target]
	for _, c := range crossed {
		if c == nil {
			continue
		}
		switch p := c.Predictor.(type) {
		case processes:
			if p.prior == gp.Alike {
				to.process = &p
			}
		case *onScale:
			to.scaled = p
		case *forest:
			if p.apart {
				to.forest = p
			}
		case networks:
			m.networks = p.models
			m.device, m.note = p.models[0].Provenance().Device, p.models[0].TrainingNote()
		}
	}
}

// Kind returns what was fitted.
func (m *Model) Kind() Kind {
	if m.blended == nil {
		return NetworkAlone
	}
	return m.blended.kind
}

// Network returns the network if it is alone, and nil for a blend.
func (m *Model) Network() *network.Model { return m.alone }

// Candidates returns what became of the learners for the target of the model; nil for a network alone.
func (m *Model) Candidates() []Candidate {
	if m.blended == nil {
		return nil
	}
	return slices.Clone(m.of().blend.candidates)
}

// Choice says in a line what was chosen for the target of the model, and why.
func (m *Model) Choice() string {
	if m.blended == nil {
		return string(NetworkAlone)
	}
	return m.of().blend.String()
}

// CountsPool reports whether errors on held-out rows count each row for the rows of the pool that it stands for. It is
// false where labelled rows and pool look alike, and for a network alone.
func (m *Model) CountsPool() bool { return m.blended != nil && m.of().blend.weighed }

// Notes returns what went wrong without ending the fit, such as networks that diverged.
func (m *Model) Notes() (notes []string) {
	for _, c := range m.Candidates() {
		for _, n := range c.Notes {
			notes = append(notes, c.Name+", "+n)
		}
	}
	return notes
}

func (m *Model) of() *fitted { return &m.blended.targets[m.target] }

// Within returns the model with declared ranges of the labels, to which its predictions and intervals keep. They are
// saved with it.
func (m *Model) Within(ranges dataset.Ranges) *Model {
	within := *m
	if m.blended == nil {
		within.alone = m.alone.Declare(ranges)
		return &within
	}
	all := *m.blended
	all.ranges, within.blended = ranges, &all
	return &within
}

// Range returns the declared range of the target of the model.
func (m *Model) Range() dataset.Range {
	if m.blended == nil {
		return m.alone.Range()
	}
	return m.blended.ranges.Of(m.target)
}

// Predict returns the predictions for the rows of x.
func (m *Model) Predict(ctx context.Context, x matrix.Dense[float32]) ([]float64, error) {
	values, err := m.predict(ctx, x)
	if err == nil {
		m.Range().Clip(values)
	}
	return values, err
}

func (m *Model) predict(ctx context.Context, x matrix.Dense[float32]) ([]float64, error) {
	if m.blended == nil {
		return m.alone.Predict(ctx, x)
	}
	rows, err := m.rows(x)
	if err != nil {
		return nil, err
	}
	means, _, err := m.of().blend.predict(ctx, rows, false)
	return means, err
}

// PredictStd returns predictions with standard deviations: those of network.Model for a network alone. Those of a
// blend are calibrated on the rows that were held out, on average. Posterior is then all of the deviation, and
// Spread is zero.
func (m *Model) PredictStd(ctx context.Context, x matrix.Dense[float32]) (network.Uncertain, error) {
	u, err := m.predictStd(ctx, x)
	if err == nil {
		m.Range().Clip(u.Mean)
	}
	return u, err
}

func (m *Model) predictStd(ctx context.Context, x matrix.Dense[float32]) (network.Uncertain, error) {
	if m.blended == nil {
		return m.alone.PredictStd(ctx, x)
	}
	rows, err := m.rows(x)
	if err != nil {
		return network.Uncertain{}, err
	}
	b := m.of().blend
	means, stds, err := b.predict(ctx, rows, true)
	if err != nil {
		return network.Uncertain{}, err
	}
	u := network.Uncertain{Mean: means, Std: stds, Posterior: slices.Clone(stds), Spread: make([]float64, len(stds))}
	if b.intervals.Typical > 0 {
		u.Relative = make([]float64, len(stds))
		for i, s := range stds {
			u.Relative[i] = s / b.intervals.Typical
		}
	}
	return u, nil
}

// PredictInterval returns intervals that hold the label of a new row with about the given
// probability, by conformal prediction with the held-out rows; Intervals describes them. That
// supposes that new rows and labelled rows are drawn alike. If there are too few rows for the
// coverage, the error is a *conformal.CoverageError.
func (m *Model) PredictInterval(ctx context.Context, x matrix.Dense[float32],
	coverage float64) (low, high []float64, err error) {
	if low, high, err = m.predictInterval(ctx, x, coverage); err == nil {
		m.Range().Clip(low)
		m.Range().Clip(high)
	}
	return low, high, err
}

func (m *Model) predictInterval(ctx context.Context, x matrix.Dense[float32],
	coverage float64) (low, high []float64, err error) {
	if m.blended == nil {
		return m.alone.PredictInterval(ctx, x, coverage)
	}
	rows, err := m.rows(x)
	if err != nil {
		return nil, nil, err
	}
	b := m.of().blend
	radius, err := conformal.WeightedRadius(b.scores, b.counts, coverage)
	if err != nil {
		return nil, nil, err
	}
	low, stds, err := b.predict(ctx, rows, b.intervals.Adaptive())
	if err != nil {
		return nil, nil, err
	}
	high = slices.Clone(low)
	for i := range low {
		half := radius
		if stds != nil {
			half *= b.intervals.Stretch(stds[i] / b.intervals.Typical)
		}
		low[i] -= half
		high[i] += half
	}
	return low, high, nil
}

// rows returns rows as the members of a blend take them.
func (m *Model) rows(x matrix.Dense[float32]) (Rows, error) {
	if err := m.takes(x); err != nil {
		return Rows{}, err
	}
	return scaledBy(m.blended.inputs, x), nil
}

// takes reports what is wrong with rows to predict.
func (m *Model) takes(x matrix.Dense[float32]) error {
	if want := len(m.blended.inputs.Mean); x.Cols != want {
		return fmt.Errorf("rows have %d columns, the model was fitted to %d", x.Cols, want)
	}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v-v != 0 {
				return &network.ValueError{Row: i, Column: j, Value: float64(v)}
			}
		}
	}
	return nil
}

// Targets returns how many targets the model was fitted to. The model of a target other than the first has
// one.
func (m *Model) Targets() int {
	switch {
	case m.blended == nil:
		return m.alone.Targets()
	case m.single:
		return 1
	}
	return len(m.blended.targets)
}

// Target returns the model of a target, counted from 0: the first is m itself.
func (m *Model) Target(i int) *Model {
	switch {
	case i == 0:
		return m
	case m.blended == nil:
		return OfNetwork(m.alone.Target(i))
	}
	return &Model{blended: m.blended, target: i, single: true}
}

// TargetName returns the name of a target, counted from 0: as given to Fit, or its number from 1 if
// it was given none.
func (m *Model) TargetName(i int) string {
	if m.blended == nil {
		return m.alone.TargetName(i)
	}
	return cmp.Or(m.Target(i).of().name, strconv.Itoa(i+1))
}

// Intervals describes how PredictInterval makes intervals, and why so.
func (m *Model) Intervals() conformal.Intervals {
	if m.blended == nil {
		return m.alone.Intervals()
	}
	return m.of().blend.intervals
}

// Residuals returns the residuals of held-out rows in the order of the sample. There are none for a model that was
// loaded.
func (m *Model) Residuals() []network.Residual {
	if m.blended == nil {
		return m.alone.Residuals()
	}
	return slices.Clone(m.of().blend.residuals)
}

// HeldDeviations returns the standard deviations that a blend predicts for the errors of Residuals, by the models that
// have not learnt from the rows. There are none for a network alone.
func (m *Model) HeldDeviations() []float64 {
	if m.blended == nil {
		return nil
	}
	return slices.Clone(m.of().blend.deviations)
}

// Provenance returns how the model was made. ValidRows is how many rows of a blend were held out of all of its models
// that have a weight.
func (m *Model) Provenance() network.Provenance {
	if m.blended == nil {
		return m.alone.Provenance()
	}
	f := m.of()
	return network.Provenance{
		Source: m.blended.source, Target: f.name, Rows: m.blended.rows,
		ValidRows: f.blend.intervals.Rows - f.blend.intervals.Outside, Device: m.blended.device,
		Best: []int{}, ValidRMSE: []float64{f.blend.rmse}, Jitter: []float64{},
	}
}

// TrainingNote explains why the CPU trained the networks, and not the device of the context.
func (m *Model) TrainingNote() string {
	if m.blended == nil {
		return m.alone.TrainingNote()
	}
	return m.blended.note
}

// Columns returns how a table becomes rows for the model: nil where there was no table.
func (m *Model) Columns() *encode.Encoder {
	if m.blended == nil {
		return m.alone.Columns()
	}
	return m.blended.columns
}

// Rows returns raw numbers, in the order of the features of Columns if there are any, as the rows that the
// other methods take: less the centres of the inputs, subtracted before they are rounded to float32.
func (m *Model) Rows(raw matrix.Dense[float64]) (matrix.Dense[float32], error) {
	if m.blended == nil {
		return m.alone.Rows(raw)
	}
	if want := len(m.blended.inputs.Mean); raw.Cols != want {
		return matrix.Dense[float32]{}, fmt.Errorf("rows have %d columns, the model was fitted to %d", raw.Cols, want)
	}
	rows := matrix.New[float32](raw.Rows, raw.Cols)
	dataset.Centre(rows, raw, m.Centres())
	return rows, nil
}

// Centres returns what is subtracted from each raw input before it is rounded. Nil means nothing.
func (m *Model) Centres() []float64 {
	switch {
	case m.blended == nil:
		return m.alone.Centres()
	case m.blended.columns != nil:
		return m.blended.columns.FeatureCentres()
	}
	return slices.Clone(m.blended.centres)
}

// Inputs returns the rows of x as networks and kernels see them.
func (m *Model) Inputs(x matrix.Dense[float32]) (matrix.Dense[float32], error) {
	if m.blended == nil {
		return m.alone.Inputs(x)
	}
	rows, err := m.rows(x)
	return rows.Scaled, err
}

// Scaling returns how rows become those of Inputs.
func (m *Model) Scaling() encode.Scaler {
	if m.blended == nil {
		inputs, _ := m.alone.Scaling()
		return inputs
	}
	return m.blended.inputs
}

// Fitted reports whether the model was fitted or loaded.
func (m *Model) Fitted() bool { return m != nil && (m.alone != nil || m.blended != nil) }
