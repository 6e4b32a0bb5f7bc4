package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/campaign"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/earlierdata"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/plate"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/tables"
)

// columnFlags describe the columns of a table.
type columnFlags struct {
	tables.Columns  // the weights are a flag of their own
	id              string
	numeric, ignore []string
	earlier         []string // tables; a flag of its own
	labelSD         []string // columns; a flag of its own
	missing         string

	format formatFlags
	random string   // the column that marks labels drawn at random; a flag of its own
	memory memory   // that reading and what follows may take
	target string   // the target columns, which must be numeric; a flag of its own
	labels []string // further columns of labels

	history func(column string) *dataset.History // see source.Options
}

func (f *columnFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.id, "id", "", "column that names the rows; without it, rows are numbered from 0")
	flags.StringSliceVar(&f.Categorical, "categorical", nil, "numeric columns to treat as categories")
	flags.StringSliceVar(&f.numeric, "numeric", nil, "columns that must be numbers")
	flags.StringSliceVar(&f.ignore, "ignore", nil, "columns to skip")
	f.format.register(c)
	f.memory.register(c)
}

// registerRandom registers the flag for the column of random labels.
func (f *columnFlags) registerRandom(c *cobra.Command) {
	c.Flags().StringVar(&f.random, "random-column", "",
		"column that is true or 1 where a label was drawn at random, false or 0 where a method picked it; estimates the "+
			"pool's error")
}

// registerEarlier registers the flag for earlier data.
func (f *columnFlags) registerEarlier(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.earlier, "earlier", nil,
		"labelled rows of an earlier campaign, another instrument or a simulation; repeat it for several tables")
}

// readEarlier reads the tables of earlier data, which may lack columns, and names them.
func (f *columnFlags) readEarlier(ctx context.Context, names tables.Names) (list []*dataset.Table, err error) {
	for _, path := range f.earlier {
		table, err := f.read(ctx, path, true)
		if err != nil {
			return nil, err
		}
		list, names[table] = append(list, table), nameOf(path)
	}
	return list, nil
}

// earlierFiles are the tables of earlier data, for checks.
func (f *columnFlags) earlierFiles() (list []flagged) {
	for _, path := range f.earlier {
		file, _ := splitArray(path)
		list = append(list, flagged{"--earlier", file})
	}
	return list
}

// registerInputs registers the flags that determine which columns are inputs, and how
// missing ones are handled.
func (f *columnFlags) registerInputs(c *cobra.Command) {
	registerKeep(c.Flags(), &f.Keep)
	f.registerMissing(c)
}

func registerKeep(flags *pflag.FlagSet, keep *[]string) {
	flags.StringSliceVar(keep, "keep", nil,
		"columns to use even if they look like row numbers, or as if they were measured together with the label")
}

// registerMissing registers --missing, with imputation.
func (f *columnFlags) registerMissing(c *cobra.Command) {
	c.Flags().StringVar(&f.missing, "missing", tables.ImputeMissing.String(),
		"missing inputs: impute (by the median and a mark, with a warning), drop (these rows, with a warning) or refuse")
}

// missingInputs is the value of --missing, which check has found correct.
func (f *columnFlags) missingInputs() tables.Missing {
	m, _ := tables.ParseMissing(f.missing)
	return m
}

// tables returns a table as one that holds labelled rows and candidates.
func (f *columnFlags) tables(path string, table *dataset.Table) tables.Tables {
	return tables.Tables{
		Input: tables.Input{Table: table, Names: map[*dataset.Table]string{table: nameOf(path)},
			TargetColumns: f.targets(table.Names()), LabelSD: f.labelSD, Columns: f.Columns, RandomColumn: f.random,
			IDColumn: f.id, Missing: f.missingInputs()}, FieldName: options.Flag,
	}
}

func (f *columnFlags) check() error {
	if _, err := f.format.options(); err != nil {
		return err
	}
	if _, err := tables.ParseMissing(f.missing); err != nil {
		return usagef("--missing %w", err)
	}
	targets, err := f.targetItems()
	if err != nil {
		return err
	}
	if f.id != "" && (f.id == f.target || slices.Contains(targets, f.id)) {
		return usagef("column %q is named by --id and --target; one column cannot be both", f.id)
	}
	for _, name := range f.Categorical {
		if slices.Contains(f.numeric, name) {
			return usagef("column %q is named by --categorical and --numeric", name)
		}
	}
	return f.memory.check()
}

// read reads a table: a file, PATH:ARRAY for a file with several arrays or sheets,
// or - for standard input. The flags may name columns of other tables of the same
// command; if optional is set, names that this table does not have are ignored.
func (f *columnFlags) read(ctx context.Context, path string, optional bool) (*dataset.Table, error) {
	opts, err := f.options(optional)
	if err != nil {
		return nil, err
	}
	t, err := f.format.readTable(ctx, path, opts)
	if usage := (usageError{}); errors.As(err, &usage) {
		return nil, err
	}
	if at := (*source.Error)(nil); errors.As(err, &at) && errors.Is(err, source.ErrNumber) && at.Name == f.target {
		at.Advice += "; labels must be numbers: if this column holds words, name another one with --target"
	}
	if err != nil {
		return nil, dataError{otherFolder(err)}
	}
	f.memory.held += t.Bytes()
	return t, nil
}

