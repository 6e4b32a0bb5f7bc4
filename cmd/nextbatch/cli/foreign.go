package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/device"
	"github.com/nextbatch/nextbatch/internal/footprint"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/network/onnx"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// foreignFlags say how to use a network that was trained elsewhere.
type foreignFlags struct {
	inputs string
	output string
	tensor string // registered where there is a kernel
	flags  *pflag.FlagSet
}

func (f *foreignFlags) register(c *cobra.Command) {
	f.flags = c.Flags()
	f.flags.StringVar(&f.inputs, "inputs", "raw", "what a network from elsewhere takes: raw numbers, or scaled ones (mean 0 and deviation 1 among the labelled rows)")
	f.flags.StringVar(&f.output, "model-output", "", "output of a network from elsewhere, if it has several")
}

// isForeign reports whether a network comes from elsewhere.
func isForeign(model string) bool {
	return strings.EqualFold(filepath.Ext(model), ".onnx") || isDescription(model)
}

// isDescription reports whether a network is described in one file, and its weights are in another.
func isDescription(model string) bool { return strings.EqualFold(filepath.Ext(model), ".json") }

func (f *foreignFlags) check(model string) error {
	if f.inputs != "raw" && f.inputs != "scaled" {
		return usagef("--inputs must be raw or scaled, not %q", f.inputs)
	}
	if isForeign(model) {
		return nil
	}
	for _, name := range []string{"inputs", "model-output", "tensor"} {
		if f.flags.Changed(name) {
			return usagef("--%s is for a network from elsewhere, as in --model net.onnx", name)
		}
	}
	return nil
}

// load reads the network.
func (f *foreignFlags) load(path string) (*onnx.Network, *nextbatch.Foreign, error) {
	read := onnx.Load
	if isDescription(path) {
		read = onnx.LoadDescribed
	}
	net, err := read(path, onnx.Options{Output: f.output})
	if err != nil {
		return nil, nil, dataError{err}
	}
	if net.Columns() != nil && f.inputs == "scaled" {
		return nil, nil, usagef("%s scales its inputs itself: leave out --inputs", path)
	}
	return net, &nextbatch.Foreign{Model: net, Columns: net.Columns(), Standardise: f.inputs == "scaled"}, nil
}

// readForeign puts the network into the request.
func (s *selecting) readForeign() error {
	net, foreign, err := s.foreign.load(s.model)
	if err != nil {
		return err
	}
	if s.foreign.tensor != "" {
		if k := s.request.Spec.Kernel; k.String() != spec.LastLayer().String() {
			return usagef("--tensor is for the kernel ll, but the method uses %v", k)
		}
		if foreign.Model, err = net.Hidden(s.foreign.tensor); err != nil {
			return dataError{errorf("%s: %w", s.model, err)}
		}
	} else if err := net.CheckGradients(); err != nil {
		return dataError{errorf("%s: %w", s.model, err)}
	}
	s.request.Foreign = foreign
	return nil
}

// foreignRows encodes tables for a network from elsewhere, if there is memory.
func (f *columnFlags) foreignRows(ctx context.Context, net *onnx.Network, foreign *nextbatch.Foreign, t tables.Tables, log *progress) (rows *tables.Rows, need int64, err error) {
	if t, err = foreign.Tables(t); err != nil {
		return nil, 0, dataError{err}
	}
	t.Admit = func(z tables.Sizes) error {
		need = footprint.Resident(f.memory.held + 2*rowBytes(z) + 8*int64(z.Train+z.Pool)*int64(net.Outputs()) + net.Memory())
		return f.memory.admit("predicting", need, "fewer rows at a time")
	}
	if rows, err = t.Rows(ctx); err != nil {
		return nil, 0, dataError{err}
	}
	log.report(rows)
	return rows, need, nil
}

// warnOfCPU warns that a device does not run a network from elsewhere.
func warnOfCPU(ctx context.Context, log *progress, model string) {
	if d := device.Of(ctx); d != nil {
		log.warn(fmt.Sprintf("the predictions were computed on the CPU, not on %s: %s comes from elsewhere", d.Name(), model))
	}
}

