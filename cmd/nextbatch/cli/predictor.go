package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/earlierdata"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/network/onnx"
	"github.com/nextbatch/nextbatch/tables"
)

// predictor is a fitted model that predicts the labels of the rows of a table: a network of ours,
// or one from elsewhere. Commands know models by it alone. What a model lacks is nil, or said in
// words by noIntervals.
type predictor interface {
	// targets are the names of what it predicts; one without a name has a number, from 1.
	targets() []string
	// outputsOf returns which target each column of labels is compared with.
	outputsOf(columns []string) ([]int, error)
	// tables returns the tables with the way in which they become rows for the model.
	tables(context.Context, tables.Tables) (tables.Tables, error)
	// memory forecasts the bytes of predictions for rows of the given sizes, beside the tables,
	// which hold the given number of them.
	memory(held int64, z tables.Sizes) int64
	// inputs returns the labelled rows and the candidates as the model takes them.
	inputs(*tables.Rows) (train, pool matrix.Dense[float32], err error)
	// predict returns predictions of some targets, with deviations if these are wanted and it has them.
	predict(ctx context.Context, x matrix.Dense[float32], targets []int, deviations bool) ([]network.Uncertain, error)
	// within returns the model with ranges of the targets, to which predictions and intervals keep.
	within(dataset.Ranges) predictor
	// noIntervals says why the model has no intervals; empty if it has them.
	noIntervals() string
	// interval returns intervals for predictions of a target, and how they are made. With too few
	// labels for the coverage, the error is a *conformal.CoverageError.
	interval(ctx context.Context, x matrix.Dense[float32], target int, of network.Uncertain, coverage float64) (low,
		high []float64, how string, err error)
}

// calibratable is a predictor that takes its intervals from rows that it has not learnt from.
type calibratable interface {
	calibrate(ctx context.Context, x matrix.Dense[float32], rows *tables.Rows) error
}

// load reads the model of --model. Table and unseen are the files that it will predict and be
// calibrated on, for messages.
func (f *foreignFlags) load(ctx context.Context, model, table, unseen string, log *progress) (predictor, error) {
	if !isForeign(model) {
		m, err := loadModel(model)
		return ownModel{m}, err
	}
	net, foreign, err := f.network(model)
	if err != nil {
		return nil, err
	}
	if d := device.Of(ctx); d != nil {
		//warning:on-the-cpu
		log.warn(fmt.Sprintf("the predictions were computed on the CPU, not on %s: %s comes from elsewhere", d.Name(), model))
	}
	return &foreignModel{net: net, foreign: foreign, name: model, table: table, unseen: unseen}, nil
}

// ownModel is a model that 'nextbatch fit' saved.
type ownModel struct{ *learner.Model }

func (m ownModel) targets() []string {
	names := make([]string, m.Targets())
	for k := range names {
		names[k] = m.TargetName(k)
	}
	return names
}

// outputsOf finds columns by their names or, if the network knows none of them, by their places.
func (m ownModel) outputsOf(columns []string) (list []int, err error) {
	names := m.targets()
	known := func(column string) bool { return slices.Contains(names, column) }
	byPlace := len(columns) == len(names) && !slices.ContainsFunc(columns, known)
	for k, column := range columns {
		at := slices.Index(names, column)
		if byPlace {
			at = k
		}
		if at < 0 {
			return nil, usagef("--target names column %q, but the network predicts %s", column, words.List(names))
		}
		list = append(list, at)
	}
	return list, nil
}

func (m ownModel) tables(ctx context.Context, t tables.Tables) (tables.Tables, error) {
	t, err := earlierdata.Tables(ctx, t, m.Model)
	if err != nil {
		return t, dataError{err}
	}
	return t, nil
}

func (m ownModel) memory(held int64, z tables.Sizes) int64 {
	if m.Kind().Blends() {
		return footprint.Resident(held + rowBytes(z) + m.PredictionMemory(z.Train+z.Pool))
	}
	members := len(m.Ensemble())
	c := network.Config{Architecture: m.Ensemble()[0].Architecture()}
	block, _ := c.Memory(z.Inputs, forwardRows, members) // more than the networks and a block of rows
	numbers := 8 * float64(z.Train+z.Pool) * float64(2*members+8) * float64(m.Targets())
	return footprint.Resident(held + rowBytes(z) + block + footprint.Bytes(numbers))
}

func (m ownModel) inputs(r *tables.Rows) (train, pool matrix.Dense[float32], err error) {
	return r.Train, r.Pool, nil
}

