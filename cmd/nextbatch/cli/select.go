package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/selection"
	"github.com/nextbatch/nextbatch/spec"
)

// selecting is a run of select: its flags first, then what they lead to.
type selecting struct {
	columns columnFlags
	net     networkFlags

	table, train, pool          string
	trainFeatures, poolFeatures string
	model                       string
	batch                       int
	method                      string
	exclude, must               []string
	cost, group                 string
	budget                      float64
	perGroup                    int
	targets                     string
	out, page                   string
	json, dryRun, quiet         bool
	budgetSet                   bool

	progress *progress
	spec     spec.Spec
	config   network.Config
	fitted   *network.Model[float32]
	rows     *nextbatch.Rows // nil with features
	problem  nextbatch.Problem
	trainT   *dataset.Table              // that of the labelled rows, nil with features
	poolT    *dataset.Table              // likewise
	poolRows []int                       // the row of the input that became row i of the pool
	tables   []*dataset.Table            // that were read
	written  func(nextbatch.Sizes) int64 // bytes that what is written takes beside the selection

	forecastBytes int64
	timings       timings
}

// timings are seconds.
type timings struct {
	Read   float64 `json:"read"`
	Train  float64 `json:"train"`
	Kernel float64 `json:"kernel"`
	Select float64 `json:"select"`
	Total  float64 `json:"total"`
}

func newSelect() *cobra.Command {
	s := &selecting{written: func(nextbatch.Sizes) int64 { return 0 }}
	c := &cobra.Command{
		Use:   "select [TABLE]",
		Short: "Pick the rows to label next",
		Example: `  nextbatch select table.csv --target y -n 256 --id name --out batch.csv
  nextbatch select --train labelled.csv --pool candidates.csv --target y -n 64 --json
  nextbatch select --train-features t.npy --pool-features p.npy -n 64 --method 'lcmd-tp:features'
  nextbatch select table.csv --target y -n 96 --cost hours --budget 40 --group site --per-group 12`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.table = args[0]
			}
			s.budgetSet = cmd.Flags().Changed("budget")
			s.progress = newProgress(cmd.ErrOrStderr(), s.quiet)
			return s.run(cmd.Context(), cmd.OutOrStdout())
		},
		Long: `Picks a batch of rows to label next. In one table, an empty label means
unlabelled, and these rows are the pool. Otherwise --train names the labelled
rows, --pool the candidates. A network is trained on the labelled rows and turned
into a kernel, in which the method picks; 'nextbatch specs' lists the methods.
With --train-features and --pool-features no network is trained, and the kernel is
called features.

Rows are named by the column --id; without one by their number in the input,
from 0: in one table that is the row of the table, the header not counted. The
columns of --id, --cost and --group are not learnt from.

--exclude and --must take names of rows, separated by commas, or @FILE with one
a line.

A run that would need more memory than the machine has to give does not begin;
--max-memory replaces that limit.

Exit codes: 0 done; 2 wrong command line; 3 data that cannot be used; 4 the batch
is smaller than asked for, and was written; 5 there is too little memory; 130
interrupted; 1 anything else.`,
	}
	f := c.Flags()
	f.IntVarP(&s.batch, "batch", "n", 0, "rows to pick")
	f.StringVar(&s.targets, "targets", "", "table (or features) of the distribution that matters, if not that of the pool")
	f.StringSliceVar(&s.exclude, "exclude", nil, "rows that may not be picked")
	f.StringSliceVar(&s.must, "must", nil, "rows that must be in the batch")
	f.StringVar(&s.cost, "cost", "", "column of costs")
	f.Float64Var(&s.budget, "budget", 0, "what the batch may cost")
	f.StringVar(&s.group, "group", "", "column of groups")
	f.IntVar(&s.perGroup, "per-group", 0, "rows of any group at most")
	f.StringVarP(&s.out, "out", "o", "", "write the batch to this file: "+strings.Join(tableExtensions(), ", "))
	f.StringVar(&s.page, "report", "", "write a page about the batch to this file: .html")
	f.BoolVar(&s.json, "json", false, "print one JSON object")
	f.BoolVar(&s.dryRun, "dry-run", false, "print the plan with a forecast of memory and time, and stop")
	s.registerInputs(c)
	s.columns.register(c)
	s.net.register(c)
	return c
}