// runForeign predicts with a network from elsewhere, which has no deviations, and intervals
// only by rows that it has not seen.
func (p *predicting) runForeign(ctx context.Context, path string, out io.Writer, log *progress) error {
	net, foreign, err := p.foreign.load(p.model)
	if err != nil {
		return err
	}
	warnOfCPU(ctx, log, p.model)
	table, err := p.columns.read(ctx, path, p.unseen != "")
	if err != nil {
		return err
	}
	t := p.columns.tables(path, table)
	t.One, t.Pool = nil, table
	if p.unseen != "" {
		if t, err = p.withUnseen(ctx, net, t, table); err != nil {
			return err
		}
	}
	rows, _, err := p.columns.foreignRows(ctx, net, foreign, t, log)
	if err != nil {
		return err
	}
	unseen, x, err := foreign.Inputs(rows)
	if err != nil {
		return dataError{err}
	}
	y, err := net.Predict(ctx, x)
	if err != nil {
		return dataError{errorf("%s: %w", path, err)}
	}
	reach := make([]*float64, y.Cols)
	if p.unseen != "" {
		if err := p.calibrate(ctx, net, rows, unseen, reach, log); err != nil {
			return err
		}
	} else if p.coverage > 0 {
		log.say("no intervals: %s comes from elsewhere, and nothing says which labels it has not learnt from; --calibrate names rows that it has not", p.model)
	}
	columns, err := p.rowNames(table, rows)
	if err != nil {
		return err
	}
	for j := range y.Cols {
		suffix := ""
		if y.Cols > 1 {
			suffix = fmt.Sprintf("_%d", j+1)
		}
		column, low, high := dataset.NewNumeric("prediction"+suffix), dataset.NewNumeric("low"+suffix), dataset.NewNumeric("high"+suffix)
		for i := range y.Rows {
			v := float64(y.At(i, j))
			column.Append(v)
			if reach[j] != nil {
				low.Append(v - *reach[j])
				high.Append(v + *reach[j])
			}
		}
		if columns = append(columns, column); reach[j] != nil {
			columns = append(columns, low, high)
		}
	}
	result, err := dataset.NewTable(columns...)
	if err != nil {
		return dataError{err}
	}
	return p.write(out, result)
}

// withUnseen adds the rows of --calibrate to the tables, as labelled ones.
func (p *predicting) withUnseen(ctx context.Context, net *onnx.Network, t tables.Tables, table *dataset.Table) (tables.Tables, error) {
	unseen, err := p.columns.read(ctx, p.unseen, true)
	if err != nil {
		return t, err
	}
	t.Train, t.TargetColumns = unseen, p.columns.targets(unseen.Names())
	t.Names = map[*dataset.Table]string{table: t.Names[table], unseen: nameOf(p.unseen)}
	t.NotInputs, t.IDColumn = []string{t.IDColumn}, "" // an error for each label, also of replicates
	if n := net.Outputs(); n != len(t.TargetColumns) {
		return t, dataError{errorf("%s predicts %s, but --target names %s", p.model, words.Count(n, "number", "numbers"), words.Count(len(t.TargetColumns), "column", "columns"))}
	}
	return t, nil
}

// calibrate finds out how far intervals reach, for each output, from errors on labelled rows.
func (p *predicting) calibrate(ctx context.Context, net *onnx.Network, rows *tables.Rows, x matrix.Dense[float32], reach []*float64, log *progress) error {
	y, err := net.Predict(ctx, x)
	if err != nil {
		return dataError{errorf("%s: %w", p.unseen, err)}
	}
	for k, target := range rows.Targets {
		about := ""
		if len(rows.Targets) > 1 {
			about = shown(target) + ": "
		}
		at, labels := rows.Labelled(k)
		errs := make([]float64, len(at))
		for i, row := range at {
			errs[i] = float64(y.At(row, k)) - labels[i]
		}
		r, err := network.ConformalRadius(errs, p.coverage)
		if few := (*network.CoverageError)(nil); errors.As(err, &few) {
			log.warn(about + err.Error() + "; no intervals are written")
			continue
		}
		if err != nil {
			return dataError{err}
		}
		reach[k] = &r
		log.say("%sintervals: ± %.4g, from the errors on %s of %s", about, r, words.Count(len(errs), "row", "rows"), nameOf(p.unseen))
	}
	return nil
}

// runForeign measures the errors of a network from elsewhere.
func (e *evaluating) runForeign(ctx context.Context, path string, out io.Writer, log *progress) error {
	net, foreign, err := e.foreign.load(e.model)
	if err != nil {
		return err
	}
	warnOfCPU(ctx, log, e.model)
	table, err := e.columns.read(ctx, path, false)
	if err != nil {
		return err
	}
	t := e.columns.tables(path, table)
	if n := net.Outputs(); n != len(t.TargetColumns) {
		return dataError{errorf("%s predicts %s, but --target names %s", e.model, words.Count(n, "number", "numbers"), words.Count(len(t.TargetColumns), "column", "columns"))}
	}
	t.NotInputs, t.IDColumn = []string{t.IDColumn}, "" // an error for each label, also of replicates
	rows, need, err := e.columns.foreignRows(ctx, net, foreign, t, log)
	if err != nil {
		return err
	}
	if rows.Train.Rows == 0 {
		return dataError{errorf("%s: no row has a label", path)}
	}
	x, _, err := foreign.Inputs(rows)
	if err != nil {
		return dataError{err}
	}
	y, err := net.Predict(ctx, x)
	if err != nil {
		return dataError{errorf("%s: %w", path, err)}
	}
	var found []targetErrors
	for k, target := range rows.Targets {
		at, labels := rows.Labelled(k)
		predicted := make([]float64, len(at))
		for i, row := range at {
			predicted[i] = float64(y.At(row, k))
		}
		found = append(found, measured(target, predicted, labels, nil, nil))
	}
	return e.report(out, log, found, need)
}