// otherFolder adds to the error of a table that found no space how to name another folder for it.
func otherFolder(err error) error {
	if at := (*source.Error)(nil); errors.As(err, &at) && errors.Is(err, source.ErrMemory) && at.Cause != nil {
		at.Advice += "; --temp-dir names another folder"
	}
	return err
}

// options returns the flags as options of a table.
func (f *columnFlags) options(optional bool) (source.Options, error) {
	opts, err := f.format.options()
	if err != nil {
		return opts, err
	}
	opts.Kinds, opts.Ignore, opts.Lenient, opts.MaxMemory, opts.Overflow = map[string]dataset.Kind{}, f.ignore, optional,
		f.memory.left(), f.memory.overflow
	for _, name := range f.Categorical {
		opts.Kinds[name] = dataset.KindCategorical
	}
	for _, name := range f.numeric {
		opts.Kinds[name] = dataset.KindNumeric
	}
	for _, name := range f.labelSD {
		opts.Kinds[name] = dataset.KindNumeric
	}
	f.declareTargets(&opts)
	opts.History = f.history
	opts.Label = func(column string) bool {
		return slices.Contains(f.labels, column) || f.isTarget(column)
	}
	if f.id != "" {
		opts.Kinds[f.id], opts.RowNames = dataset.KindText, f.id
	}
	return opts, nil
}

// networkFlags determine how to train a network.
type networkFlags struct {
	choice.Choice
	seed    uint64
	threads int
	flags   *pflag.FlagSet // that these are registered in
}

// given returns the training flags on the command line.
func (f *networkFlags) given() (names []string) {
	for _, name := range []string{"activation", "epochs", "hidden", "ensemble"} {
		if f.flags.Changed(name) {
			names = append(names, "--"+name)
		}
	}
	return names
}

// checkModel rejects training flags beside a model that has been trained.
func (f *networkFlags) checkModel(model string) error {
	given := f.given()
	if f.flags.Changed("learner") {
		return usagef("--learner says what to fit, but --model %s has been fitted: leave one of them out", model)
	}
	if len(given) == 0 {
		return nil
	}
	set := "sets"
	if len(given) > 1 {
		set = "set"
	}
	return usagef("%s %s the training of a network, but --model %s is one that has been trained: leave %s out, or leave "+
		"--model out to train a new one",
		words.List(given), set, model, words.List(given))
}

func (f *networkFlags) register(c *cobra.Command) {
	f.registerOne(c)
	f.registerMembers()
}

// registerOne registers all flags but the size of the ensemble.
func (f *networkFlags) registerOne(c *cobra.Command) {
	f.registerChoice(c.Flags(), "seed of networks and methods")
	registerThreads(c, &f.threads)
}

// registerChoice registers the flags of one network. Seed is the help text of its seed.
func (f *networkFlags) registerChoice(flags *pflag.FlagSet, seed string) {
	f.flags, f.Choice = flags, choice.DefaultChoice()
	flags.StringVar(&f.Activation, "activation", f.Activation, "activation function: "+network.ActivationNames()+
		"; networks of a blend have silu instead of relu")
	registerTraining(flags, &f.Epochs, &f.Hidden)
	flags.Uint64Var(&f.seed, "seed", 0, seed)
}

// registerTraining registers how long networks are trained and how wide they are. Both have their defaults.
func registerTraining(flags *pflag.FlagSet, epochs *int, hidden *[]int) {
	flags.IntVar(epochs, "epochs", *epochs, "epochs of training")
	flags.IntSliceVar(hidden, "hidden", *hidden, "widths of the hidden layers")
}

func (f *networkFlags) registerMembers() {
	f.flags.IntVar(&f.Members, "ensemble", f.Members, "networks to train; 0 means as many as the method uses")
}

// registerLearner registers --learner. Its default is what is there already, or auto.
func registerLearner(flags *pflag.FlagSet, to *learner.Kind) {
	*to = cmp.Or(*to, learner.Auto)
	flags.StringVar((*string)(to), "learner", string(*to),
		"model of the labels: auto (a blend of what is best for them), network, gp (Gaussian process), trees or in-context "+
			"(a network that has read generated tables)")
}

// checkLearner rejects an unknown learner, and flags that have no effect on its networks.
func (f *networkFlags) checkLearner(kind learner.Kind) error {
	if err := kind.Check("--learner"); err != nil {
		return usageError{err}
	}
	if err := kind.CheckNetwork("--", f.given(), f.Activation); err != nil {
		return usageError{err}
	}
	return nil
}

// limitFlags are limits of a batch, and its layout.
type limitFlags struct {
	limits.Limits
	plate.Layout
	budget float64
}

func (f *limitFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.CostColumn, "cost", "", "column with the cost of each row")
	flags.Float64Var(&f.budget, "budget", 0, "most that one batch may cost")
	flags.BoolVar(&f.PerCost, "cost-aware", false, "pick by score divided by cost")
	flags.StringVar(&f.GroupColumn, "group", "", "column with the group of each row")
	flags.IntVar(&f.PerGroup, "per-group", 0, "at most this many rows of any group in one batch")
	flags.BoolVar(&f.GroupIsInput, "group-input", false, "the column of --group is an input, too")
	f.registerWhole(flags)
}

