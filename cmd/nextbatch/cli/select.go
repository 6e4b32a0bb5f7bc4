package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/fitted"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/needs"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/internal/source/databases"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/limits"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
	"github.com/nextbatch/nextbatch/tables"
)

// selectFlags are the flags of select, and of the commands that show its kernel.
type selectFlags struct {
	columns columnFlags
	net     networkFlags
	learner learner.Kind

	table, train, pool          string
	trainFeatures, poolFeatures string
	model                       string
	foreign                     foreignFlags
	batch                       int
	method                      string
	exclude, must, pending      []string
	limits                      limitFlags
	targets                     string
	out, page                   string
	showPredictions             bool
	json, dryRun, quiet         bool
	mpi                         bool
	checkpoint                  string
	tempDir                     string
	mayUseFiles                 bool // what exceeds memory goes to files
}

// selecting is a run of select.
type selecting struct {
	selectFlags
	run
	ranks   device.Ranks // nil: this process does all the work
	request nextbatch.Request
	plan    *nextbatch.Plan
	reading time.Duration // the files

	featureColumns []string // of the candidates, where they have names
	earlier        earlier
	doubtful       []fitted.DoubtfulLabel
	unmap          []func() // takes what is in files out of memory
}

// start begins a run with the flags and arguments of a command.
func (f *selectFlags) start(cmd *cobra.Command, args []string) *selecting {
	s := &selecting{selectFlags: *f, run: newRun(cmd, f.quiet)}
	if len(args) == 1 {
		s.table = args[0]
	}
	if cmd.Flags().Changed("budget") {
		s.limits.Budget = &s.limits.budget
	}
	return s
}

