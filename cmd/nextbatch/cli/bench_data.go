package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch"
	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/sets"
	"github.com/nextbatch/nextbatch/internal/words"
	"github.com/nextbatch/nextbatch/network"
	"github.com/nextbatch/nextbatch/spec"
)

// inspect checks the data sets before anything is written: their names, the user's
// table, and whether a file is only a stand-in for that of the paper.
func (b *benchRun) inspect(ctx context.Context, names []string) error {
	for _, name := range names {
		if name == benchmark.GeneratedSet || b.table != "" && name == tableName(b.table) {
			continue
		}
		set, err := sets.Find(name)
		if err != nil {
			return usagef("%w, %s", err, benchmark.GeneratedSet)
		}
		// Problems with the files are reported when they are loaded.
		if state, _ := set.State(b.data); set.IsStandIn(state.Raw) {
			b.warnings = append(b.warnings, fmt.Sprintf("%s: %s%s; its errors cannot be compared with the paper's", name, state.Raw, standIn))
		}
	}
	if b.table == "" {
		return nil
	}
	return b.readOwn(ctx)
}

// admit rejects runs that would need more memory than there is.
func (b *benchRun) admit(settings benchmark.Settings, runs []benchmark.Run) error {
	c := network.Config{Architecture: network.Architecture{Hidden: settings.Hidden}}
	checked := map[benchmark.Run]bool{}
	for _, r := range runs {
		same := benchmark.Run{DataSet: r.DataSet, Spec: r.Spec, BatchSize: r.BatchSize, Rounds: r.Rounds}
		if checked[same] {
			continue
		}
		checked[same] = true
		method, err := r.Method()
		if err != nil {
			return usageError{err}
		}
		z := b.sizes(r.DataSet)
		z.Train, z.Batch = min(z.Pool, cmp.Or(settings.Start, 256)+r.Rounds*r.BatchSize), r.BatchSize
		jobs := min(b.jobs, len(runs))
		need := replayNeed(0, z, c, []spec.Spec{method}, jobs)
		what := fmt.Sprintf("%s on %s, %s at the same time,", r.Spec, r.DataSet, words.Count(jobs, "run", "runs"))
		if err := b.columns.memory.admit(what, need, "fewer runs at the same time (--jobs)", "a smaller sketch", "narrower layers (--hidden)"); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the rows and inputs of a data set, as known before it is loaded.
func (b *benchRun) sizes(name string) nextbatch.Sizes {
	switch {
	case b.table != "" && name == tableName(b.table):
		return nextbatch.Sizes{Pool: b.own.X.Rows, Inputs: b.own.X.Cols, Outputs: b.own.Labels().Cols}
	case name == benchmark.GeneratedSet:
		return nextbatch.Sizes{Pool: generatedRows, Inputs: friedmanInputs}
	}
	set, _ := sets.Find(name) // inspect has found it
	return nextbatch.Sizes{Pool: set.Pool + set.Test, Inputs: set.Features}
}

// generatedRows is the size of the generated data set.
const generatedRows = 20_000

// readOwn reads and prepares the user's table.
func (b *benchRun) readOwn(ctx context.Context) error {
	t, err := b.columns.read(ctx, b.table, false)
	if _, unknown := unknownColumn(err); unknown {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	p := dataset.Preparation{MaxRows: b.maxRows, Seed: b.settings.Seed}
	for _, name := range b.columns.targets(t.Names()) {
		p.Targets = append(p.Targets, dataset.Target{Columns: []string{name}, Log: b.log})
	}
	if b.columns.id != "" {
		p.Drop = []string{b.columns.id}
	}
	if err := b.incomplete(t); err != nil {
		return err
	}
	if b.own, err = dataset.Prepare(t, p); err != nil {
		return dataError{errorf("%s: %w", b.table, err)}
	}
	return nil
}

// incomplete warns about rows that lack a value and are ignored, or rejects them.
func (b *benchRun) incomplete(t *dataset.Table) error {
	rows, lack := 0, map[string]bool{}
	var columns []string
	for row := range t.Rows() {
		complete := true
		for _, c := range t.Columns() {
			if c.Name() == b.columns.id || !c.Missing(row) {
				continue
			}
			complete = false
			if !lack[c.Name()] {
				lack[c.Name()] = true
				columns = append(columns, fmt.Sprintf("%q (first in row %d, from 0)", c.Name(), row))
			}
		}
		if !complete {
			rows++
		}
	}
	if rows == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: %s a value of %s", b.table, words.Count(rows, "row lacks", "rows lack"), strings.Join(columns, ", "))
	if b.columns.missing == "refuse" {
		return dataError{errorf("%s; fill it in, or give --missing drop", text)}
	}
	b.warnings = append(b.warnings, text+"; left out")
	return nil
}
