package cli

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// benchRun is the command bench run: flags, and what they mean.
type benchRun struct {
	data, results       string
	sets, specs, splits []string
	activations         []string
	rounds, batch, jobs int
	compat, quiet       bool
	settings            benchmark.Settings
}

func newBenchRun() *cobra.Command {
	b := &benchRun{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Do the runs of a grid of data sets, methods and splits",
		Example: `  nextbatch bench run --data folder --sets fried --specs 'random;lcmd-tp:grad>sketch(512)' \
    --splits 0-4 --compat --results results.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd) },
		Long: `For each data set, method and split: starts from 256 labelled rows, and in each
round trains a network from scratch, measures it on the test rows, and lets the
method pick the rows that are labelled next.

Each round is written to the results file as it comes. The same command goes on
where it was stopped; several processes may share a file.`,
	}
	flags := c.Flags()
	flags.StringVar(&b.data, "data", "", "folder with the files of the data sets")
	flags.StringVar(&b.results, "results", "", "results file; made if it does not exist")
	flags.StringSliceVar(&b.sets, "sets", nil, "data sets")
	flags.StringArrayVar(&b.specs, "specs", nil, "methods, separated by semicolons; may be repeated")
	flags.StringSliceVar(&b.splits, "splits", []string{"0-19"}, "numbers of the splits, such as 0-4,7")
	flags.StringSliceVar(&b.activations, "activation", []string{"relu"}, "activation functions of the networks")
	flags.IntVar(&b.rounds, "rounds", 16, "rounds of picking")
	flags.IntVarP(&b.batch, "batch", "n", 256, "rows to pick in a round")
	flags.BoolVar(&b.compat, "compat", false, "follow the published code where it differs from the paper")
	flags.IntVar(&b.jobs, "jobs", runtime.GOMAXPROCS(0), "runs at the same time")
	flags.Uint64Var(&b.settings.Seed, "seed", 0, "seed of networks and methods")
	flags.IntVar(&b.settings.Start, "start", 256, "labelled rows to start with")
	flags.IntVar(&b.settings.Valid, "valid", 1024, "rows for validation")
	flags.IntVar(&b.settings.Epochs, "epochs", 256, "epochs of each training")
	flags.IntSliceVar(&b.settings.Hidden, "hidden", []int{512, 512}, "widths of the network's hidden layers")
	flags.BoolVarP(&b.quiet, "quiet", "q", false, "print no progress")
	return c
}

// grid is what the flags ask for.
func (b *benchRun) grid() (benchmark.Grid, error) {
	splits, err := parseNumbers(b.splits)
	if err != nil {
		return benchmark.Grid{}, usagef("--splits: %w", err)
	}
	g := benchmark.Grid{
		Sets: b.sets, Activations: b.activations, Compat: b.compat, Splits: splits,
		Schedules: []benchmark.Schedule{{Rounds: b.rounds, Batch: b.batch}},
	}
	for _, text := range b.specs {
		for spec := range strings.SplitSeq(text, ";") {
			g.Specs = append(g.Specs, strings.TrimSpace(spec))
		}
	}
	return g, nil
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
			return nil, errorf("%q is no list of numbers such as 0-4,7", text)
		}
		for n := low; n <= high; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

func (b *benchRun) run(cmd *cobra.Command) error {
	grid, err := b.grid()
	if err != nil {
		return err
	}
	runs, err := grid.Runs()
	if err := errors.Join(err, b.settings.Check()); err != nil {
		return usageError{err}
	}
	if b.results == "" {
		return usagef("--results must name the file for the results")
	}
	if b.jobs < 1 {
		return usagef("--jobs must be at least 1")
	}
	store, err := benchmark.Open(b.results)
	if err != nil {
		return dataError{err}
	}
	err = b.work(cmd, store, runs)
	return errors.Join(err, store.Close())
}

func (b *benchRun) work(cmd *cobra.Command, store *benchmark.Store, runs []benchmark.Run) error {
	leave, err := store.Join(thisProcess(), b.settings)
	if err != nil {
		return dataError{err}
	}
	progress := newBenchProgress(cmd.ErrOrStderr(), b.quiet, runs)
	bench := benchmark.Bench{
		Store: store, Settings: b.settings, Jobs: b.jobs, Watch: progress.watch,
		Load: func(name string) (*dataset.Regression, error) { return source.LoadSet(name, b.data) },
	}
	summary, err := bench.Run(cmd.Context(), runs)
	progress.end(summary)
	// What ended the work says more than that the claims could not be given back.
	if left := leave(); err == nil {
		err = left
	}
	switch {
	case cmd.Context().Err() != nil:
		return errorf("stopped; the same command goes on from here: %w", context.Canceled)
	case err != nil:
		return err
	case summary.Failed > 0:
		return partialError{picked: len(runs) - summary.Failed, asked: len(runs), reason: "see above"}
	}
	return nil
}

// thisProcess says where results come from.
func thisProcess() benchmark.Process {
	b := thisBuild()
	revision := b.Revision
	if b.Modified {
		revision += "+"
	}
	return benchmark.Process{Version: b.Version, Revision: revision, Platform: b.Platform + " " + b.Go, CPU: cpuModel(), SIMD: b.SIMD}
}

// cpuModel is the processor's name, where the system tells.
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