func newSelect() *cobra.Command {
	s := &selectFlags{}
	c := &cobra.Command{
		Use:        "select [TABLE]",
		SuggestFor: []string{"pick", "query", "ask", "choose", "next"},
		Short:      "Pick the rows to label next",
		Example: `  nextbatch select table.csv --target y -n 256 --id name --out batch.csv
  nextbatch select --train labelled.csv --pool candidates.csv --target y -n 64 --json
  nextbatch select --train-features t.npy --pool-features p.npy -n 64 --method 'lcmd-tp:features'
  nextbatch select table.csv --target y -n 96 --cost hours --budget 40 --group site --per-group 12
  nextbatch select table.csv --target y --id name -n 64 --pending @batch.csv --out second.csv
  nextbatch select table.csv --target y --id name -n 48 --same temperature --runs 3 --out batch.csv
  nextbatch select table.csv --target y --id name -n 88 --replicates 2 --plate 8x12 --controls 12 --out batch.xlsx`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := s.start(cmd, args)
			return r.perform(cmd.Context(), steps{check: r.check, threads: r.net.threads, memory: &r.columns.memory,
				around: r.together, read: r.readAll, compute: r.compute})
		},
		Long: `Picks a batch of rows to label next. In one table, an empty label means
unlabelled, and these rows are the pool. Otherwise --train names the labelled
rows, --pool the candidates. A model is fitted to the labelled rows and turned into a
kernel, which the method uses to pick; 'nextbatch specs' lists the methods. --learner
says which model: auto blends a Gaussian process, trees and networks by how well they
predict held-out rows; network is the paper's. With --train-features and
--pool-features no model is fitted; the kernel is then named features.

Rows are named by the column --id, or else by their number in the input, from 0:
in one table that is the row of the table, not counting the header. The columns
of --id, --cost and --group are not inputs of the model, nor are row numbers
(--keep makes them inputs). Missing inputs are imputed, labels of the same id averaged.

--exclude, --must and --pending take names of rows, separated by commas, or @FILE
with one name per line. --pending also takes a table with the column --id, such as
the file of an earlier batch: its rows are out being labelled. They are not picked
again, and the new batch keeps away from them as if they were labelled already.

The file of --out has the inputs of each row and an empty target column to fill in;
'nextbatch merge' brings the labels back. A reason names the nearest labelled row or,
on tables of categories, the one that shares most of them. The typical distance is the
median distance of a candidate from the nearest labelled row. What the model predicts
is not in the file, so that it does not steer who labels the rows
(--show-predictions puts it into the reasons): it is in a file beside it, such as
batch.predictions.csv, which merge compares the labels with. If the name ends in
.xlsx, the file is an Excel workbook, in which the columns to fill in are coloured.

With --budget and without -n, the batch has as many rows as fit into the budget.
--cost-aware picks by score divided by cost.

--same names columns whose values all rows of the batch share, such as the temperature
of a furnace; with --runs, the batch is that many runs, each with values of its own.
--replicates measures each pick several times, and --replicate-share labelled rows once
more, to learn the noise: -n and --budget count measurements, and the file of --out has a
line for each. --plate gives each line a well, with replicates and rows of a group apart
and the wells of --controls free; a run has plates of its own. See docs/lab-batches.md.

--earlier names labelled rows of an earlier campaign, another instrument or a simulation.
They may lack columns, and their labels may be on another scale: what a model of them
predicts is an input if that lowers the error on held-out labels.

As long as fewer than five rows (with
--learner network, two) have a label, the batch is spread over the inputs, unless
--method says otherwise.

Tables and features that need more memory than is available go to temporary files in
--temp-dir, and features of one .npy file stay in it. The batch is the same. A run that
needs more memory even so does not start; --max-memory sets another limit.

Exit codes: 0 done; 2 wrong command line; 3 data that cannot be used; 4 the batch
was written but is smaller than requested; 5 too little memory; 130 interrupted;
1 anything else.`,
	}
	f := c.Flags()
	f.IntVarP(&s.batch, "batch", "n", 0, "rows to pick (default with --budget: as many as fit into it)")
	f.StringVar(&s.targets, "targets", "", "table (or features) of the target distribution, if it is not that of the pool")
	f.StringSliceVar(&s.exclude, "exclude", nil, "rows that may not be picked")
	f.StringSliceVar(&s.must, "must", nil, "rows that must be in the batch")
	f.StringSliceVar(&s.pending, "pending", nil,
		"rows that are out being labelled: names, or @FILE, such as the file of an earlier batch")
	s.limits.register(f)
	f.StringVarP(&s.out, "out", "o", "", "write the batch to this file: "+strings.Join(tableExtensions(), ", "))
	f.BoolVar(&s.showPredictions, "show-predictions", false, "name predictions in the reasons of the file of --out")
	f.StringVar(&s.page, "report", "", "write a page about the batch to this file: .html")
	f.BoolVar(&s.json, "json", false, "print one JSON object")
	f.BoolVar(&s.dryRun, "dry-run", false, "print the plan with a forecast of memory and time, and stop")
	f.StringVar(&s.checkpoint, "checkpoint", "",
		"keep the rows picked so far in this file, and resume with them if the run was interrupted")
	f.BoolVar(&s.mpi, "mpi", false, "share the work with the other processes that mpirun or srun started (nextbatch-hpc)")
	s.registerInputs(c)
	s.registerTempDir(c)
	registerRange(f, &s.columns.Ranges)
	s.columns.registerLabelSD(f)
	s.columns.registerEarlier(f)
	s.columns.registerRandom(c)
	s.columns.register(c)
	s.columns.registerInputs(c)
	s.net.register(c)
	registerLearner(f, &s.learner)
	return c
}