func (m ownModel) predict(ctx context.Context, x matrix.Dense[float32], targets []int,
	deviations bool) (list []network.Uncertain, err error) {
	for _, k := range targets {
		var u network.Uncertain
		if deviations {
			u, err = m.Target(k).PredictStd(ctx, x)
		} else {
			u.Mean, err = m.Target(k).Predict(ctx, x)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, nil
}

func (m ownModel) within(r dataset.Ranges) predictor { return ownModel{m.Within(r)} }

func (m ownModel) noIntervals() string { return "" }

func (m ownModel) interval(ctx context.Context, x matrix.Dense[float32], target int, _ network.Uncertain,
	coverage float64) (low, high []float64, how string, err error) {
	one := m.Target(target)
	low, high, err = one.PredictInterval(ctx, x, coverage)
	return low, high, one.Intervals().String(), err
}

// foreignModel is a network from elsewhere. It has no deviations, and intervals only by rows that
// it has not seen.
type foreignModel struct {
	net                 *onnx.Network
	foreign             *nextbatch.Foreign
	name, table, unseen string      // files: of the network, of what it predicts, and is calibrated on
	errors              [][]float64 // on the rows that it has not seen, for each output
	ranges              dataset.Ranges
}

func (m *foreignModel) targets() (names []string) {
	for k := range m.net.Outputs() {
		names = append(names, strconv.Itoa(k+1))
	}
	return names
}

// outputsOf takes columns by their places: the outputs have no names.
func (m *foreignModel) outputsOf(columns []string) ([]int, error) {
	if n := m.net.Outputs(); n != len(columns) {
		return nil, dataError{errorf("%s predicts %s, but --target names %s", m.name, words.Count(n, "number", "numbers"),
			words.Count(len(columns), "column", "columns"))}
	}
	return upTo(len(columns)), nil
}

// tables checks the target columns first: one that is missing among them would be taken for an input.
func (m *foreignModel) tables(_ context.Context, t tables.Tables) (tables.Tables, error) {
	if len(t.TargetColumns) > 0 {
		if _, err := m.outputsOf(t.TargetColumns); err != nil {
			return t, err
		}
	}
	t, err := m.foreign.Tables(t)
	if err != nil {
		return t, dataError{err}
	}
	return t, nil
}

func (m *foreignModel) memory(held int64, z tables.Sizes) int64 {
	return footprint.Resident(held + 2*rowBytes(z) + 8*int64(z.Train+z.Pool)*int64(m.net.Outputs()) + m.net.Memory())
}

func (m *foreignModel) inputs(r *tables.Rows) (train, pool matrix.Dense[float32], err error) {
	return m.foreign.Inputs(r)
}

func (m *foreignModel) predict(ctx context.Context, x matrix.Dense[float32], targets []int,
	_ bool) ([]network.Uncertain, error) {
	list, err := m.predictOf(ctx, m.table, x, targets)
	for i, k := range targets[:len(list)] {
		m.ranges.Of(k).Clip(list[i].Mean)
	}
	return list, err
}

func (m *foreignModel) within(r dataset.Ranges) predictor {
	m.ranges = r
	return m
}

// predictOf predicts rows of a file.
func (m *foreignModel) predictOf(ctx context.Context, file string, x matrix.Dense[float32],
	targets []int) (list []network.Uncertain, err error) {
	y, err := m.net.Predict(ctx, x)
	if err != nil {
		return nil, errorf("%s: %w", file, err)
	}
	for _, k := range targets {
		mean := make([]float64, y.Rows)
		for i := range mean {
			mean[i] = float64(y.At(i, k))
		}
		list = append(list, network.Uncertain{Mean: mean})
	}
	return list, nil
}

func (m *foreignModel) noIntervals() string {
	if m.errors != nil {
		return ""
	}
	return m.name +
		" comes from elsewhere, and nothing says which labels it has not learnt from; --calibrate names rows that it has not"
}

// calibrate keeps the errors on labelled rows that the network has not learnt from.
func (m *foreignModel) calibrate(ctx context.Context, x matrix.Dense[float32], rows *tables.Rows) error {
	predicted, err := m.predictOf(ctx, m.unseen, x, upTo(len(rows.Targets)))
	if err != nil {
		return err
	}
	m.errors = make([][]float64, len(predicted))
	for k, u := range predicted {
		at, labels := rows.Labelled(k)
		for i, row := range at {
			m.errors[k] = append(m.errors[k], u.Mean[row]-labels[i])
		}
	}
	return nil
}

func (m *foreignModel) interval(_ context.Context, _ matrix.Dense[float32], target int, of network.Uncertain,
	coverage float64) (low, high []float64, how string, err error) {
	reach, err := conformal.RadiusOf(m.errors[target], coverage)
	if err != nil {
		return nil, nil, "", err
	}
	for _, v := range of.Mean {
		low, high = append(low, v-reach), append(high, v+reach)
	}
	m.ranges.Of(target).Clip(low)
	m.ranges.Of(target).Clip(high)
	return low, high, fmt.Sprintf("± %s, from the errors on %s of %s", words.Number(reach),
		words.Count(len(m.errors[target]), "row", "rows"), nameOf(m.unseen)), nil
}

// upTo returns 0, 1, … n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
