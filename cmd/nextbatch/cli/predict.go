package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/conformal"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	columns  columnFlags
	file     string // of the network
	foreign  foreignFlags
	coverage float64
	unseen   string // labelled rows that a network from elsewhere has not learnt from
	out      string
	threads  int
	quiet    bool
}

// predicting is a run of predict.
type predicting struct {
	predictFlags
	run
	path  string
	model predictor
	table *dataset.Table
	rows  *tables.Rows
}

func newPredict() *cobra.Command {
	p := &predictFlags{}
	c := &cobra.Command{
		Use:   "predict TABLE",
		Short: "Predict labels and intervals with a saved model",
		Example: `  nextbatch predict candidates.csv --model model.nextbatch --id name --out predicted.csv
  nextbatch predict candidates.csv --model net.onnx --calibrate unseen.csv --target y`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &predicting{predictFlags: *p, run: newRun(cmd, p.quiet), path: args[0]}
			return r.perform(cmd.Context(), steps{check: r.check, threads: r.threads, memory: &r.columns.memory,
				read: r.read, compute: r.compute})
		},
		Long: `Predicts the label of every row; missing inputs are imputed as when
the model was fitted, unless --missing says otherwise. Each prediction comes with an interval,
low to high, that contains the label with probability --coverage, for rows drawn as
the labelled ones were, and with an uncertainty, which compares rows and has no unit:
1 is that of a typical held-out row, 2 twice that. Without --out, prints CSV.

It is not known which labels a network from elsewhere has learnt from, so it has no
intervals, unless --calibrate names labelled rows that were used neither to train it
nor to choose it. Intervals then come from its errors on these rows (split
conformal prediction), and hold for rows drawn as they were.`,
	}
	c.Flags().StringVar(&p.file, "model", "",
		"model that 'nextbatch fit' saved, or a network from elsewhere: .onnx, or .json with a description")
	p.foreign.register(c)
	c.Flags().StringVar(&p.unseen, "calibrate", "",
		"table of labelled rows that a network from elsewhere has not seen, for intervals")
	p.columns.registerTarget(c)
	registerRange(c.Flags(), &p.columns.Ranges)
	c.Flags().Float64Var(&p.coverage, "coverage", conformal.DefaultCoverage,
		"probability that an interval contains the label; 0 for no intervals")
	c.Flags().StringVarP(&p.out, "out", "o", "", "write to this file instead of standard output: "+
		strings.Join(tableExtensions(), ", "))
	registerQuiet(c, &p.quiet)
	registerThreads(c, &p.threads)
	registerDevice(c)
	p.columns.register(c)
	p.columns.registerMissing(c)
	return c
}

func (p *predicting) check() error {
	if p.file == "" {
		return usagef("name the model with --model")
	}
	if !(p.coverage >= 0 && p.coverage < 1) {
		return usagef("--coverage must be from 0 to less than 1, not %v", p.coverage)
	}
	switch {
	case p.unseen != "" && !isForeign(p.file):
		return usagef("--calibrate is for a network from elsewhere, as in --model net.onnx; one that 'nextbatch fit' saved " +
			"has intervals already")
	case p.unseen != "" && p.columns.target == "":
		return usagef("name the labels of the rows of --calibrate with --target")
	case p.unseen != "" && p.coverage == 0:
		return usagef("--calibrate is for intervals, and --coverage 0 means none")
	case p.unseen == "" && p.columns.target != "":
		return usagef("--target is for --calibrate; the model knows what it predicts")
	}
	if err := checkDistinct([]flagged{{"TABLE", p.path}, {"--model", p.file}, {"--calibrate", p.unseen}},
		[]flagged{{"--out", p.out}}); err != nil {
		return err
	}
	return errors.Join(p.columns.check(), p.foreign.check(p.file), checkOutput("--out", p.out, tableExtensions()...))
}

// read reads the model and the rows.
func (p *predicting) read(ctx context.Context) (err error) {
	if p.model, err = p.foreign.load(ctx, p.file, p.path, p.unseen, p.progress); err != nil {
		return err
	}
	if ranges := p.columns.Ranges; ranges != nil {
		if err := ranges.Check(len(p.model.targets())); err != nil {
			return usagef("--range: %w", err)
		}
		p.model = p.model.within(ranges)
	}
	if p.table, err = p.columns.read(ctx, p.path, p.unseen != ""); err != nil {
		return err
	}
	t := p.columns.tables(p.path, p.table)
	t.Table, t.Pool = nil, p.table
	if p.unseen != "" {
		if t, err = p.withUnseen(ctx, t); err != nil {
			return err
		}
	}
	p.rows, _, err = p.columns.rowsFor(ctx, p.model, t, p.progress, "predicting", "fewer rows at a time")
	return err
}