// registerInputs registers the flags that say what to look at, and how.
func (s *selecting) registerInputs(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.columns.target, "target", "", "column of the labels")
	f.StringVar(&s.method, "method", "", "the method, see 'nextbatch specs' (default "+spec.Default+", with features lcmd-tp:features)")
	f.StringVar(&s.train, "train", "", "table of labelled rows")
	f.StringVar(&s.pool, "pool", "", "table of candidates")
	f.StringVar(&s.trainFeatures, "train-features", "", "features of labelled rows (.npy, .mat, .npz; FILE:ARRAY if there are several)")
	f.StringVar(&s.poolFeatures, "pool-features", "", "features of candidates, likewise")
	f.StringVar(&s.model, "model", "", "use this network, which 'nextbatch fit' saved, instead of training one")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "no progress, only warnings and errors")
}

func (s *selecting) run(ctx context.Context, out io.Writer) error {
	begin := time.Now()
	if err := s.check(); err != nil {
		return err
	}
	ctx, err := withThreads(ctx, s.net.threads)
	if err != nil {
		return err
	}
	defer s.columns.memory.begin()()
	if err := s.read(ctx); err != nil {
		return err
	}
	if err := s.constrain(); err != nil {
		return err
	}
	s.timings.Read = time.Since(begin).Seconds()
	if s.dryRun {
		return s.forecast(ctx, out, s.plan())
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	batch, err := s.pick(ctx)
	if err != nil {
		return err
	}
	s.timings.Kernel = batch.Kernel.Seconds()
	s.timings.Select = batch.Timing.Total.Seconds()
	s.timings.Total = time.Since(begin).Seconds()
	return s.report(ctx, out, batch)
}

// check reads the flags.
func (s *selecting) check() error {
	byFeatures := s.trainFeatures != "" || s.poolFeatures != ""
	byTwo := s.train != "" || s.pool != ""
	switch {
	case s.table == "" && !byFeatures && !byTwo:
		return usagef("name a table, or --train and --pool, or --train-features and --pool-features")
	case s.table != "" && (byFeatures || byTwo), byFeatures && byTwo:
		return usagef("give one of: a table; --train and --pool; --train-features and --pool-features")
	case byTwo && s.pool == "":
		return usagef("--train needs --pool")
	case byTwo && s.train == "" && s.model == "":
		return usagef("--pool needs --train, or --model")
	case byFeatures && s.poolFeatures == "":
		return usagef("--train-features needs --pool-features")
	case byFeatures && (s.model != "" || s.columns.id != "" || s.cost != "" || s.group != "" || s.columns.target != ""):
		return usagef("features have no columns and need no network: --model, --id, --target, --cost and --group do not go with them")
	case (s.table != "" || s.train != "") && s.columns.target == "":
		return usagef("name the column of the labels with --target")
	case s.batch < 1:
		return usagef("say how many rows to pick with -n, at least 1")
	case (s.cost != "") != s.budgetSet:
		return usagef("--cost and --budget go together")
	case s.budgetSet && (!(s.budget >= 0) || math.IsInf(s.budget, 1)):
		return usagef("--budget must be finite and not negative, not %v", s.budget)
	case (s.group != "") != (s.perGroup != 0):
		return usagef("--group and --per-group go together")
	case s.perGroup < 0:
		return usagef("--per-group must be at least 1")
	}
	if s.method == "" {
		s.method = spec.Default
		if byFeatures {
			s.method = "lcmd-tp:features"
			if s.trainFeatures == "" {
				s.method = "lcmd-p:features"
			}
		}
	}
	var err error
	if s.spec, err = spec.Parse(s.method); err != nil {
		return err
	}
	features := s.spec.Kernel.Info().OwnFeatures
	if byFeatures != features && s.spec.UsesKernel() {
		if features {
			return usagef("the kernel features needs --pool-features; with a table write ll, grad or linear")
		}
		return usagef("with features the kernel is called features, as in lcmd-tp:features, not %v", s.spec.Kernel)
	}
	if s.config, err = s.net.config(); err != nil {
		return err
	}
	if n := s.net.ensemble; n > 0 && n < s.spec.TrainedNetworks() {
		return usagef("%v looks at %d networks, --ensemble says %d", s.spec, s.spec.TrainedNetworks(), n)
	}
	if err := checkDistinct(s.inputFiles(), []flagged{{"--out", s.out}, {"--report", s.page}}); err != nil {
		return err
	}
	return errors.Join(s.columns.check(), checkOutput("--out", s.out, tableExtensions()...), checkOutput("--report", s.page, ".html"))
}

// inputFiles are those that are read.
func (s *selecting) inputFiles() []flagged {
	files := []flagged{{"TABLE", s.table}, {"--train", s.train}, {"--pool", s.pool}, {"--model", s.model}}
	for _, f := range []flagged{{"--train-features", s.trainFeatures}, {"--pool-features", s.poolFeatures}, {"--targets", s.targets}} {
		path, _ := splitArray(f.path)
		files = append(files, flagged{f.flag, path})
	}
	for _, names := range []struct {
		flag   string
		values []string
	}{{"--exclude", s.exclude}, {"--must", s.must}} {
		for _, v := range names.values {
			if path, isFile := strings.CutPrefix(v, "@"); isFile {
				files = append(files, flagged{names.flag, path})
			}
		}
	}
	return files
}

// read reads the files and makes numbers of them.
func (s *selecting) read(ctx context.Context) error {
	if s.poolFeatures != "" {
		return s.readFeatures(ctx)
	}
	t := nextbatch.Tables{Target: s.columns.target, Strict: s.columns.missing == "refuse", Categorical: s.columns.categorical, Admit: s.admit}
	var err error
	if s.table != "" {
		if t.One, err = s.columns.read(ctx, s.table, false); err != nil {
			return err
		}
		s.trainT, s.poolT = t.One, t.One
	} else {
		if t.Pool, err = s.columns.read(ctx, s.pool, true); err != nil {
			return err
		}
		if s.train != "" {
			if t.Train, err = s.columns.read(ctx, s.train, true); err != nil {
				return err
			}
		}
		s.trainT, s.poolT = t.Train, t.Pool
	}
	if s.targets != "" {
		if t.Aims, err = s.columns.read(ctx, s.targets, true); err != nil {
			return err
		}
	}
	t.Names = map[*dataset.Table]string{t.One: s.table, t.Train: s.train, t.Pool: s.pool, t.Aims: s.targets}
	for _, table := range []*dataset.Table{t.One, t.Train, t.Pool, t.Aims} {
		if table != nil {
			s.tables = append(s.tables, table)
		}
	}
	for _, name := range []string{s.columns.id, s.cost, s.group} {
		if name != "" {
			t.NotInputs = append(t.NotInputs, name)
			if _, err := s.poolT.Column(name); err != nil {
				return dataError{errorf("%s: %w", s.table+s.pool, err)}
			}
		}
	}
	if s.model != "" {
		if s.fitted, err = loadModel(s.model); err != nil {
			return err
		}
		t.Encoder = s.fitted.Columns()
		if n := len(s.fitted.Ensemble()); n < s.spec.TrainedNetworks() {
			return usagef("%v looks at %d networks, %s holds %d", s.spec, s.spec.TrainedNetworks(), s.model, n)
		}
	}
	if s.rows, err = t.Rows(); err != nil {
		return dataError{err}
	}
	for _, w := range s.rows.Warnings {
		s.progress.warn(w)
	}
	s.poolRows = s.rows.PoolRows
	s.progress.say("%d labelled rows, %d candidates, %d inputs", s.rows.Train.Rows, s.rows.Pool.Rows, s.rows.Pool.Cols)
	if s.rows.Pool.Rows == 0 {
		return dataError{errorf("no row without a label is left: there is nothing to pick from")}
	}
	if s.rows.Train.Rows < 2 && s.spec.TrainedNetworks() > 0 && s.fitted == nil {
		return dataError{errorf("%d rows have a label and all inputs, and a network needs 2 at least; start with --method random", s.rows.Train.Rows)}
	}
	s.problem.Train, s.problem.Pool, s.problem.Target.Rows = s.rows.Train, s.rows.Pool, s.rows.Aims
	return nil
}

func (s *selecting) readFeatures(ctx context.Context) error {
	if s.spec.ComputesInDouble() {
		train, pool, target, err := readSets[float64](ctx, s)
		if err != nil {
			return err
		}
		s.problem = s.problem.WithFeatures(train, pool, target)
	} else {
		var err error
		if s.problem.Train, s.problem.Pool, s.problem.Target.Rows, err = readSets[float32](ctx, s); err != nil {
			return err
		}
	}
	if s.problem.Pool.Rows == 0 {
		return dataError{errorf("%s has no rows", s.poolFeatures)}
	}
	if s.spec.Mode == spec.TP && s.problem.Train.Rows == 0 {
		return usagef("%v counts the labelled rows as selected: give --train-features, or take mode p", s.spec)
	}
	s.poolRows = make([]int, s.problem.Pool.Rows)
	for i := range s.poolRows {
		s.poolRows[i] = i
	}
	s.progress.say("%d labelled rows, %d candidates, %d features", s.problem.Train.Rows, s.problem.Pool.Rows, s.problem.Pool.Cols)
	return s.admit(nextbatch.Sizes{Train: s.problem.Train.Rows, Pool: s.problem.Pool.Rows, Aims: s.problem.Target.Rows.Rows, Inputs: s.problem.Pool.Cols})
}

// readSets reads the files of features in the kind of numbers that the method
// computes in.
func readSets[T matrix.Float](ctx context.Context, s *selecting) (train, pool, target matrix.Dense[T], err error) {
	if pool, err = readMatrix[T](ctx, s.poolFeatures, &s.columns.memory); err != nil {
		return train, pool, target, err
	}
	for _, set := range []struct {
		path string
		into *matrix.Dense[T]
	}{{s.trainFeatures, &train}, {s.targets, &target}} {
		if set.path == "" {
			continue
		}
		if *set.into, err = readMatrix[T](ctx, set.path, &s.columns.memory); err != nil {
			return train, pool, target, err
		}
		if m := *set.into; m.Cols != pool.Cols && m.Rows > 0 && pool.Rows > 0 {
			return train, pool, target, dataError{errorf("%s has %d columns, %s %d", set.path, m.Cols, s.poolFeatures, pool.Cols)}
		}
	}
	return train, pool, target, nil
}

// readMatrix reads PATH, or PATH:ARRAY for a file that holds several arrays. A
// number that is not finite is an error, and so is an array that takes more memory
// than is left.
func readMatrix[T matrix.Float](ctx context.Context, name string, mem *memory) (matrix.Dense[T], error) {
	path, array := splitArray(name)
	m, err := source.ReadMatrix[T](ctx, path, source.Options{Array: array, MaxMemory: mem.left()})
	if err != nil {
		return m, dataError{err}
	}
	mem.held += int64(len(m.Data)) * int64(unsafe.Sizeof(T(0)))
	if i, j, found := linalg.FirstNotFinite(linalg.TeamOf(ctx), m); found {
		return m, dataError{errorf("%s: row %d, column %d (from 0) is %v", name, i, j, m.At(i, j))}
	}
	return m, nil
}

// splitArray takes PATH:ARRAY apart, unless there is a file of that whole name.
func splitArray(name string) (path, array string) {
	if _, err := os.Stat(name); err != nil {
		if at := strings.LastIndexByte(name, ':'); at > 0 {
			if _, err := os.Stat(name[:at]); err == nil {
				return name[:at], name[at+1:]
			}
		}
	}
	return name, ""
}

func loadModel(path string) (*network.Model[float32], error) {
	m, err := network.Load[float32](path)
	if err != nil {
		return nil, dataError{err}
	}
	if m.Columns() == nil {
		return nil, dataError{errorf("%s does not say which columns it takes; save it with 'nextbatch fit'", path)}
	}
	return m, nil
}

// constrain fills in what batches have to keep to.
func (s *selecting) constrain() error {
	byName, labelled, err := s.candidates()
	if err != nil {
		return err
	}
	c := &s.problem.Constraints
	c.Exclude = labelled
	excluded, err := list(s.exclude)
	if err != nil {
		return err
	}
	for _, name := range excluded {
		if at, ok := byName[name]; ok {
			c.Exclude = append(c.Exclude, at)
		} else {
			s.progress.warn("--exclude: there is no candidate " + strconv.Quote(name))
		}
	}
	must, err := list(s.must)
	if err != nil {
		return err
	}
	for _, name := range must {
		at, ok := byName[name]
		switch {
		case !ok:
			return s.noCandidate(name)
		case slices.Contains(labelled, at):
			return dataError{errorf("--must: row %q has a label in %s already", name, s.train)}
		case slices.Contains(c.Exclude, at):
			return usagef("row %q is named by --must and --exclude", name)
		case slices.Contains(c.Require, at):
			return usagef("row %q is named twice by --must", name)
		}
		c.Require = append(c.Require, at)
	}
	if len(must) > s.batch {
		return usagef("--must names %d rows, the batch has %d", len(must), s.batch)
	}
	if s.cost != "" {
		if err := s.costs(c); err != nil {
			return err
		}
	}
	if s.group != "" {
		if err := s.groups(c); err != nil {
			return err
		}
	}
	s.problem.Batch, s.problem.Seed = s.batch, s.net.seed
	return s.checkMust(must)
}

func (s *selecting) costs(c *selection.Constraints) error {
	costs, err := s.poolT.Numeric(s.cost)
	if err != nil {
		return dataError{errorf("%s: %w", s.table+s.pool, err)}
	}
	for _, row := range s.poolRows {
		v := costs.Float(row)
		if !(v >= 0) || math.IsInf(v, 1) {
			return dataError{errorf("%s: %w", s.table+s.pool, &dataset.ColumnError{Column: s.cost, Row: row, Problem: "a cost must be there, finite and not negative"})}
		}
		c.Cost = append(c.Cost, v)
	}
	c.Budget = s.budget
	return nil
}

func (s *selecting) groups(c *selection.Constraints) error {
	groups, err := s.poolT.Column(s.group)
	if err != nil {
		return dataError{err}
	}
	number := map[string]int{}
	for _, row := range s.poolRows {
		name := groups.Format(row) // rows without a group are one
		if _, known := number[name]; !known {
			number[name] = len(number)
		}
		c.Group = append(c.Group, number[name])
	}
	c.PerGroup = s.perGroup
	return nil
}

// prepare trains, unless there is a network or the method looks at none, and
// scales the rows.
func (s *selecting) prepare(ctx context.Context) error {
	if s.rows == nil {
		return nil
	}
	if n := max(s.spec.TrainedNetworks(), s.net.ensemble); s.fitted == nil && s.spec.TrainedNetworks() > 0 {
		begin := time.Now()
		var err error
		if s.fitted, err = train(ctx, network.Options[float32]{Config: s.config, Members: n}, s.rows, s.progress); err != nil {
			return err
		}
		s.timings.Train = time.Since(begin).Seconds()
	}
	scaled, err := s.rows.Problem(s.fitted, s.config.Architecture)
	if err != nil {
		return dataError{err}
	}
	s.problem.Models, s.problem.Labels = scaled.Models, scaled.Labels
	s.problem.Train, s.problem.Pool, s.problem.Target.Rows = scaled.Train, scaled.Pool, scaled.Target.Rows
	return nil
}

// pick selects.
func (s *selecting) pick(ctx context.Context) (*nextbatch.Batch, error) {
	s.progress.say("selecting %d rows by %v", s.batch, s.spec)
	s.problem.Progress = s.progress.selection()
	batch, err := nextbatch.Select(ctx, s.spec, s.problem)
	s.progress.done()
	var problem *selection.ProblemError
	switch {
	case err == nil || ctx.Err() != nil:
		return batch, err
	case errors.As(err, &problem):
		return nil, usageError{err}
	}
	return nil, dataError{err}
}