// registerInputs registers the flags that name the rows and the method.
func (s *selectFlags) registerInputs(c *cobra.Command) {
	f := c.Flags()
	s.columns.registerTarget(c)
	s.columns.registerWeights(c)
	f.StringVar(&s.method, "method", "", "the method, see 'nextbatch specs' (default "+spec.Default+
		"; with --learner gp, "+nextbatch.ProcessSpec+"; with trees, "+nextbatch.TreesSpec+"; with features, "+
		nextbatch.FeaturesSpec(true).String()+")")
	f.StringVar(&s.train, "train", "", "table of labelled rows")
	f.StringVar(&s.pool, "pool", "", "table of candidates")
	f.StringVar(&s.trainFeatures, "train-features", "",
		"features of labelled rows (.npy, .mat, .npz; FILE:ARRAY if there are several; .parquet with a column for each)")
	f.StringVar(&s.poolFeatures, "pool-features", "",
		"features of candidates, in the same formats; a pattern such as 'part-*.npy', or a folder of Parquet files, means "+
			"several files")
	f.StringVar(&s.model, "model", "",
		"use this model instead of fitting one: saved by 'nextbatch fit', or from elsewhere (.onnx, or .json with a "+
			"description)")
	s.foreign.register(c)
	f.StringVar(&s.foreign.tensor, "tensor", "",
		"tensor of a network from elsewhere that the kernel ll uses (default the input of its last layer)")
	registerDevice(c)
	registerQuiet(c, &s.quiet)
}

// together does the rest of a run together with the other processes, if there are any.
func (s *selecting) together(rest func() error) (err error) {
	if err := s.join(); err != nil {
		return err
	}
	defer func() { err = s.leave(err) }()
	return s.withFiles(rest)
}

// withFiles does the rest of a run, in which what exceeds memory may be in files.
func (s *selecting) withFiles(rest func() error) error {
	defer s.closeFiles()
	s.overflow()
	return rowfile.Guard(rest)
}

// readAll reads the rows, in all processes.
func (s *selecting) readAll(ctx context.Context) error {
	err := s.agree(ctx, s.read(ctx))
	s.reading = time.Since(s.begin)
	return err
}

// compute trains and picks. From then on until the batch is out, it keeps a checkpoint.
func (s *selecting) compute(ctx context.Context) (*answer, error) {
	if s.dryRun {
		return s.forecast(ctx)
	}
	if err := s.resume(ctx); err != nil {
		return nil, err
	}
	if err := s.agree(ctx, s.trainNetworks(ctx)); err != nil {
		return nil, err
	}
	end, err := s.keep()
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	r, err := s.pick(ctx)
	if err != nil {
		end(false)
		return nil, requestError(err)
	}
	s.progress.warn(r.Warnings[len(s.plan.Warnings):]...)
	r.Doubtful = s.doubtful
	r.Version, r.Timings.Read, r.Timings.Total = thisBuild().Version, number(s.reading.Seconds()), number(s.seconds())
	found := s.answer(ctx, r)
	found.done = func(err error) { end(err == nil || errors.As(err, new(partialError))) }
	return found, nil
}

// pick selects the batch.
func (s *selecting) pick(ctx context.Context) (*nextbatch.Result, error) {
	s.progress.say("selecting %s%s by %v", s.atMost(), words.Count(s.plan.Batch, "row", "rows"), s.plan.Spec)
	if why := s.plan.Fitted().PickedBy(s.request.WithDefaults().Spec); why != "" {
		s.progress.say("%s", why)
	}
	r, err := s.plan.Select(ctx)
	s.progress.done()
	return r, err
}

