package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
	"github.com/spf13/cobra"
)

// predicting is a run of predict.
type predicting struct {
	columns  columnFlags
	model    string
	foreign  foreignFlags
	coverage float64
	unseen   string // labelled rows that a network from elsewhere has not learnt from
	out      string
	threads  int
	quiet    bool
}

func newPredict() *cobra.Command {
	p := &predicting{}
	c := &cobra.Command{
		Use:   "predict TABLE",
		Short: "Predict labels and intervals with a saved network",
		Example: `  nextbatch predict candidates.csv --model net.safetensors --id name --out predicted.csv
  nextbatch predict candidates.csv --model net.onnx --calibrate unseen.csv --target y`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.run(cmd.Context(), args[0], cmd.OutOrStdout(), newProgress(cmd.ErrOrStderr(), p.quiet))
		},
		Long: `Predicts the label of every row; missing inputs are imputed as in the training of
the network, unless --missing says otherwise. Each prediction comes with an interval,
low to high, that contains the label with probability --coverage, for rows drawn as
the labelled ones were, and with an uncertainty, which compares rows and has no unit:
1 is that of a typical held-out row, 2 twice that. Without --out, prints CSV.

Nothing says which labels a network from elsewhere has not learnt from, so it has no
intervals, unless --calibrate names labelled rows that it has not seen, neither to be
trained nor to be chosen. Intervals then come from its errors on these rows (split
conformal prediction), and hold for rows drawn as they were.`,
	}
	c.Flags().StringVar(&p.model, "model", "", "network that 'nextbatch fit' saved, or one from elsewhere: .onnx, or .json with a description")
	p.foreign.register(c)
	c.Flags().StringVar(&p.unseen, "calibrate", "", "table of labelled rows that a network from elsewhere has not seen, for intervals")
	p.columns.registerTarget(c)
	c.Flags().Float64Var(&p.coverage, "coverage", network.DefaultCoverage, "probability that an interval contains the label; 0 for no intervals")
	c.Flags().StringVarP(&p.out, "out", "o", "", "write to this file instead of standard output")
	registerQuiet(c, &p.quiet)
	registerThreads(c, &p.threads)
	registerDevice(c)
	p.columns.register(c)
	p.columns.registerMissing(c)
	return c
}

func (p *predicting) run(ctx context.Context, path string, out io.Writer, log *progress) error {
	if p.model == "" {
		return usagef("name the network with --model")
	}
	if !(p.coverage >= 0 && p.coverage < 1) {
		return usagef("--coverage must be from 0 to less than 1, not %v", p.coverage)
	}
	switch {
	case p.unseen != "" && !isForeign(p.model):
		return usagef("--calibrate is for a network from elsewhere, as in --model net.onnx; one that 'nextbatch fit' saved has intervals already")
	case p.unseen != "" && p.columns.target == "":
		return usagef("name the labels of the rows of --calibrate with --target")
	case p.unseen != "" && p.coverage == 0:
		return usagef("--calibrate is for intervals, and --coverage 0 means none")
	case p.unseen == "" && p.columns.target != "":
		return usagef("--target is for --calibrate; the network knows what it predicts")
	}
	if err := checkDistinct([]flagged{{"TABLE", path}, {"--model", p.model}, {"--calibrate", p.unseen}}, []flagged{{"--out", p.out}}); err != nil {
		return err
	}
	if err := errors.Join(p.columns.check(), p.foreign.check(p.model), checkOutput("--out", p.out, tableExtensions()...)); err != nil {
		return err
	}
	ctx, err := withThreads(ctx, p.threads)
	if err != nil {
		return err
	}
	defer p.columns.memory.begin()()
	if isForeign(p.model) {
		return p.runForeign(ctx, path, out, log)
	}
	r, err := loadModel(p.model)
	if err != nil {
		return err
	}
	table, err := p.columns.read(ctx, path, false)
	if err != nil {
		return err
	}
	t := p.columns.tables(path, table)
	t.One, t.Pool, t.Encoder = nil, table, r.Columns()
	t.Admit = func(z tables.Sizes) error {
		return p.columns.memory.admit("predicting", predictionNeed(table, z, r), "fewer rows at a time")
	}
	rows, err := t.Rows(ctx)
	if err != nil {
		return dataError{err}
	}
	log.report(rows)
	result, err := p.predict(ctx, r, table, rows, log)
	if err != nil {
		return err
	}
	return p.write(out, result)
}

func (p *predicting) write(out io.Writer, result *dataset.Table) error {
	if p.out == "" {
		return source.WriteCSV(out, result)
	}
	return source.WriteFile(p.out, result)
}

