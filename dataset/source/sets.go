package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// Set is a data set of the paper's benchmark: the raw file and how its columns
// become inputs and label.
type Set struct {
	Name        string
	Files       []string // names that the raw file goes by, .gz left out
	Header      Header
	Label       Columns // several: their median in each row
	Log         bool    // the label is the logarithm
	Drop        Columns
	Categorical Columns // columns of numbers that are levels

	// What the paper's table of data set characteristics says that the
	// preparation and a split must give.
	Pool, Test, Features int
}

// Columns names columns by index, from 0, or by name.
type Columns struct {
	Index []int
	Names []string
}

// subsampleSeed is the same for all: each split of a set divides the same rows.
const subsampleSeed = 12345

// sets are those whose formats have readers here.
var sets = []Set{
	{
		Name: "sgemm", Files: []string{"sgemm_product.csv"}, Header: HeaderPresent,
		Label: Columns{Index: []int{14, 15, 16, 17}}, Log: true,
		Pool: 192000, Test: 48320, Features: 14,
	},
	{
		Name: "protein", Files: []string{"CASP.csv", "protein.arff", "physicochemical-protein.arff"}, Header: HeaderPresent,
		Label: Columns{Names: []string{"RMSD"}},
		Pool:  35304, Test: 9146, Features: 9,
	},
	{
		Name: "fried", Files: []string{"fried.arff"}, // the label is called Y or target
		Label: Columns{Index: []int{10}},
		Pool:  31335, Test: 8153, Features: 10,
	},
	{
		Name: "diamonds", Files: []string{"diamonds.csv", "diamonds.arff"}, Header: HeaderPresent,
		Label: Columns{Names: []string{"price"}},
		Pool:  41872, Test: 10788, Features: 29,
	},
	{
		Name: "poker", Files: []string{"poker-hand-testing.data", "poker_GENERATED_not_uci.data"}, Header: HeaderAbsent,
		Label: Columns{Index: []int{10}}, Categorical: Columns{Index: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		Pool: 198720, Test: 300000, Features: 95,
	},
}

// Sets returns the sets that LoadSet knows.
func Sets() []Set { return slices.Clone(sets) }

// LoadSet finds the raw file of the named set in the folder, by one of the names
// that it goes by, compressed or not, and prepares it as the paper does. The
// missing-value columns of the published code are there: the paper counts them.
func LoadSet(name, dir string) (*dataset.Regression, error) {
	i := slices.IndexFunc(sets, func(s Set) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no data set %q; there are %s", name, strings.Join(setNames(), ", "))
	}
	path, err := sets[i].find(dir)
	if err != nil {
		return nil, err
	}
	table, err := ReadFile(path, Options{Header: sets[i].Header})
	if err != nil {
		return nil, err
	}
	prepared, err := sets[i].prepare(table)
	if err != nil {
		return nil, fmt.Errorf("data set %s in %s: %w", name, path, err)
	}
	return prepared, nil
}

func setNames() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return names
}

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
	return "", fmt.Errorf("data set %s: %w: %s has no %s, with or without .gz", s.Name, fs.ErrNotExist, dir, strings.Join(s.Files, " or "))
}

func (s Set) prepare(t *dataset.Table) (*dataset.Regression, error) {
	label, errLabel := s.Label.in(t)
	drop, errDrop := s.Drop.in(t)
	t, errLevels := s.withLevels(t)
	if err := errors.Join(errLabel, errDrop, errLevels); err != nil {
		return nil, err
	}
	return dataset.Prepare(t, dataset.Preparation{
		Target: dataset.Target{Columns: label, Log: s.Log},
		Drop:   drop,
		OneHot: dataset.OneHot{MissingColumns: true},
		Seed:   subsampleSeed,
	})
}

// withLevels makes the numeric columns that hold levels categorical.
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

// in returns the names of the columns in the table, all of which must exist.
func (c Columns) in(t *dataset.Table) ([]string, error) {
	names := t.Names()
	found := slices.Clone(c.Names)
	for _, i := range c.Index {
		if i >= len(names) {
			return nil, fmt.Errorf("there is no column %d (from 0) among %d", i, len(names))
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
