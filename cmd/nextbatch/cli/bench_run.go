package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/choice"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
)

// benchRun is the command bench run: its flags.
type benchRun struct {
	preset, config, data, results              string
	columns                                    columnFlags
	tables                                     []string // of the user's own: files, and folders of files
	sets, specs, learners, splits, activations []string
	rounds, batch, jobs                        int
	compat, quiet                              bool
	settings                                   benchmark.Settings
	wanted                                     benchmark.Experiment
	runs                                       []benchmark.Run // that it has

	files    map[string]string           // of the tables, by their names in the results
	own      map[string]*sets.Regression // the tables
	log      bool                        // of their labels
	maxRows  int                         // of each
	warnings []string                    // about data sets
}

func newBenchRun() *cobra.Command {
	b := &benchRun{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Perform the runs of a grid of data sets, methods and splits",
		Example: `  nextbatch bench run --preset quick --results quick.db
  nextbatch bench run --sets fried --specs 'random; lcmd-tp:grad>sketch(512)' --splits 0-4 --compat --results results.db
  nextbatch bench run --table table.csv --target y --specs 'random; default' --results results.db
  nextbatch bench run --table folder --target y --learners auto,network --specs 'random; default' --start 64 --batch ` +
			`64 --rounds 7 --results results.db
  nextbatch bench run --preset paper-relu --results postgres://user@host/database`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := newRun(cmd, b.quiet)
			return r.perform(cmd.Context(), steps{check: func() error { return b.check(cmd) }, memory: &b.columns.memory,
				compute: func(ctx context.Context) (*answer, error) { return nil, b.compute(ctx, cmd) }})
		},
		Long: `For each data set, method and split: starts with ` + strconv.Itoa(benchmark.Settings{}.WithDefaults().Start) +
			` labelled rows, and in each
round trains a network from scratch, measures it on the test rows, and lets the
method pick the rows to label next.

--learners compares models: ` + learner.KindsText() + `. Every method is tried with each of
them. Validation rows, with which the paper's network chooses its epoch, are then left out,
unless --valid is given: all learn from the labelled rows alone.

The grid comes from a preset or a TOML file; flags override its values. Presets:

` + presetList() + `
A grid in TOML, in which the settings are optional:

  sets = ["fried", "diamonds"]
  activations = ["relu"]
  specs = ["random", "lcmd-tp:grad>sketch(512)"]
  learners = ["network"]
  compat = true
  splits = [0, 1, 2, 3, 4]
` + defaultsList() + `

Each round is written to the results file as soon as it is done. After an
interruption, the same command resumes, with the same results as if it had never
stopped; several processes on one machine can share a file.

With --results postgres://… the runs are queued in a PostgreSQL database, and this
command works on the queue together with every 'nextbatch bench worker', until all runs
are done.`,
	}
	b.register(c)
	return c
}

func presetList() string {
	var text strings.Builder
	for _, p := range benchmark.Presets() {
		text.WriteString("  " + p.Name + ": " + p.Description + "\n")
	}
	return text.String()
}

// defaultsList is the schedule and the settings of a grid that names none, in TOML.
func defaultsList() string {
	schedule, s := benchmark.PaperSchedule(), benchmark.Settings{}.WithDefaults()
	return fmt.Sprintf("  schedules = [{rounds = %d, batch = %d}]\n  settings = {seed = %d, start = %d, valid = %d, "+
		"hidden = %s, epochs = %d}",
		schedule.Rounds, schedule.Batch, s.Seed, s.Start, s.Valid,
		strings.ReplaceAll(fmt.Sprint(s.Hidden), " ", ", "), s.Epochs)
}