func (p *predicting) predict(ctx context.Context, r *network.Model, table *dataset.Table, rows *tables.Rows, log *progress) (*dataset.Table, error) {
	columns, err := p.rowNames(table, rows)
	if err != nil {
		return nil, err
	}
	for k := range r.Targets() {
		of := ""
		if r.Targets() > 1 {
			of = r.TargetName(k)
		}
		own, err := p.predictTarget(ctx, r.Target(k), of, rows, log)
		if err != nil {
			return nil, dataError{err}
		}
		columns = append(columns, own...)
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, dataError{err}
	}
	return t, nil
}

// predictTarget returns the columns of one target. One of several has a name, which is
// part of the columns' names.
func (p *predicting) predictTarget(ctx context.Context, r *network.Model, name string, rows *tables.Rows, log *progress) ([]dataset.Column, error) {
	suffix, about := "", ""
	if name != "" {
		suffix, about = "_"+name, shown(name)+": "
	}
	u, err := r.PredictStd(ctx, rows.Pool)
	if err != nil {
		return nil, err
	}
	columns := []dataset.Column{dataset.NewNumeric("prediction"+suffix, u.Mean...)}
	if u.Relative != nil {
		columns = append(columns, dataset.NewNumeric("uncertainty"+suffix, u.Relative...))
	}
	if p.coverage == 0 {
		return columns, nil
	}
	low, high, err := r.PredictInterval(ctx, rows.Pool, p.coverage)
	if few := (*network.CoverageError)(nil); errors.As(err, &few) {
		log.warn(about + err.Error() + "; no intervals are written")
		return columns, nil
	}
	if err != nil {
		return nil, err
	}
	log.say("%sintervals: %v", about, r.Intervals())
	return append(columns, dataset.NewNumeric("low"+suffix, low...), dataset.NewNumeric("high"+suffix, high...)), nil
}

// rowNames returns the columns that name the rows: ids, if there are any, and numbers.
func (p *predicting) rowNames(table *dataset.Table, rows *tables.Rows) (columns []dataset.Column, err error) {
	if p.columns.id != "" {
		ids, err := table.Column(p.columns.id)
		if err != nil {
			return nil, dataError{errorf("--id: %w", err)}
		}
		columns = append(columns, ids.Select(rows.PoolRows))
	}
	number := dataset.NewNumeric("row")
	for _, row := range rows.PoolRows {
		number.Append(float64(row))
	}
	if p.columns.id != "row" {
		columns = append(columns, number)
	}
	return columns, nil
}

// evaluating is a run of evaluate.
type evaluating struct {
	columns  columnFlags
	model    string
	foreign  foreignFlags
	coverage float64
	json     bool
	threads  int
	quiet    bool
}

// evaluateResult is what evaluate prints as JSON; errors are in units of the
// labels.
type evaluateResult struct {
	targetErrors                // of the first of several targets
	Targets      []targetErrors `json:"targets,omitempty"` // each of several targets
	Wanted       number         `json:"wanted_coverage"`
	Memory       int64          `json:"memory_forecast"`
	Warnings     []string       `json:"warnings"`
}

// targetErrors are the errors of the predictions of one target.
type targetErrors struct {
	Target   string  `json:"target,omitempty"` // of several
	Rows     int     `json:"rows"`             // that have a label
	MAE      number  `json:"mae"`
	RMSE     number  `json:"rmse"`
	MaxE     number  `json:"maxe"`
	Q95      number  `json:"q95"`
	Q99      number  `json:"q99"`
	Coverage *number `json:"coverage"` // share of labels in their intervals; null without intervals
}

func newEvaluate() *cobra.Command {
	e := &evaluating{}
	c := &cobra.Command{
		Use:        "evaluate TABLE",
		SuggestFor: []string{"test", "score"},
		Short:      "Measure the errors of a saved network on labelled rows",
		Example:    "  nextbatch evaluate test.csv --model net.safetensors --target y --json",
		Args:       cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.run(cmd.Context(), args[0], cmd.OutOrStdout(), newProgress(cmd.ErrOrStderr(), e.quiet))
		},
		Long: `Prints the errors that the paper reports, over all rows of the table that have a
label: mean absolute error, root mean squared error, the largest error, and the
95 % and 99 % quantiles. On rows that it was trained on, a network looks better than it is.`,
	}
	e.columns.registerTarget(c)
	c.Flags().StringVar(&e.model, "model", "", "network that 'nextbatch fit' saved, or one from elsewhere: .onnx, or .json with a description")
	e.foreign.register(c)
	c.Flags().Float64Var(&e.coverage, "coverage", network.DefaultCoverage, "probability with which intervals should hold the label")
	c.Flags().BoolVar(&e.json, "json", false, "print one JSON object")
	registerQuiet(c, &e.quiet)
	registerThreads(c, &e.threads)
	registerDevice(c)
	e.columns.register(c)
	e.columns.registerMissing(c)
	return c
}