// requestError wraps an error of the library so that it gets the right exit code.
func requestError(err error) error {
	var wrong *nextbatch.RequestError
	var data *nextbatch.DataError
	switch {
	case errors.As(err, &wrong):
		return usageError{err}
	case errors.As(err, &data):
		return dataError{data.Cause}
	}
	return err
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
	case byFeatures && s.poolFeatures == "":
		return usagef("--train-features needs --pool-features")
	case len(s.columns.earlier) > 0 && (byFeatures || s.model != ""):
		return usagef("--earlier is for fitting a model of a table: leave it out, or %s",
			map[bool]string{true: "give tables instead of features", false: "leave out --model"}[byFeatures])
	case byFeatures && s.model != "":
		return usagef("features have no columns and need no network: leave out --model, --id, --target, --cost and --group")
	case s.dryRun && s.checkpoint != "":
		return usagef("--dry-run picks nothing: leave out --checkpoint")
	case s.checkpoint != "" && slices.Contains([]string{s.table, s.train, s.pool, s.targets}, standardInput):
		return usagef("--checkpoint needs input that can be read again, but standard input cannot: save it to a file first")
	case s.checkpoint != "" && slices.ContainsFunc([]string{s.table, s.train, s.pool, s.targets}, databases.Is):
		return usagef("--checkpoint needs input that does not change, as a database may: save its rows to a file first")
	case (s.table != "" || s.train != "" && !isForeign(s.model)) && s.columns.target == "":
		return usagef("name the target column with --target")
	}
	fitting := s.net.checkLearner(s.learner)
	if s.model != "" {
		fitting = s.net.checkModel(s.model)
	}
	if err := errors.Join(fitting, s.foreign.check(s.model), s.checkMPI()); err != nil {
		return err
	}
	if err := s.fillIn(byFeatures); err != nil {
		return err
	}
	if err := s.request.Check(); err != nil {
		return requestError(err)
	}
	if method := s.request.Spec.Method; s.checkpoint != "" && method.Info().TakesBack {
		return usagef("--checkpoint: %s takes rows back, so a run that was cut off cannot resume: leave out --checkpoint, "+
			"or choose another --method", method)
	}
	if err := checkDistinct(s.inputFiles(), []flagged{{"--out", s.out},
		{"the predictions of --out", predictionsFile(s.out)}, {"--report", s.page},
		{"--checkpoint", s.checkpoint}}); err != nil {
		return err
	}
	return errors.Join(s.columns.check(), checkOutput("--out", s.out, tableExtensions()...),
		checkOutput("--report", s.page, ".html"))
}

// fillIn turns the flags into a request; its rows are read later.
func (s *selecting) fillIn(byFeatures bool) error {
	config, err := s.net.config()
	if err != nil {
		return err
	}
	output, streams := s.request.Output, s.request.Streams
	s.request = nextbatch.Request{
		Input: tables.Input{
			TargetColumns: s.columns.targets(nil), RandomColumn: s.columns.random, IDColumn: s.columns.id,
			Columns: tables.Columns{Categorical: s.columns.Categorical, Keep: s.columns.Keep},
			Missing: s.columns.missingInputs(),
		},
		Own: nextbatch.Own{OwnFeatures: byFeatures},
		Ask: limits.Ask{Batch: s.batch, Limits: s.limits.Limits, Layout: s.limits.Layout},
		Options: fitted.Options{
			Choices: fitted.Choices{Learner: s.learner, Network: config, Members: s.net.Members, Seed: s.net.seed},
			Epoch:   func(e network.Epoch) { s.progress.epoch(max(s.plan.Networks, s.net.Members))(e) },
			Fitting: s.progress.fitting(),
		},
		Resources: nextbatch.Resources{Output: output, Folder: s.folder(), Streams: streams},
		ModelName: s.model, FieldName: options.Flag, Progress: s.progress.selection(),
	}
	if s.model != "" || byFeatures {
		s.request.Learner = "" // nothing is fitted
	}
	if s.method != "" {
		if s.request.Spec, err = spec.Parse(s.method); err != nil {
			return err
		}
	} else if byFeatures {
		s.request.Spec = nextbatch.FeaturesSpec(s.trainFeatures != "")
	}
	s.request = s.request.WithDefaults()
	s.request.Admit = func(bytes int64, less ...string) error {
		return s.columns.memory.admit(s.request.WithDefaults().Spec.String(), bytes, less...)
	}
	return nil
}

