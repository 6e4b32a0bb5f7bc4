package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/benchmark"
	"github.com/nextbatch/nextbatch/internal/device"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/forecast"
	"github.com/nextbatch/nextbatch/internal/sets"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/learner"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// inspect checks the data sets before anything is written: their names, the user's
// table, and whether a file is only a stand-in for that of the paper.
func (b *benchRun) inspect(ctx context.Context, names []string) error {
	for _, name := range names {
		if name == benchmark.GeneratedSet || b.isOwn(name) {
			continue
		}
		set, err := sets.Find(name)
		if err != nil {
			return usagef("%w, %s", err, benchmark.GeneratedSet)
		}
		// Problems with the files are reported when they are loaded.
		if state, _ := set.State(b.data); set.IsStandIn(state.Raw) {
			//warning:stand-in
			b.warnings = append(b.warnings, fmt.Sprintf("%s: %s%s; its errors cannot be compared with the paper's",
				name, state.Raw, standIn))
		}
	}
	return b.readOwn(ctx)
}

// feasible shortens the runs on the user's tables to the rounds that they have rows for, with a warning,
// and leaves out runs that have rows for none.
func (b *benchRun) feasible(s benchmark.Settings, runs []benchmark.Run) (list []benchmark.Run) {
	said := map[string]bool{}
	warn := func(text string) {
		if !said[text] {
			said[text] = true
			b.warnings = append(b.warnings, text)
		}
	}
	for _, r := range runs {
		if !b.isOwn(r.DataSet) {
			list = append(list, r)
			continue
		}
		rows := b.own[r.DataSet].X.Rows
		switch most := s.Batches(rows, r.BatchSize); {
		case most >= r.Rounds:
			list = append(list, r)
		case most < 1:
			//warning:own-rows
			warn(fmt.Sprintf("%s has %s, too few for a batch of %d; its runs are left out", r.DataSet,
				words.Count(rows, "row", "rows"), r.BatchSize))
		default:
			//warning:own-rows
			warn(fmt.Sprintf("%s has %s, enough for %s of %d, not %d", r.DataSet, words.Count(rows, "row", "rows"),
				words.Count(most, "batch", "batches"), r.BatchSize, r.Rounds))
			r.Rounds = most
			list = append(list, r)
		}
	}
	return list
}

// kindOfRun is what the memory of a run depends on.
type kindOfRun struct {
	run    benchmark.Run // one of them
	method spec.Spec
	sizes  forecast.Sizes
}

// kinds returns what runs need memory for, once for those that are alike.
func (b *benchRun) kinds(settings benchmark.Settings, runs []benchmark.Run) (kinds []kindOfRun, err error) {
	seen := map[benchmark.Run]bool{}
	for _, r := range runs {
		same := benchmark.Run{DataSet: r.DataSet, Spec: r.Spec, BatchSize: r.BatchSize, Rounds: r.Rounds}
		if seen[same] {
			continue
		}
		seen[same] = true
		method, err := r.Method()
		if err != nil {
			return nil, usageError{err}
		}
		z := b.sizes(r.DataSet)
		z.Train, z.Batch = min(z.Pool, settings.WithDefaults().Start+r.Rounds*r.BatchSize), r.BatchSize
		z.Hidden = settings.Hidden
		kinds = append(kinds, kindOfRun{r, method, z})
	}
	return kinds, nil
}

// admit rejects runs that would need more memory than there is. On a device, unless --jobs is
// given, it first chooses how many execute at the same time.
func (b *benchRun) admit(cmd *cobra.Command, settings benchmark.Settings, runs []benchmark.Run) error {
	kinds, err := b.kinds(settings, runs)
	if err != nil {
		return err
	}
	c := network.Config{Architecture: network.Architecture{Hidden: settings.Hidden}}
	if d := device.Of(cmd.Context()); d != nil && !cmd.Flags().Changed("jobs") {
		for b.jobs = jobsOn(d, kinds); b.jobs > 1 && b.admitJobs(c, kinds, len(runs)) != nil; {
			b.jobs /= 2
		}
	}
	return b.admitJobs(c, kinds, len(runs))
}

// jobsOn returns how many runs fit on a device at the same time, at most as many as keep it
// busy. A run needs a block for computing features besides what Memory forecasts.
func jobsOn(d device.Device, kinds []kindOfRun) int {
	const most, block = 64, 1 << 30
	largest := int64(0)
	for _, k := range kinds {
		largest = max(largest, forecast.Memory(k.method, k.sizes))
	}
	return int(max(1, min(most, d.Room()/(largest+block))))
}