func (e *evaluating) run(ctx context.Context, path string, out io.Writer, log *progress) error {
	switch {
	case e.model == "":
		return usagef("name the network with --model")
	case e.columns.target == "":
		return usagef("name the target column with --target")
	case !(e.coverage > 0 && e.coverage < 1):
		return usagef("--coverage must be between 0 and 1, not %v", e.coverage)
	}
	if err := errors.Join(e.columns.check(), e.foreign.check(e.model)); err != nil {
		return err
	}
	ctx, err := withThreads(ctx, e.threads)
	if err != nil {
		return err
	}
	defer e.columns.memory.begin()()
	if isForeign(e.model) {
		return e.runForeign(ctx, path, out, log)
	}
	r, err := loadModel(e.model)
	if err != nil {
		return err
	}
	table, err := e.columns.read(ctx, path, false)
	if err != nil {
		return err
	}
	need := int64(0)
	t := e.columns.tables(path, table)
	t.Encoder, t.IDColumn = r.Columns(), "" // an error for each label, also of replicates
	t.Admit = func(z tables.Sizes) error {
		need = predictionNeed(table, z, r)
		return e.columns.memory.admit("evaluating", need, "fewer rows")
	}
	rows, err := t.Rows(ctx)
	if err != nil {
		return dataError{err}
	}
	log.report(rows)
	if rows.Train.Rows == 0 {
		return dataError{errorf("%s: no row has a label", path)}
	}
	models, err := modelsOf(r, rows.Targets)
	if err != nil {
		return usageError{err}
	}
	var found []targetErrors
	for k, one := range models {
		x, labels := rows.Train, rows.Labels.Data
		if len(models) > 1 {
			at, own := rows.Labelled(k)
			x, labels = rows.Train.SelectRows(at), own
		}
		if len(labels) == 0 {
			return dataError{errorf("%s: no row has a label in column %q", path, rows.Targets[k])}
		}
		predicted, err := one.Predict(ctx, x)
		if err != nil {
			return dataError{err}
		}
		low, high, err := one.PredictInterval(ctx, x, e.coverage)
		if few := (*network.CoverageError)(nil); errors.As(err, &few) {
			log.warn(err.Error())
		} else if err != nil {
			return dataError{err}
		}
		found = append(found, measured(rows.Targets[k], predicted, labels, low, high))
	}
	return e.report(out, log, found, need)
}

// modelsOf returns the model of each target column: by its name or, if the network knows
// the columns by other names, by its place.
func modelsOf(m *network.Model, columns []string) (list []*network.Model, err error) {
	names := make([]string, m.Targets())
	for k := range names {
		names[k] = m.TargetName(k)
	}
	known := func(column string) bool { return slices.Contains(names, column) }
	byPlace := len(columns) == len(names) && !slices.ContainsFunc(columns, known)
	for k, column := range columns {
		at := slices.Index(names, column)
		if byPlace {
			at = k
		}
		if at < 0 {
			return nil, errorf("--target names column %q, but the network predicts %s", column, listed(names))
		}
		list = append(list, m.Target(at))
	}
	return list, nil
}

// measured compares predictions of a target with labels; low and high are nil without
// intervals.
func measured(target string, predicted, labels, low, high []float64) targetErrors {
	m := network.Measure(matrix.View(1, len(predicted), predicted), labels)
	t := targetErrors{Target: target, Rows: len(labels), MAE: number(m.MAE), RMSE: number(m.RMSE), MaxE: number(m.MaxE), Q95: number(m.Q95), Q99: number(m.Q99)}
	if low == nil {
		return t
	}
	held := 0
	for i, y := range labels {
		if low[i] <= y && y <= high[i] {
			held++
		}
	}
	t.Coverage = new(number(float64(held) / float64(len(labels))))
	return t
}

// report prints the errors of the targets.
func (e *evaluating) report(out io.Writer, log *progress, targets []targetErrors, need int64) error {
	if e.json {
		result := evaluateResult{targetErrors: targets[0], Wanted: number(e.coverage), Memory: need, Warnings: append([]string{}, log.warnings...)}
		if result.Target = ""; len(targets) > 1 {
			result.Targets = targets
		}
		return printJSON(out, result)
	}
	for _, t := range targets {
		if len(targets) > 1 {
			fmt.Fprintf(out, "target %s\n", shown(t.Target))
		}
		fmt.Fprintf(out, "rows   %d\nMAE    %.5g\nRMSE   %.5g\nmax    %.5g\n95 %%   %.5g\n99 %%   %.5g\n", t.Rows, float64(t.MAE), float64(t.RMSE), float64(t.MaxE), float64(t.Q95), float64(t.Q99))
		if t.Coverage != nil {
			fmt.Fprintf(out, "held   %.1f %% of the labels are in their %.0f %% intervals\n", 100*float64(*t.Coverage), 100*e.coverage)
		}
	}
	return nil
}
