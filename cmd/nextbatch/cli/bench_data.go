package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/nextbatch/nextbatch/benchmark"
	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// look looks at the data sets before anything is written: their names, the table
// of the user, and whether a file only looks like that of the paper's set.
func (b *benchRun) look(ctx context.Context, sets []string) error {
	for _, name := range sets {
		if name == benchmark.GeneratedSet || b.table != "" && name == tableName(b.table) {
			continue
		}
		set, err := source.FindSet(name)
		if err != nil {
			return usagef("%w, %s", err, benchmark.GeneratedSet)
		}
		// What is wrong with the files is said when they are loaded.
		if state, _ := set.State(b.data); set.IsStandIn(state.Raw) {
			b.warnings = append(b.warnings, fmt.Sprintf("%s: %s%s; its errors are not to be compared with the paper's", name, state.Raw, standIn))
		}
	}
	if b.table == "" {
		return nil
	}
	return b.readOwn(ctx)
}

// readOwn prepares the table of the user.
func (b *benchRun) readOwn(ctx context.Context) error {
	t, err := b.columns.read(ctx, b.table, false)
	if _, unknown := unknownColumn(err); unknown {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	p := dataset.Preparation{Target: dataset.Target{Columns: []string{b.columns.target}}}
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

// incomplete warns of rows that lack a value, which do not count, or refuses them.
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
	text := fmt.Sprintf("%s: %s a value of %s", b.table, plural(rows, "row lacks", "rows lack"), strings.Join(columns, ", "))
	if b.columns.missing == "refuse" {
		return dataError{errorf("%s; fill it in, or give --missing drop", text)}
	}
	b.warnings = append(b.warnings, text+"; left out")
	return nil
}

// plural is a number with the word that fits it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
