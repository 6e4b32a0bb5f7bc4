package sets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// Set is a data set of the paper's benchmark: where it comes from, and how the
// columns of the raw file become inputs and labels.
type Set struct {
	Name     string
	Title    string
	Citation string // empty where the paper names none
	Licence  string // empty where the source states none
	Source   Source

	Files       []string // possible names of the raw file, without .gz; Fetch uses the first
	StandIn     string   // the one of them that only imitates the raw file
	Array       string   // variable of a MATLAB file
	Header      source.Header
	Label       Columns // if several, the median in each row
	Log         bool    // the label is its logarithm
	Drop        Columns
	Categorical Columns  // numeric columns whose numbers are levels
	Numeric     []string // numeric columns that may look like words

	// The counts in the paper's table of data set characteristics, which
	// preparation and split must reproduce.
	Pool, Test, Features int
}

// Columns names columns by index, from 0, or by name.
type Columns struct {
	Index []int
	Names []string
}

// subsampleSeed is the same for all splits, so that they divide the same rows.
const subsampleSeed = 12345

// All returns the 15 sets of the benchmark, in the order of the paper.
func All() []Set { return slices.Clone(sets) }

// Find returns the set with the name, or an error that lists the names.
func Find(name string) (Set, error) {
	names := make([]string, len(sets))
	for i, s := range sets {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	return Set{}, fmt.Errorf("there is no data set %q; choose from %s", name, strings.Join(names, ", "))
}

// Load returns the named set as the paper prepares it. It reads the output of
// Set.Prepare from the folder, or else finds the raw file there, under any of
// its names, compressed or not, and prepares it in memory. A raw file that has
// changed since it was prepared, or since its hash was pinned, is an error
// (ErrChanged).
//
// The features include the missing-value columns of the published code, which
// the paper counts. A level that a file declares but no row has becomes no
// feature.
func Load(ctx context.Context, name, dir string) (*Regression, error) {
	s, err := Find(name)
	if err != nil {
		return nil, err
	}
	raw, err := s.find(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p, errPrepared := s.openPrepared(dir)
	if errPrepared == nil {
		defer p.close()
		if raw != "" {
			if err := p.checkFresh(ctx, raw); err != nil {
				return nil, err
			}
		}
		return p.read(ctx)
	}
	if !errors.Is(errPrepared, fs.ErrNotExist) {
		return nil, errPrepared
	}
	if raw == "" {
		return nil, err
	}
	if _, err := checkPin(ctx, raw); err != nil {
		return nil, err
	}
	r, _, err := s.load(ctx, raw, DefaultMaxRows)
	return r, err
}

// IsStandIn reports whether a raw file only imitates the original.
func (s Set) IsStandIn(path string) bool {
	return s.StandIn != "" && strings.TrimSuffix(filepath.Base(path), ".gz") == s.StandIn
}

// find returns the path of the raw file in the folder.
func (s Set) find(dir string) (string, error) {
	for _, file := range s.Files {
		for _, name := range []string{file, file + ".gz"} {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("data set %s: %w: %s has no %s, with or without .gz", s.Name, fs.ErrNotExist, dir,
		strings.Join(s.Files, " or "))
}

// load reads a raw file and prepares it with at most the given number of rows.
// It also returns how many rows the file has.
func (s Set) load(ctx context.Context, path string, most int) (*Regression, int, error) {
	c := &sheets.Choice{MayLack: s.Drop.has, Begin: upTo(most)}
	t, err := s.read(ctx, path, c)
	if total := c.Complete; err == nil && total > most {
		c.Begin = func() func() bool { return NewSubsample(total, most, subsampleSeed).Next }
		t, err = s.read(ctx, path, c)
	}
	if err != nil {
		return nil, 0, err
	}
	if c.Seen > 0 && c.Complete == 0 {
		return nil, 0, fmt.Errorf("data set %s: %s: none of the %d rows is complete", s.Name, path, c.Seen)
	}
	r, err := s.prepare(t, most)
	if c.Seen > 0 { // the table has only the chosen rows
		err = inFile(c.Rows, r, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("data set %s in %s: %w", s.Name, path, err)
	}
	return r, max(c.Seen, t.Rows()), nil
}

// upTo keeps complete rows up to the limit. If there are more, the choice has
// counted them, and the file is read once more.
func upTo(most int) func() func() bool {
	return func() func() bool {
		n := 0
		return func() bool {
			n++
			return n <= most
		}
	}
}

// inFile translates row numbers of the table into those of the file.
func inFile(rows []int, r *Regression, err error) error {
	if at := (*dataset.ColumnError)(nil); errors.As(err, &at) && at.Row >= 0 {
		at.Row = rows[at.Row]
	}
	if err == nil {
		for i, row := range r.Rows {
			r.Rows[i] = rows[row]
		}
	}
	return err
}

func (s Set) read(ctx context.Context, path string, c *sheets.Choice) (*dataset.Table, error) {
	opts := source.Options{Header: s.Header, Array: s.Array, Choice: c}
	if len(s.Numeric) > 0 {
		opts.Kinds = map[string]dataset.Kind{}
		for _, name := range s.Numeric {
			opts.Kinds[name] = dataset.KindNumeric
		}
	}
	return source.ReadFile(ctx, path, opts)
}

func (s Set) prepare(t *dataset.Table, most int) (*Regression, error) {
	label, errLabel := s.Label.in(t)
	drop, errDrop := s.Drop.in(t)
	t, errLevels := s.withLevels(t)
	if err := errors.Join(errLabel, errDrop, errLevels); err != nil {
		return nil, err
	}
	return Prepare(t, Preparation{
		Target:  encode.Target{Columns: label, Log: s.Log},
		Drop:    drop,
		OneHot:  encode.OneHot{MissingColumns: true},
		MaxRows: most,
		Seed:    subsampleSeed,
	})
}

// withLevels turns numeric columns of levels into categorical ones.
func (s Set) withLevels(t *dataset.Table) (*dataset.Table, error) {
	names, err := s.Categorical.in(t)
	if err != nil || len(names) == 0 {
		return t, err
	}
	columns := slices.Clone(t.Columns())
	for i, c := range columns {
		if numbers, ok := c.(*dataset.Numeric); ok && slices.Contains(names, c.Name()) {
			columns[i] = numbers.Categorical()
		}
	}
	return dataset.NewTable(columns...)
}

// has reports whether the column is among c.
func (c Columns) has(column int, name string) bool {
	return slices.Contains(c.Index, column) || slices.Contains(c.Names, name)
}

// in returns the names of the columns in the table, all of which must exist.
func (c Columns) in(t *dataset.Table) ([]string, error) {
	names := t.Names()
	found := slices.Clone(c.Names)
	for _, i := range c.Index {
		if i >= len(names) {
			return nil, fmt.Errorf("there is no column %d (from 0); the table has %d", i, len(names))
		}
		found = append(found, names[i])
	}
	for _, name := range found {
		if _, err := t.Column(name); err != nil {
			return nil, err
		}
	}
	return found, nil
}