// withUnseen adds the rows of --calibrate to the tables, as labelled ones.
func (p *predicting) withUnseen(ctx context.Context, t tables.Tables) (tables.Tables, error) {
	unseen, err := p.columns.read(ctx, p.unseen, true)
	if err != nil {
		return t, err
	}
	t.Train, t.TargetColumns = unseen, p.columns.targets(unseen.Names())
	t.Names = map[*dataset.Table]string{p.table: t.Names[p.table], unseen: nameOf(p.unseen)}
	t.NotInputs, t.IDColumn = []string{t.IDColumn}, "" // an error for each label, also of replicates
	return t, nil
}

func (p *predicting) compute(ctx context.Context) (*answer, error) {
	result, err := p.predict(ctx)
	if err != nil {
		return nil, err
	}
	return tableAnswer(p.out, result), nil
}

// predict returns the predictions as a table.
func (p *predicting) predict(ctx context.Context) (*dataset.Table, error) {
	unseen, x, err := p.model.inputs(p.rows)
	if err != nil {
		return nil, dataError{err}
	}
	names := p.model.targets()
	predicted, err := p.model.predict(ctx, x, upTo(len(names)), true)
	if err != nil {
		return nil, dataError{err}
	}
	if c, takes := p.model.(calibratable); takes && p.unseen != "" {
		if err := c.calibrate(ctx, unseen, p.rows); err != nil {
			return nil, dataError{err}
		}
	}
	if why := p.model.noIntervals(); why != "" && p.coverage > 0 {
		p.progress.say("no intervals: %s", why)
	}
	columns, err := p.rowNames()
	if err != nil {
		return nil, err
	}
	for k, u := range predicted {
		own, err := p.target(ctx, x, k, u)
		if err != nil {
			return nil, dataError{err}
		}
		columns = append(columns, own...)
	}
	t, err := dataset.NewTable(columns...)
	if err != nil {
		return nil, dataError{err}
	}
	return t.WrittenLike(p.table.Origin().Style), nil
}

// target returns the columns of one target. One of several has a name, which is part of the
// columns' names.
func (p *predicting) target(ctx context.Context, x matrix.Dense[float32], k int,
	u network.Uncertain) ([]dataset.Column, error) {
	suffix, about := "", ""
	if names := p.model.targets(); len(names) > 1 {
		suffix, about = "_"+names[k], shown(names[k])+": "
	}
	if labels := p.rows.Targets; len(labels) > 1 {
		about = shown(labels[k]) + ": "
	}
	columns := []dataset.Column{dataset.NewNumeric("prediction"+suffix, u.Mean...)}
	if u.Relative != nil {
		columns = append(columns, dataset.NewNumeric("uncertainty"+suffix, u.Relative...))
	}
	if p.coverage == 0 || p.model.noIntervals() != "" {
		return columns, nil
	}
	low, high, how, err := p.model.interval(ctx, x, k, u, p.coverage)
	if few := (*conformal.CoverageError)(nil); errors.As(err, &few) {
		//warning:no-intervals
		p.progress.warn(about + err.Error() + "; no intervals are written")
		return columns, nil
	}
	if err != nil {
		return nil, err
	}
	p.progress.say("%sintervals: %s", about, how)
	return append(columns, dataset.NewNumeric("low"+suffix, low...), dataset.NewNumeric("high"+suffix, high...)), nil
}

// rowNames returns the columns that name the rows: ids, if there are any, and numbers.
func (p *predicting) rowNames() (columns []dataset.Column, err error) {
	if p.columns.id != "" {
		ids, err := p.table.Column(p.columns.id)
		if err != nil {
			return nil, dataError{errorf("--id: %w", err)}
		}
		columns = append(columns, ids.Select(p.rows.PoolRows))
	}
	number := dataset.NewNumeric("row")
	for _, row := range p.rows.PoolRows {
		number.Append(float64(row))
	}
	if p.columns.id != "row" {
		columns = append(columns, number)
	}
	return columns, nil
}