// inputFiles lists the files that the run reads.
func (s *selecting) inputFiles() []flagged {
	files := append(s.columns.earlierFiles(), flagged{"--model", s.model})
	for _, f := range []flagged{{"TABLE", s.table}, {"--train", s.train}, {"--pool", s.pool},
		{"--train-features", s.trainFeatures}, {"--pool-features", s.poolFeatures}, {"--targets", s.targets}} {
		path, _ := splitArray(f.path)
		files = append(files, flagged{f.flag, path})
	}
	for _, names := range []struct {
		flag   string
		values []string
	}{{"--exclude", s.exclude}, {"--must", s.must}, {"--pending", s.pending}} {
		for _, v := range names.values {
			if path, isFile := strings.CutPrefix(v, "@"); isFile {
				files = append(files, flagged{names.flag, path})
			}
		}
	}
	return files
}

// read reads the files and plans the run.
func (s *selecting) read(ctx context.Context) error {
	read := s.readTables
	if s.poolFeatures != "" {
		read = s.readFeatures
	}
	if err := read(ctx); err != nil {
		return err
	}
	var err error
	if s.request.Exclude, err = list(s.exclude); err != nil {
		return err
	}
	if s.request.Must, err = list(s.must); err != nil {
		return err
	}
	if s.request.Pending, err = s.pendingRows(ctx); err != nil {
		return err
	}
	if s.method == "" && !s.request.OwnFeatures {
		s.request.Spec = spec.Spec{} // which depends on how many labels there are
	}
	s.plan, err = s.request.Plan(ctx)
	s.progress.done()
	if err != nil {
		return requestError(err)
	}
	s.unmap = append(s.unmap, s.plan.Close)
	s.request = s.request.WithDefaults()
	s.progress.warn(s.plan.Warnings...)
	s.warnOfIdleFlags()
	if !s.dryRun { // which prints them with the plan
		for _, note := range s.plan.Notes {
			s.progress.say("%s", note)
		}
	}
	inputs := words.Count(s.plan.Inputs, "input", "inputs")
	if s.request.OwnFeatures {
		inputs = words.Count(s.plan.Inputs, "feature", "features")
	}
	pending := ""
	if s.plan.Pending > 0 {
		pending = fmt.Sprintf(", %s of them pending", words.Whole(s.plan.Pending))
	}
	s.progress.say("%s, %s%s, %s", words.Count(s.plan.Labelled, "labelled row", "labelled rows"),
		words.Count(s.plan.Pool, "candidate", "candidates"), pending, inputs)
	return nil
}

// warnOfIdleFlags warns of flags that change nothing in this run.
func (s *selecting) warnOfIdleFlags() {
	if given := s.net.given(); len(given) > 0 && s.plan.Networks == 0 && s.plan.Learner == "" && s.model == "" {
		//warning:idle-flags
		s.progress.warn(fmt.Sprintf("no network is trained for %v, so that %s no effect", s.request.Spec,
			words.List(given)+map[bool]string{true: " has", false: " have"}[len(given) == 1]))
	}
	if s.net.flags.Changed("learner") && s.method != "" && s.plan.Networks == 0 && s.plan.Learner == "" && s.model == "" {
		//warning:idle-flags
		s.progress.warn(fmt.Sprintf("no model is fitted for %v, so that --learner has no effect", s.request.Spec))
	}
	if s.columns.random != "" && s.request.Model != nil {
		//warning:random-column
		s.progress.warn(fmt.Sprintf("--random-column has no effect beside --model: %s does not tell which rows were held "+
			"out; 'nextbatch fit --random-column' estimates the pool's error", s.model))
	}
}

// atMost is what comes before the size of a batch that the budget ends.
func (s *selecting) atMost() string {
	if s.batch == 0 {
		return "at most "
	}
	return ""
}

// tableFile is a table that a run reads. An optional one need not have the columns of all flags.
type tableFile struct {
	path     string
	into     **dataset.Table
	optional bool
}

