package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/report"
	"github.com/nextbatch/nextbatch/internal/words"
)

// pendingRows returns the rows that --pending names: by themselves, in a file with one
// per line, or in a table, such as the file of an earlier batch.
func (s *selecting) pendingRows(ctx context.Context) ([]string, error) {
	var names []string
	for _, v := range s.pending {
		path, isFile := strings.CutPrefix(v, "@")
		read := func() ([]string, error) { return list([]string{v}) }
		if isFile && isTable(path) {
			read = func() ([]string, error) { return s.idsIn(ctx, path) }
		}
		some, err := read()
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	return names, nil
}

// isTable reports whether a file is a table by its name, and not a list.
func isTable(path string) bool {
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	return !slices.Contains([]string{"", ".txt", ".lst", ".list"}, extension)
}

// rowColumn is the column of a batch file that holds the rows of a table, which may have
// a column of that name itself; with features there is no table.
func rowColumn(t *dataset.Table) string {
	if t == nil {
		return report.RowColumn
	}
	return words.FreeName(report.RowColumn, t.Names()...)
}

// idsIn returns the ids of a table or, without --id, the rows that a batch file names.
func (s *selecting) idsIn(ctx context.Context, path string) ([]string, error) {
	column := s.columns.id
	if column == "" {
		column = rowColumn(s.candidates())
	}
	t, err := s.columns.readBatch(ctx, path, formatFlags{sheet: s.columns.format.sheet})
	if err != nil {
		return nil, err
	}
	ids, err := t.Column(column)
	if err != nil {
		return nil, dataError{errorf("%s: %w", path, err)}
	}
	var names []string
	for row := range ids.Len() {
		if ids.Missing(row) {
			return nil,
				dataError{errorf("%s: %w", path, &dataset.ColumnError{Column: column, Row: row, Problem: "the id is missing"})}
		}
		names = append(names, ids.Format(row))
	}
	return names, nil
}

// readBatch reads a batch file in a format of its own: Excel may have saved it.
func (f *columnFlags) readBatch(ctx context.Context, path string, format formatFlags) (*dataset.Table, error) {
	own := *f
	own.ignore, own.format = nil, format
	return own.read(ctx, path, true)
}
