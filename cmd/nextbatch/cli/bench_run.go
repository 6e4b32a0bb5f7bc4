package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/benchmark/sqlite"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/sets"
	"github.com/nextbatch/nextbatch/internal/words"
)

// benchRun is the command bench run: its flags.
type benchRun struct {
	preset, config, data, table, results string
	columns                              columnFlags
	sets, specs, splits, activations     []string
	rounds, batch, jobs                  int
	compat, quiet                        bool
	settings                             benchmark.Settings

	own      *dataset.Regression // the table
	log      bool                // of its labels
	maxRows  int                 // of it
	warnings []string            // about data sets
}

func newBenchRun() *cobra.Command {
	b := &benchRun{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Perform the runs of a grid of data sets, methods and splits",
		Example: `  nextbatch bench run --preset quick --results quick.db
  nextbatch bench run --sets fried --specs 'random; lcmd-tp:grad>sketch(512)' --splits 0-4 --compat --results results.db
  nextbatch bench run --table table.csv --target y --specs 'random; default' --results results.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd) },
		Long: `For each data set, method and split: starts with 256 labelled rows, and in each
round trains a network from scratch, measures it on the test rows, and lets the
method pick the rows to label next.

The grid comes from a preset or a TOML file; flags override its values. Presets:

` + presetList() + `
A grid in TOML, in which the settings are optional:

  sets = ["fried", "diamonds"]
  activations = ["relu"]
  specs = ["random", "lcmd-tp:grad>sketch(512)"]
  compat = true
  splits = [0, 1, 2, 3, 4]
  schedules = [{rounds = 16, batch = 256}]
  settings = {seed = 0, start = 256, valid = 1024, hidden = [512, 512], epochs = 256}

Each round is written to the results file as soon as it is done. After an
interruption, the same command resumes, with the same results as if it had never
stopped; several processes on one machine can share a file.`,
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

func (b *benchRun) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&b.results, "results", "", "results file; created if it does not exist")
	flags.StringVar(&b.preset, "preset", "", "name of a preset grid")
	flags.StringVar(&b.config, "grid", "", "TOML file with the grid")
	flags.StringVar(&b.data, "data", "data", "folder with the data files")
	flags.StringSliceVar(&b.sets, "sets", nil, "data sets, as listed by nextbatch data list")
	flags.StringVar(&b.table, "table", "", "a table of your own as a data set")
	b.columns.registerTarget(c)
	flags.BoolVar(&b.log, "log", false, "the labels of the table are the logarithms of the target columns")
	flags.IntVar(&b.maxRows, "max-rows", 0, "use at most so many rows of the table, drawn at random (default 500000, as in the paper)")
	flags.StringArrayVar(&b.specs, "specs", nil, "methods, separated by semicolons; can be repeated")
	flags.StringSliceVar(&b.splits, "splits", []string{"0-19"}, "split numbers, such as 0-4,7")
	flags.StringSliceVar(&b.activations, "activation", []string{"relu"}, "activation functions of the networks")
	flags.IntVar(&b.rounds, "rounds", 16, "rounds, each of which picks a batch")
	flags.IntVarP(&b.batch, "batch", "n", 256, "rows to pick per round")
	flags.BoolVar(&b.compat, "compat", false, "follow the published code where it differs from the paper")
	flags.IntVar(&b.jobs, "jobs", runtime.GOMAXPROCS(0), "runs at the same time; each gets one thread, a single one gets all")
	flags.Uint64Var(&b.settings.Seed, "seed", 0, "seed of networks and methods")
	flags.IntVar(&b.settings.Start, "start", 256, "labelled rows to start with")
	flags.IntVar(&b.settings.Valid, "valid", 1024, "validation rows")
	flags.IntVar(&b.settings.Epochs, "epochs", 256, "epochs per training")
	flags.IntSliceVar(&b.settings.Hidden, "hidden", []int{512, 512}, "widths of the network's hidden layers")
	flags.BoolVarP(&b.quiet, "quiet", "q", false, "no progress, only warnings and errors")
	b.columns.register(c)
	flags.StringVar(&b.columns.missing, "missing", "drop", "rows of the table with a missing value: drop (with a warning) or refuse")
}

func (b *benchRun) run(cmd *cobra.Command) error {
	e, err := b.experiment(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	runs, err := e.Runs()
	if err := errors.Join(err, e.Settings.Check(), b.columns.check()); err != nil {
		return usageError{err}
	}
	if b.columns.missing == "impute" {
		return usagef("--missing must be drop or refuse: the benchmark drops incomplete rows, as the paper does")
	}
	if b.results == "" {
		return usagef("--results must name the file for the results")
	}
	if slices.ContainsFunc(runs, func(r benchmark.Run) bool { return r.Rounds == 0 }) {
		return usagef("--rounds must be at least 1: without a batch there is nothing to compare")
	}
	if b.jobs < 1 {
		return usagef("--jobs must be at least 1")
	}
	defer b.columns.memory.begin()()
	if err := b.inspect(cmd.Context(), e.Sets); err != nil {
		return err
	}
	if err := b.admit(e.Settings, runs); err != nil {
		return err
	}
	store, err := sqlite.Open(cmd.Context(), b.results)
	if err != nil {
		return dataError{err}
	}
	err = b.work(cmd, store, e.Settings, runs)
	return errors.Join(err, store.Close())
}

// experiment is what the flags request: a preset or a file, overridden by what the
// command line gives.
func (b *benchRun) experiment(given func(flag string) bool) (benchmark.Experiment, error) {
	e, err := b.basis()
	if err != nil {
		return e, err
	}
	if b.table != "" {
		b.sets = append(b.sets, tableName(b.table))
	}
	if len(b.sets) > 0 {
		e.Sets = b.sets
	}
	if len(b.specs) > 0 {
		e.Specs = splitSpecs(b.specs)
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
	return e, b.checkTable()
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
}

func (b *benchRun) checkTable() error {
	if (b.table == "") != (b.columns.target == "") {
		return usagef("--table and --target belong together")
	}
	if b.maxRows < 0 {
		return usagef("--max-rows must not be negative")
	}
	if b.table == "" && (b.log || b.maxRows > 0) {
		return usagef("--log and --max-rows are for a table of your own, named by --table")
	}
	if b.table == "" {
		return nil
	}
	if b.table == standardInput {
		return usagef("--table -: a table from standard input has no name in the results; give a file")
	}
	if _, err := sets.Find(tableName(b.table)); err == nil || tableName(b.table) == benchmark.GeneratedSet {
		return usagef("--table %s: a data set of the benchmark has this name; rename the file", b.table)
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

func (b *benchRun) work(cmd *cobra.Command, store benchmark.Store, settings benchmark.Settings, runs []benchmark.Run) error {
	leave, err := store.Join(thisProcess(), settings)
	if err != nil {
		return dataError{err}
	}
	progress := newBenchProgress(cmd.ErrOrStderr(), b.quiet, benchmark.NewForecast(settings, b.jobs, runs, nil),
		func() (map[benchmark.Run]int, error) { return benchmark.RoundsDone(cmd.Context(), store) })
	bench := benchmark.Bench{Store: store, Settings: settings, Jobs: b.jobs, Watch: progress.watch,
		Load: func(name string) (*dataset.Regression, error) { return b.load(cmd.Context(), name) }}
	for _, w := range b.warnings {
		progress.warn(w)
	}
	summary, err := bench.Run(cmd.Context(), runs)
	progress.done()
	// The reason why the work ended matters more than a failure to release claims.
	if left := leave(); err == nil {
		err = left
	}
	if cmd.Context().Err() != nil {
		return benchStopped{}
	}
	if err != nil {
		return err
	}
	progress.say("%d of %d runs are done", summary.Done, len(runs))
	if summary.Taken > 0 {
		progress.say("other processes are working on %s", words.Count(summary.Taken, "run", "runs"))
	}
	if summary.Failed == len(runs) {
		return dataError{errorf("all runs failed; the next bench run tries them again")}
	}
	if summary.Failed > 0 {
		return someError{summary.Failed, len(runs), errorf("%d of %d runs failed; the next bench run tries them again", summary.Failed, len(runs))}
	}
	return nil
}

// benchStopped means that Ctrl-C ended the work.
type benchStopped struct{}

func (benchStopped) Error() string { return "stopped; the same command resumes from here" }

func (benchStopped) Unwrap() error { return context.Canceled }

// load returns a data set: the user's table, a generated one, or one of the paper.
func (b *benchRun) load(ctx context.Context, name string) (*dataset.Regression, error) {
	switch {
	case b.table != "" && name == tableName(b.table):
		return b.own, nil
	case name == benchmark.GeneratedSet:
		x, y := friedman(0, "benchmark", generatedRows)
		return &dataset.Regression{X: x, Y: y}, nil
	}
	data, err := sets.Load(ctx, name, b.data)
	if errors.Is(err, fs.ErrNotExist) {
		err = errorf("%w; run nextbatch data fetch %s first", err, name)
	}
	return data, err
}

// thisProcess describes where results come from.
func thisProcess() benchmark.Process {
	b := thisBuild()
	revision := b.Revision
	if b.Modified {
		revision += "+"
	}
	return benchmark.Process{Version: b.Version, Revision: revision, Platform: b.Platform + " " + b.Go, CPU: cpuModel(), SIMD: b.SIMD}
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