// registerWhole registers the limits of the batch as a whole, and its layout.
func (f *limitFlags) registerWhole(flags *pflag.FlagSet) {
	flags.IntVar(&f.MinPerGroup, "min-per-group", 0,
		"at least this many rows of every group that has candidates or, with --at-most-groups, of each group in the batch")
	flags.IntVar(&f.MaxGroups, "at-most-groups", 0, "rows of at most this many groups in one batch")
	flags.StringSliceVar(&f.Same, "same", nil, "columns whose values all rows of a run share, such as a temperature")
	flags.IntVar(&f.Runs, "runs", 0, "runs of one batch, each with values of --same of its own (default 1)")
	flags.IntVar(&f.Replicates, "replicates", 0,
		"measure each pick this many times; -n counts measurements (default once)")
	flags.Var((*shareValue)(&f.ReplicateShare), "replicate-share",
		"share of the batch that measures labelled rows once more, such as 1/8 or 0.125")
	flags.StringVar(&f.Plate, "plate", "",
		"give each measurement a well on plates of this many rows and columns, such as 8x12")
	flags.StringSliceVar(&f.Controls, "controls", nil,
		"wells that stay free for controls: wells, rows, columns or ranges, such as A1,H12,12,A,C1-C3")
}

// ofOption is the name of the flag of an option.
func ofOption(option string) string { return strings.TrimLeft(options.Flag(option), "-") }

// shareValue is a share that a flag takes as a fraction or as a number.
type shareValue float64

func (v *shareValue) String() string {
	if *v == 0 {
		return ""
	}
	return words.Share(float64(*v))
}

func (v *shareValue) Type() string { return "share" }

func (v *shareValue) Set(text string) error {
	share, err := campaign.ParseShare(text)
	*v = shareValue(share)
	return err
}

func registerQuiet(c *cobra.Command, to *bool) {
	c.Flags().BoolVarP(to, "quiet", "q", false, "no progress, only warnings and errors")
}

func registerThreads(c *cobra.Command, to *int) {
	c.Flags().IntVar(to, "threads", 0, "threads; 0 means all cores")
}

func (f *networkFlags) config() (network.Config, error) {
	c, err := f.Config(f.seed, options.Flag)
	if err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// withThreads returns the context with the thread budget of --threads.
func withThreads(ctx context.Context, n int) (context.Context, error) {
	if n < 0 {
		return nil, usagef("--threads must not be negative")
	}
	return nextbatch.WithThreads(ctx, n), nil
}

// rows reads a table, and earlier data, and turns it into the rows of a fit by these options, unless admit finds too
// little memory for what follows.
func (f *columnFlags) rows(ctx context.Context, path string, p *progress, o *fitted.Options,
	admit func(*dataset.Table, tables.Sizes) error) (*dataset.Table, *tables.Rows, error) {
	table, err := f.read(ctx, path, false)
	if err != nil {
		return nil, nil, err
	}
	t := f.tables(path, table)
	if err := f.checkWeights(nameOf(path), len(t.TargetColumns)); err != nil {
		return nil, nil, err
	}
	if t.Earlier, err = f.readEarlier(ctx, t.Names); err != nil {
		return nil, nil, err
	}
	t.Admit = func(z tables.Sizes) error { return admit(table, z) }
	rows, err := earlierdata.Rows(ctx, t, o)
	p.done()
	if err != nil {
		return nil, nil, dataError{err}
	}
	p.report(rows)
	p.say("%s, %s, %s", words.Count(rows.Train.Rows, "labelled row", "labelled rows"),
		words.Count(rows.Pool.Rows, "candidate", "candidates"), words.Count(rows.Train.Cols, "input", "inputs"))
	return table, rows, nil
}

// rowsFor turns tables into rows for a model, unless its predictions need too much memory, of
// which it returns the forecast.
func (f *columnFlags) rowsFor(ctx context.Context, m predictor, t tables.Tables, p *progress, what,
	less string) (rows *tables.Rows, need int64, err error) {
	if t, err = m.tables(ctx, t); err != nil {
		return nil, 0, err
	}
	t.Admit = func(z tables.Sizes) error {
		need = m.memory(f.memory.held, z)
		return f.memory.admit(what, need, less)
	}
	if rows, err = t.Rows(ctx); err != nil {
		return nil, 0, dataError{err}
	}
	p.report(rows)
	return rows, need, nil
}

// list returns the value of a flag that names rows: names, or @file with one per line.
func list(values []string) ([]string, error) {
	var names []string
	for _, v := range values {
		path, isFile := strings.CutPrefix(v, "@")
		if !isFile {
			names = append(names, v)
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			return nil, dataError{err}
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				names = append(names, line)
			}
		}
		_ = file.Close()
		if err := lines.Err(); err != nil {
			return nil, dataError{errorf("%s: %w", path, err)}
		}
	}
	return names, nil
}