// admitJobs rejects kinds of runs that do not fit into memory with --jobs of them at the same
// time.
func (b *benchRun) admitJobs(c network.Config, kinds []kindOfRun, runs int) error {
	jobs := min(b.jobs, runs)
	for _, k := range kinds {
		need := replayNeed(0, k.sizes, c, []spec.Spec{k.method}, jobs)
		if kind := k.run.Learner(); kind.Blends() {
			blend, _ := learner.Memory(kind, c, k.sizes.Inputs, k.sizes.Train)
			need += int64(jobs) * blend
		}
		what := fmt.Sprintf("%s on %s, %s at the same time,", k.run.Spec, k.run.DataSet, words.Count(jobs, "run", "runs"))
		if err := b.columns.memory.admit(what, need, "fewer runs at the same time (--jobs)", "a smaller sketch",
			"narrower layers (--hidden)"); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the rows and inputs of a data set, as known before it is loaded.
func (b *benchRun) sizes(name string) forecast.Sizes {
	switch {
	case b.isOwn(name):
		own := b.own[name]
		return forecast.Sizes{Pool: own.X.Rows, Inputs: own.X.Cols, Outputs: own.Labels().Cols}
	case name == benchmark.GeneratedSet:
		return forecast.Sizes{Pool: generatedRows, Inputs: friedmanInputs}
	}
	set, _ := sets.Find(name) // inspect has found it
	return forecast.Sizes{Pool: set.Pool + set.Test, Inputs: set.Features}
}

// generatedRows is the size of the generated data set.
const generatedRows = 20_000

// readOwn reads and prepares the user's tables.
func (b *benchRun) readOwn(ctx context.Context) error {
	b.own = map[string]*sets.Regression{}
	for _, name := range b.tableNames() {
		data, err := b.prepareTable(ctx, b.files[name])
		if err != nil {
			return err
		}
		b.own[name] = data
	}
	return nil
}

func (b *benchRun) prepareTable(ctx context.Context, path string) (*sets.Regression, error) {
	t, err := b.columns.read(ctx, path, false)
	if _, unknown := unknownColumn(err); unknown {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	p := sets.Preparation{MaxRows: b.maxRows, Seed: b.settings.Seed}
	targets := b.columns.targets(t.Names())
	for _, name := range targets {
		p.Targets = append(p.Targets, encode.Target{Columns: []string{name}, Log: b.log})
	}
	if b.columns.id != "" {
		p.Drop = []string{b.columns.id}
	}
	if err := b.incomplete(path, t, targets); err != nil {
		return nil, err
	}
	data, err := sets.Prepare(t, p)
	if err != nil {
		return nil, dataError{errorf("%s: %w", path, err)}
	}
	return data, nil
}

// incomplete warns about rows that are dropped because they lack an input or all labels, or
// rejects them, and about rows that lack some of several labels.
func (b *benchRun) incomplete(path string, t *dataset.Table, targets []string) error {
	left, some := gaps{names: map[string]bool{}}, gaps{names: map[string]bool{}}
	isTarget := map[string]bool{}
	for _, name := range targets {
		isTarget[name] = true
	}
	for row := range t.Rows() {
		var inputs, labels []string // that the row lacks
		for _, c := range t.Columns() {
			switch {
			case c.Name() == b.columns.id || !c.Missing(row):
			case isTarget[c.Name()]:
				labels = append(labels, c.Name())
			default:
				inputs = append(inputs, c.Name())
			}
		}
		switch {
		case len(inputs) > 0 || len(labels) == len(targets):
			left.add(t.Place(row, ""), slices.Concat(inputs, labels))
		case len(labels) > 0:
			some.add(t.Place(row, ""), labels)
		}
	}
	if left.rows > 0 {
		text := fmt.Sprintf("%s: %s a value of %s", path, words.Count(left.rows, "row lacks", "rows lack"),
			strings.Join(left.columns, ", "))
		if b.columns.missing == "refuse" {
			return dataError{errorf("%s; fill it in, or give --missing drop", text)}
		}
		//warning:incomplete-rows …: … rows lack a value of …; left out
		b.warnings = append(b.warnings, text+"; left out")
	}
	if some.rows > 0 {
		//warning:some-labels
		b.warnings = append(b.warnings, fmt.Sprintf("%s: %s some of the labels, of %s, and %s for the others", path,
			words.Count(some.rows, "row lacks", "rows lack"), strings.Join(some.columns, ", "),
			map[bool]string{true: "counts", false: "count"}[some.rows == 1]))
	}
	return nil
}

// gaps are rows that lack values.
type gaps struct {
	rows    int
	columns []string // each with the first row that lacks it
	names   map[string]bool
}

func (g *gaps) add(place string, columns []string) {
	g.rows++
	for _, name := range columns {
		if !g.names[name] {
			g.names[name] = true
			g.columns = append(g.columns, fmt.Sprintf("%q (first in %s)", name, place))
		}
	}
}
