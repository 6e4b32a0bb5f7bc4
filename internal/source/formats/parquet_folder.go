package formats

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/cells"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// readFolder reads the Parquet files in a folder as one table, in the order of their names. They must have the same
// columns. Names that start with a point or an underscore, which Spark and others give to their own files, do not
// count.
func readFolder(ctx context.Context, dir string, opts sheets.Options) (*dataset.Table, error) {
	if opts.Format != "" && opts.Format != "parquet" {
		return nil, &sheets.Error{File: dir, Kind: sheets.ErrFormat, Detail: "it is a folder, whose files are not read as " +
			opts.Format,
			Advice: "give a file, or a folder of Parquet files"}
	}
	paths, err := parquetFiles(dir)
	if err != nil {
		return nil, err
	}
	return readParquetFiles(ctx, dir, paths, opts)
}

// readParts reads the Parquet files that match a pattern in the same way.
func readParts(ctx context.Context, pattern string, paths []string, opts sheets.Options) (*dataset.Table, error) {
	for _, path := range paths {
		if !isParquet(path) {
			return nil, &sheets.Error{File: path, Kind: sheets.ErrFormat, Detail: "the extension is " + extensionOf(path),
				Advice: "several files at once must be Parquet files"}
		}
	}
	return readParquetFiles(ctx, pattern, paths, opts)
}

func readParquetFiles(ctx context.Context, name string, paths []string, opts sheets.Options) (*dataset.Table, error) {
	p := &parquetReader{ctx: ctx, opts: opts, missing: sheets.MissingSet(opts, nil), first: paths[0]}
	for _, path := range paths {
		if err := p.addPath(path); err != nil {
			return nil, inFile(path, ended(ctx, err))
		}
	}
	t, err := p.Table()
	if err == nil {
		t, err = sheets.WithIDs(opts, t)
	}
	return t, inFile(name, err)
}

func parquetFiles(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
			continue
		}
		if entry.IsDir() {
			return nil, &sheets.Error{File: dir, Kind: sheets.ErrFormat, Detail: "it has the folder " + name + " in it",
				Advice: "give one folder whose Parquet files are all of the table, or write the table as one file"}
		}
		if isParquet(name) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) == 0 {
		return nil, &sheets.Error{File: dir, Kind: sheets.ErrEmpty, Detail: "it is a folder without .parquet files",
			Advice: "give a file, or a folder of Parquet files"}
	}
	return paths, nil
}

func (p *parquetReader) addPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := open(file)
	if err != nil {
		return err
	}
	return p.addFile(content)
}

// sameColumns makes sure that a further file has the columns of the first, in whatever order.
func (p *parquetReader) sameColumns(root *parquet.Column) error {
	differs := func(name, detail string) error {
		return &sheets.Error{Kind: sheets.ErrHeader, Column: slices.Index(p.Names, name) + 1, Name: name, Detail: detail,
			Advice: "write all files with the same columns"}
	}
	columns, known := map[string]*parquet.Column{}, cells.SetOf(p.Names)
	for _, c := range root.Columns() {
		columns[c.Name()] = c
		if !known[c.Name()] {
			return differs(c.Name(), fmt.Sprintf("the column %q is not in %s", c.Name(), p.first))
		}
	}
	for j, name := range p.Names {
		c, found := columns[name]
		switch {
		case p.Sinks[j] == nil:
			continue
		case !found:
			return differs(name, fmt.Sprintf("the column %q of %s is missing", name, p.first))
		case !c.Leaf() || c.Repeated() || c.Type().String() != p.columns[j].schema:
			return differs(name, fmt.Sprintf("its type is %s, but %s in %s", c.Type(), p.columns[j].schema, p.first))
		}
		p.columns[j].leaf = c.Index()
	}
	return nil
}