func (s *selecting) readTables(ctx context.Context) error {
	r := &s.request
	r.Names = map[*dataset.Table]string{}
	files := []tableFile{{s.table, &r.Table, false}, {s.pool, &r.Pool, true}, {s.train, &r.Train, true},
		{s.targets, &r.Aims, true}}
	files = slices.DeleteFunc(files, func(f tableFile) bool { return f.path == "" })
	if err := s.checkSpace(ctx, files); err != nil {
		return err
	}
	for _, file := range files {
		table, err := s.columns.read(ctx, file.path, file.optional)
		if err != nil {
			return err
		}
		*file.into, r.Names[table] = table, nameOf(file.path)
	}
	var err error
	if r.Earlier, err = s.columns.readEarlier(ctx, r.Names); err != nil {
		return err
	}
	s.setTargets()
	if s.model == "" {
		return nil
	}
	if isForeign(s.model) {
		return s.readForeign()
	}
	r.Model, err = loadModel(s.model)
	return err
}

// setTargets finds the target columns in the table that has them.
func (s *selecting) setTargets() {
	r := &s.request
	for _, table := range []*dataset.Table{r.Table, r.Train, r.Pool} {
		if table != nil {
			r.TargetColumns, r.Weights, r.Ranges = s.columns.targets(table.Names()), s.columns.Weights, s.columns.Ranges
			r.LabelSD = s.columns.labelSD
			return
		}
	}
}

func (s *selecting) readFeatures(ctx context.Context) error {
	r := &s.request
	if shards := s.beyondMemory(); shards != nil {
		return s.mapFeatures(ctx, shards)
	}
	var err error
	if needs.ComputesInDouble(r.Spec) {
		r.Exact, err = readSets[float64](ctx, s)
	} else {
		r.Features, err = readSets[float32](ctx, s)
	}
	if err == nil && r.Exact.Pool.Rows+r.Features.Pool.Rows == 0 {
		return dataError{errorf("%s has no rows", s.poolFeatures)}
	}
	return err
}

// readSets reads the files of features in the precision that the method
// computes in.
func readSets[T matrix.Float](ctx context.Context, s *selecting) (sets nextbatch.Sets[T], err error) {
	if sets.Pool, err = readPool[T](ctx, s); err != nil {
		return sets, err
	}
	return sets, readOthers(ctx, s, &sets, sets.Pool.Rows, sets.Pool.Cols)
}

// readOthers reads the features of labelled rows and of the target, beside those of a pool
// of the given shape.
func readOthers[T matrix.Float](ctx context.Context, s *selecting, sets *nextbatch.Sets[T], rows,
	cols int) (err error) {
	for _, set := range []struct {
		path string
		into *matrix.Dense[T]
	}{{s.trainFeatures, &sets.Train}, {s.targets, &sets.Aims}} {
		if set.path == "" {
			continue
		}
		if *set.into, err = readMatrix[T](ctx, s, set.path); err != nil {
			return err
		}
		if m := *set.into; m.Cols != cols && m.Rows > 0 && rows > 0 {
			return dataError{errorf("%s has %d columns, %s %d", set.path, m.Cols, s.poolFeatures, cols)}
		}
	}
	return nil
}

// readMatrix reads PATH, or PATH:ARRAY for a file that holds several arrays, or the files that a
// name stands for. A number that is not finite is an error, and so is an array that needs more
// memory than is left.
func readMatrix[T matrix.Float](ctx context.Context, s *selecting, name string) (matrix.Dense[T], error) {
	if inShards(name) {
		shards, err := s.openShards(name)
		if err != nil {
			return matrix.Dense[T]{}, err
		}
		return readShards[T](ctx, s, name, shards, 0, shards.Rows)
	}
	path, array := splitArray(name)
	m, err := source.ReadMatrix[T](ctx, path, source.Options{Array: array, MaxMemory: s.columns.memory.left()})
	if err != nil {
		return m, dataError{err}
	}
	return m, holdMatrix(ctx, &s.columns.memory, m, func(row int) (string, int) { return name, row })
}