func (b *benchRun) register(c *cobra.Command) {
	flags := c.Flags()
	b.registerWork(c)
	b.settings = benchmark.Settings{}.WithDefaults()
	schedule := benchmark.PaperSchedule()
	flags.StringVar(&b.results, "results", "",
		"results file, created if it does not exist; or postgres://user@host/database, for many machines")
	flags.StringVar(&b.preset, "preset", "", "name of a preset grid")
	flags.StringVar(&b.config, "grid", "", "TOML file with the grid")
	flags.StringSliceVar(&b.sets, "sets", nil, "data sets, as listed by nextbatch data list")
	flags.StringArrayVar(&b.specs, "specs", nil, "methods, separated by semicolons; can be repeated")
	flags.StringSliceVar(&b.learners, "learners", nil, "what is fitted in each round: a list of "+
		learner.KindsText()+" (default network)")
	flags.StringSliceVar(&b.splits, "splits", []string{fmt.Sprintf("0-%d", benchmark.PaperSplits-1)},
		"split numbers, such as 0-4,7")
	flags.StringSliceVar(&b.activations, "activation", []string{choice.DefaultChoice().Activation},
		"activation functions of the networks")
	flags.IntVar(&b.rounds, "rounds", schedule.Rounds, "rounds, each of which picks a batch")
	flags.IntVarP(&b.batch, "batch", "n", schedule.Batch, "rows to pick per round")
	flags.BoolVar(&b.compat, "compat", false, "follow the published code where it differs from the paper")
	flags.Uint64Var(&b.settings.Seed, "seed", 0, "seed of networks and methods")
	flags.IntVar(&b.settings.Start, "start", b.settings.Start, "labelled rows to start with")
	flags.IntVar(&b.settings.Valid, "valid", b.settings.Valid,
		"validation rows of networks; 0 means none: networks hold out some of the labelled rows (the default if --learners "+
			"names another than network)")
	registerTraining(flags, &b.settings.Epochs, &b.settings.Hidden)
	b.columns.registerWeights(c)
}

// registerWork registers the flags that say how runs are performed, and with which data.
func (b *benchRun) registerWork(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&b.data, "data", "data", "folder with the data files")
	flags.StringArrayVar(&b.tables, "table", nil,
		"a table of your own as a data set, or a folder of tables; can be repeated")
	b.columns.registerTarget(c)
	flags.BoolVar(&b.log, "log", false, "the labels of the tables are the logarithms of the target columns")
	flags.IntVar(&b.maxRows, "max-rows", 0, "use at most this many rows of a table, drawn at random (default "+
		strconv.Itoa(sets.DefaultMaxRows)+", as in the paper)")
	flags.IntVar(&b.jobs, "jobs", runtime.GOMAXPROCS(0),
		"runs at the same time; each gets one thread, a single one gets all; on a GPU, unless given, as many as fit there, "+
			"up to 64")
	registerDevice(c)
	registerQuiet(c, &b.quiet)
	b.columns.register(c)
	flags.StringVar(&b.columns.missing, "missing", "drop",
		"rows of the table with a missing value: drop (with a warning) or refuse")
}

func (b *benchRun) check(cmd *cobra.Command) (err error) {
	if err := b.checkWork(); err != nil {
		return err
	}
	if b.wanted, err = b.experiment(cmd.Flags().Changed); err != nil {
		return err
	}
	b.runs, err = b.wanted.Runs()
	if err := errors.Join(err, b.wanted.Settings.Check()); err != nil {
		return usageError{err}
	}
	b.warnings = append(b.warnings, b.wanted.Omitted()...)
	if b.results == "" {
		return usagef("--results must name the file for the results, or a database")
	}
	if slices.ContainsFunc(b.runs, func(r benchmark.Run) bool { return r.Rounds == 0 }) {
		return usagef("--rounds must be at least 1: without a batch there is nothing to compare")
	}
	return nil
}

func (b *benchRun) compute(ctx context.Context, cmd *cobra.Command) error {
	if err := b.inspect(ctx, b.wanted.Sets); err != nil {
		return err
	}
	if err := b.checkWeights(b.wanted); err != nil {
		return err
	}
	runs := b.feasible(b.wanted.Settings, b.runs)
	if len(runs) == 0 {
		return dataError{errorf("no table has enough rows for a batch: %s", strings.Join(b.warnings, "; "))}
	}
	if err := b.admit(cmd, b.wanted.Settings, runs); err != nil {
		return err
	}
	store, err := openWork(ctx, b.results)
	if err != nil {
		return err
	}
	err = b.work(cmd, store, b.wanted.Settings, runs)
	return errors.Join(err, store.Close())
}

// checkWork checks the flags that registerWork registers.
func (b *benchRun) checkWork() error {
	if err := b.columns.check(); err != nil {
		return usageError{err}
	}
	if b.columns.missing == "impute" {
		return usagef("--missing must be drop or refuse: the benchmark drops incomplete rows, as the paper does")
	}
	if b.jobs < 1 {
		return usagef("--jobs must be at least 1")
	}
	return b.checkTable()
}

