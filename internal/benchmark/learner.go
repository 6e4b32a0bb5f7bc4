package benchmark

import (
	"context"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// A run whose model is not a network alone names its learner before the method, as in
// "auto, lcmd-tp:leaf". So stores, tables and reports of the paper's runs are what they are without learners.

const afterLearner = ", "

// JoinSpec returns the text of a run's learner and method.
func JoinSpec(kind learner.Kind, method string) string {
	if !kind.Blends() {
		return method
	}
	return string(kind) + afterLearner + method
}

// SplitSpec is the inverse of JoinSpec.
func SplitSpec(text string) (kind learner.Kind, method string) {
	name, rest, found := strings.Cut(text, afterLearner)
	if found && name != "" && learner.Kind(name).Check("") == nil {
		return learner.Kind(name), rest
	}
	return learner.NetworkAlone, text
}

// lacking says what the kernel of a method uses that a learner does not have; it is empty if there is nothing.
func lacking(kind learner.Kind, s spec.Spec) string {
	if !s.UsesKernel() {
		return ""
	}
	for _, k := range s.BaseKernels() {
		switch info := k.Info(); {
		case info.Leaves && kind != learner.Auto && kind != learner.TreesOnly:
			return "the kernel " + info.Name + " needs trees; choose the learner auto or trees"
		case info.Members && kind != learner.Auto && kind != learner.TreesOnly:
			return "the kernel " + info.Name + " needs a blend of several models; choose the learner auto or trees"
		}
	}
	return ""
}

// alone reports whether the kernel of a method compares the members of a blend that has one.
func alone(s spec.Spec, p nextbatch.Problem) bool {
	return p.Learnt.Members != nil && p.Learnt.Members.Members() < 2 && s.UsesKernel() &&
		slices.ContainsFunc(s.BaseKernels(), func(k spec.Kernel) bool { return k.Info().Members })
}

// ChoiceNote begins the note of a record that says what a blend consists of, and why.
const ChoiceNote = "learner: "

// learnt is what a learner has learnt from the labelled rows of a round.
type learnt struct {
	*runner
	model    *learner.Model
	networks network.Ensemble // for the kernel
}

// learn fits the learner of the run to the labelled rows. The pool takes part in the scaling of the inputs.
func (r *runner) learn(ctx context.Context, rec *Record) (roundModel, error) {
	m := &learnt{runner: r}
	var err error
	rec.Training = seconds(func() { err = m.fit(ctx, rec) })
	return m, err
}

func (m *learnt) fit(ctx context.Context, rec *Record) (err error) {
	how, o := m.settings.Blend, m.options()
	how.Kind = m.run.Learner()
	if !how.Kind.Blends() {
		o.Members = m.spec.Members()
	}
	if m.model, err = m.fitted(ctx, how, o, rec); err != nil {
		return err
	}
	if how.Kind.Blends() {
		for k := range m.model.Targets() {
			of := m.model.Target(k)
			rec.Warnings = append(append(rec.Warnings, ChoiceNote+of.Choice()), of.Notes()...)
		}
	}
	m.networks = m.model.Ensemble()
	if need := needs.Networks(m.spec); m.next < m.run.Rounds && len(m.networks) < need {
		// for the kernel, because the learner has too few; unlike fitted.Fit, rounds of the paper note how they trained
		o.Members, o.Scaling, how.Kind = need, new(m.model.Scaling()), learner.NetworkAlone
		alone, err := m.fitted(ctx, how, o, rec)
		if err != nil {
			return err
		}
		m.networks = alone.Ensemble()
	}
	return nil
}

// fitted fits a model. Networks that diverged are a warning.
func (m *learnt) fitted(ctx context.Context, how learner.Options, o network.Options,
	rec *Record) (*learner.Model, error) {
	rows := m.task.data.X
	s := network.Sample{
		X: rows.SelectRows(m.labelled), Y: matrix.Converted[float64](m.task.y.SelectRows(m.labelled)).Data,
		Targets: m.task.y.Cols, Unlabelled: rows.SelectRows(m.pool),
	}
	how.Network = o
	model, failed, err := fitted.Learn(ctx, s, how)
	if err != nil {
		return nil, err
	}
	rec.Warnings = append(rec.Warnings, failed...)
	if note := model.TrainingNote(); note != "" {
		rec.Warnings = append(rec.Warnings, note)
	}
	return model, nil
}

// options returns how networks are fitted.
func (m *learnt) options() network.Options {
	return network.Options{
		Config: m.settings.network(m.run.Activation, m.run.Split, m.next), Trainer: m.settings.Trainer,
		Targets: m.task.targets, Columns: columnsOf(m.task.data),
	}
}

// columnsOf returns how rows were encoded that come from a table, and nil for others.
func columnsOf(data *sets.Regression) *encode.Encoder {
	if e := &data.Encoder; len(e.Numeric)+len(e.Categories)+len(e.Times) > 0 {
		return e
	}
	return nil
}

func (m *learnt) of(r *runner) roundModel {
	other := *m
	other.runner = r
	return &other
}

func (m *learnt) predict(ctx context.Context) (matrix.Dense[float32], error) {
	rows, targets := m.task.data.X.SelectRows(m.task.split.Test), m.task.y.Cols
	predictions := matrix.New[float32](1, rows.Rows*targets)
	for k := range targets {
		means, err := m.model.Target(k).Predict(ctx, rows)
		if err != nil {
			return predictions, err
		}
		for i, v := range means {
			predictions.Set(0, i*targets+k, float32(v))
		}
	}
	return predictions, nil
}

func (m *learnt) problem(context.Context) (p nextbatch.Problem, err error) {
	p.Models = nextbatch.Models(m.networks, m.settings.Weights...)
	p.Weights, p.Learnt = m.settings.Weights, m.model.Learnt()
	p.Labels = matrix.Converted[float64](m.task.y.SelectRows(m.labelled))
	if p.Train, err = m.model.Inputs(m.task.data.X.SelectRows(m.labelled)); err != nil {
		return p, err
	}
	p.Pool, err = m.model.Inputs(m.task.data.X.SelectRows(m.pool))
	return p, err
}