// readShards reads the rows from from to to-1 of the files that a name stands for.
func readShards[T matrix.Float](ctx context.Context, s *selecting, name string, shards *formats.Shards, from,
	to int) (matrix.Dense[T], error) {
	if name == s.poolFeatures {
		s.request.RowName = shards.RowName
	}
	m, err := formats.ReadShards[T](ctx, shards, from, to, source.Options{MaxMemory: s.columns.memory.left()})
	if err != nil {
		return m, dataError{err}
	}
	return m, holdMatrix(ctx, &s.columns.memory, m, func(row int) (string, int) { return shards.Place(from + row) })
}

// openShards opens the files that a name stands for. Where columns have names, these must be those
// of the candidates, which come first.
func (s *selecting) openShards(name string) (*formats.Shards, error) {
	shards, err := formats.OpenShards(name)
	if err != nil {
		return nil, dataError{err}
	}
	switch names := shards.Columns(); {
	case name == s.poolFeatures:
		s.featureColumns = names
	case names != nil && s.featureColumns != nil && !slices.Equal(names, s.featureColumns):
		return nil,
			dataError{errorf(
				"%s has other columns than %s, or the same in another order; write both with the same columns in one order", name,
				s.poolFeatures)}
	}
	return shards, nil
}

// inShards reports whether a name stands for files that are read block by block: a pattern, a
// folder or a Parquet file.
func inShards(name string) bool {
	info, err := os.Stat(name)
	return isPattern(name) || err == nil && info.IsDir() || strings.EqualFold(filepath.Ext(name), ".parquet")
}

// holdMatrix counts the memory of a matrix and refuses numbers that are not finite. A place is
// the file of a row, and its number there.
func holdMatrix[T matrix.Float](ctx context.Context, mem *memory, m matrix.Dense[T],
	place func(row int) (file string, at int)) error {
	mem.held += int64(len(m.Data)) * int64(unsafe.Sizeof(T(0)))
	if i, j, found := linalg.FirstNotFinite(linalg.TeamOf(ctx), m); found {
		file, at := place(i)
		return dataError{errorf("%s: row %d, column %d (from 0) is %v", file, at, j, m.At(i, j))}
	}
	return nil
}

// splitArray splits PATH:ARRAY, unless the whole text is the name of a file.
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

func loadModel(path string) (*learner.Model, error) {
	m, err := learner.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, dataError{err}
	}
	if err != nil {
		if !slices.Contains(modelExtensions, strings.ToLower(filepath.Ext(path))) {
			err = errorf("%s is not a model", path)
		}
		return nil,
			dataError{errorf("%w; --model takes a file that 'nextbatch fit' saved (.nextbatch or .safetensors), or a network "+
				"from elsewhere (.onnx, or .json with a description)", err)}
	}
	if m.Columns() == nil {
		return nil, dataError{errorf("%s does not say which columns its inputs are; save it with 'nextbatch fit'", path)}
	}
	return m, nil
}

// trainNetworks trains the networks that the plan needs and prints the warnings.
func (s *selecting) trainNetworks(ctx context.Context) error {
	before := len(s.plan.Warnings)
	s.progress.sayDevice(ctx, s.plan.Learner)
	err := s.plan.Train(ctx)
	s.progress.done()
	if err == nil {
		s.lookAtLabels()
	}
	s.progress.warn(s.plan.Warnings[before:]...)
	if model := s.plan.Model(); err == nil && (s.plan.Networks > 0 || s.plan.Learner != "") && model != nil {
		s.progress.chosen(model)
		for k := range model.Targets() {
			one, name := model.Target(k), ""
			if model.Targets() > 1 {
				name = shown(model.TargetName(k)) + ": "
			}
			s.progress.say("%s%s: %s", name, fitted.ValidRMSEMeaning(one), numbersText(one.Provenance().ValidRMSE))
		}
	}
	return requestError(err)
}

// lookAtLabels finds labels of the tables that should get a second look.
func (s *selecting) lookAtLabels() {
	s.doubtful = s.plan.Doubtful()
	if text := fitted.DoubtfulWarning(s.doubtful, "'nextbatch audit'"); text != "" {
		s.plan.Warnings = append(s.plan.Warnings, text)
	}
}