// experiment is what the flags request: a preset or a file, overridden by what the
// command line gives.
func (b *benchRun) experiment(given func(flag string) bool) (benchmark.Experiment, error) {
	e, err := b.basis()
	if err != nil {
		return e, err
	}
	b.sets = append(b.sets, b.tableNames()...)
	if len(b.sets) > 0 {
		e.Sets = b.sets
	}
	if len(b.specs) > 0 {
		e.Specs = splitSpecs(b.specs)
	}
	if given("learners") {
		e.Learners = b.learners
	}
	if given("splits") || e.Splits == nil {
		if e.Splits, err = parseNumbers(b.splits); err != nil {
			return e, usagef("--splits: %w", err)
		}
	}
	if given("activation") || e.Activations == nil {
		e.Activations = b.activations
	}
	if given("rounds") || given("batch") || e.Schedules == nil {
		e.Schedules = []benchmark.Schedule{{Rounds: b.rounds, Batch: b.batch}}
	}
	if given("compat") {
		e.Compat = b.compat
	}
	b.override(&e.Settings, given)
	if e.Settings.Valid == 0 && (given("valid") || slices.ContainsFunc(e.Learners,
		func(name string) bool { return learner.Kind(name).Blends() })) {
		e.Settings.Valid = benchmark.NoValidation
	}
	return e, nil
}

func (b *benchRun) basis() (benchmark.Experiment, error) {
	switch {
	case b.preset != "" && b.config != "":
		return benchmark.Experiment{}, usagef("give --preset or --grid, not both")
	case b.preset != "":
		p, err := benchmark.FindPreset(b.preset)
		if err != nil {
			return p.Experiment, usagef("--preset: %w", err)
		}
		return p.Experiment, nil
	case b.config != "":
		e, err := readExperiment(b.config)
		if err != nil {
			return e, dataError{err}
		}
		return e, nil
	}
	return benchmark.Experiment{}, nil
}

// override replaces settings of a preset or file by those given on the command
// line.
func (b *benchRun) override(s *benchmark.Settings, given func(string) bool) {
	if given("seed") {
		s.Seed = b.settings.Seed
	}
	if given("start") {
		s.Start = b.settings.Start
	}
	if given("valid") {
		s.Valid = b.settings.Valid
	}
	if given("epochs") {
		s.Epochs = b.settings.Epochs
	}
	if given("hidden") {
		s.Hidden = b.settings.Hidden
	}
	if given("weights") {
		s.Weights = b.columns.Weights
	}
}

func (b *benchRun) checkTable() error {
	if (len(b.tables) == 0) != (b.columns.target == "") {
		return usagef("--table and --target belong together")
	}
	if b.maxRows < 0 {
		return usagef("--max-rows must not be negative")
	}
	if len(b.tables) == 0 && (b.log || b.maxRows > 0) {
		return usagef("--log and --max-rows are for a table of your own, named by --table")
	}
	b.files = map[string]string{}
	for _, path := range b.tables {
		if err := b.addTables(path); err != nil {
			return err
		}
	}
	return nil
}

// addTables finds the table that a path names, or all tables in a folder.
func (b *benchRun) addTables(path string) error {
	if path == standardInput {
		return usagef("--table -: a table from standard input has no name in the results; give a file")
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return b.addTable(path) // reading it reports what is wrong
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return dataError{err}
	}
	before := len(b.files)
	for _, e := range entries {
		if !e.IsDir() && isTableFile(e.Name()) {
			if err := b.addTable(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
	}
	if len(b.files) == before {
		return dataError{errorf("--table %s: the folder holds no tables; their names end in %s, and .gz may follow", path,
			strings.Join(tableExtensions(), ", "))}
	}
	return nil
}

func (b *benchRun) addTable(path string) error {
	name := tableName(path)
	if _, err := sets.Find(name); err == nil || name == benchmark.GeneratedSet {
		return usagef("--table %s: a data set of the benchmark has this name; rename the file", path)
	}
	if other, taken := b.files[name]; taken {
		return usagef("--table: %s and %s have the same name in the results, %s; rename one", other, path, name)
	}
	b.files[name] = path
	return nil
}

// tableNames returns the names of the user's tables, in alphabetical order.
func (b *benchRun) tableNames() []string { return slices.Sorted(maps.Keys(b.files)) }

// isOwn reports whether a data set is a table of the user's.
func (b *benchRun) isOwn(name string) bool { return b.files[name] != "" }

// checkWeights rejects weights that do not fit the targets of the data sets.
func (b *benchRun) checkWeights(e benchmark.Experiment) error {
	n := len(e.Settings.Weights)
	for _, name := range e.Sets {
		if targets := max(b.sizes(name).Outputs, 1); n > 0 && n != targets {
			return usagef("--weights has %s, but %s has %s", words.Count(n, "number", "numbers"), name,
				words.Count(targets, "target", "targets"))
		}
	}
	return nil
}

// tableName is the name of a table in the results.
func tableName(path string) string {
	name := filepath.Base(path)
	for _, extension := range []string{".gz", filepath.Ext(strings.TrimSuffix(name, ".gz"))} {
		name = strings.TrimSuffix(name, extension)
	}
	return name
}

// splitSpecs returns the methods that a flag lists.
func splitSpecs(texts []string) (specs []string) {
	for _, text := range texts {
		for spec := range strings.SplitSeq(text, ";") {
			if spec = strings.TrimSpace(spec); spec != "" {
				specs = append(specs, spec)
			}
		}
	}
	return specs
}

// parseNumbers reads a list such as 0-4, 7.
func parseNumbers(texts []string) (numbers []int, err error) {
	for _, text := range texts {
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		low, err1 := strconv.Atoi(strings.TrimSpace(from))
		high, err2 := strconv.Atoi(strings.TrimSpace(to))
		if err := errors.Join(err1, err2); err != nil || low < 0 || high < low || high > 1<<20 {
			return nil, errorf("%q is not a list of numbers such as 0-4,7", text)
		}
		for n := low; n <= high; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

func (b *benchRun) work(cmd *cobra.Command, store benchmark.Store, settings benchmark.Settings,
	runs []benchmark.Run) error {
	return b.perform(cmd.Context(), cmd, store, settings, runs, func(bench *benchmark.Bench, p *benchProgress) error {
		summary, err := bench.Run(cmd.Context(), runs)
		p.done()
		if err != nil {
			return err
		}
		p.say("%d of %d runs are done", summary.Done, len(runs))
		if summary.Taken > 0 {
			p.say("other processes are working on %s", words.Count(summary.Taken, "run", "runs"))
		}
		if failure := p.deviceFailure(); failure != nil && summary.Failed == len(runs) {
			return errorf("all runs failed: %w; the next bench run tries them again", failure)
		}
		if summary.Failed == len(runs) {
			return dataError{errorf("all runs failed; the next bench run tries them again")}
		}
		if summary.Failed > 0 {
			return someError{summary.Failed, len(runs), errorf("%d of %d runs failed; the next bench run tries them again",
				summary.Failed, len(runs))}
		}
		return nil
	})
}

// perform joins a store, lets do work on it with a bench, and leaves it.
func (b *benchRun) perform(ctx context.Context, cmd *cobra.Command, store benchmark.Store,
	settings benchmark.Settings, runs []benchmark.Run,
	do func(*benchmark.Bench, *benchProgress) error) error {
	leave, err := store.Join(thisProcess(ctx), settings)
	if err != nil {
		return dataError{err}
	}
	progress := newBenchProgress(cmd.ErrOrStderr(), b.quiet, benchmark.NewForecast(settings, b.jobs, runs, nil),
		func() (map[benchmark.Run]int, error) { return benchmark.RoundsDone(ctx, store) })
	if _, distributes := store.(benchmark.Queue); distributes {
		progress.fate = "left to workers that have it"
	}
	bench := &benchmark.Bench{Store: store, Settings: settings, Jobs: b.jobs, Watch: progress.watch,
		Load: func(name string) (*sets.Regression, error) { return b.load(ctx, name) }}
	progress.warn(b.warnings...)
	err = do(bench, progress)
	// The reason why the work ended matters more than a failure to release claims.
	if left := leave(); err == nil {
		err = left
	}
	if ctx.Err() != nil {
		return benchStopped{}
	}
	return err
}

// benchStopped means that Ctrl-C ended the work.
type benchStopped struct{}

func (benchStopped) Error() string { return "stopped; the same command resumes from here" }

func (benchStopped) Unwrap() error { return context.Canceled }

// load returns a data set: the user's table, a generated one, or one of the paper.
func (b *benchRun) load(ctx context.Context, name string) (*sets.Regression, error) {
	switch {
	case b.isOwn(name):
		return b.own[name], nil
	case name == benchmark.GeneratedSet:
		x, y := friedman(0, "benchmark", generatedRows)
		return &sets.Regression{X: x, Y: y}, nil
	}
	data, err := sets.Load(ctx, name, b.data)
	if errors.Is(err, fs.ErrNotExist) {
		err = errorf("%w; run nextbatch data fetch %s first", err, name)
	}
	return data, err
}

// thisProcess describes where results come from.
func thisProcess(ctx context.Context) benchmark.Process {
	b := thisBuild()
	if d := network.DeviceOf(ctx); d != nil {
		b.SIMD += ", " + d.Name()
	}
	revision := b.Revision
	if b.Modified {
		revision += "+"
	}
	return benchmark.Process{Version: b.Version, Revision: revision, Platform: b.Platform + " " + b.Go,
		CPU: cpuModel(), SIMD: b.SIMD}
}

// cpuModel is the name of the processor, if the system provides it.
func cpuModel() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
