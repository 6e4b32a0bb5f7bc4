package formats

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// Shards are files that hold the rows of one array, file after file: NumPy files, or Parquet
// files whose columns are all numbers. Their headers have been read, their numbers have not.
type Shards struct {
	Rows, Cols int
	single     bool // all numbers are stored as float32
	files      []shard
	parquet    *parquetReader // knows the columns of Parquet files
}

type shard struct {
	path        string
	first, rows int
	array       array // of a NumPy file
	offset      int64 // of its first number
}

// OpenShards reads the headers of a file, of the Parquet files in a folder, or of the files that match a pattern such
// as part-*.npy, in the order of their names.
func OpenShards(name string) (*Shards, error) {
	paths, err := Files(name)
	if err != nil {
		return nil, err
	}
	s := &Shards{single: true}
	for _, path := range paths {
		if err := s.open(path); err != nil {
			return nil, inFile(path, err)
		}
	}
	if s.Rows == 0 {
		return nil, &sheets.Error{File: name, Kind: sheets.ErrEmpty, Detail: "there are no rows in it",
			Advice: "check that it is the right file"}
	}
	return s, nil
}

// Files returns the files that a name stands for: itself, the Parquet files in a folder, or those
// that match a pattern, in the order of their names.
func Files(name string) ([]string, error) {
	if info, err := os.Stat(name); err == nil {
		if info.IsDir() {
			return parquetFiles(name)
		}
		return []string{name}, nil
	}
	paths, err := filepath.Glob(name)
	if err != nil || len(paths) == 0 {
		return nil, &sheets.Error{File: name, Kind: sheets.ErrRead, Detail: "no file has such a name",
			Advice: "check the pattern; quote it so that the shell leaves it alone"}
	}
	return paths, nil
}

func (s *Shards) open(path string) error {
	inParquet := isParquet(path)
	switch {
	case !inParquet && !strings.EqualFold(filepath.Ext(path), ".npy"):
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "the extension is " + filepath.Ext(path),
			Advice: "several files at once must be .npy files that are not compressed, or .parquet files"}
	case len(s.files) > 0 && inParquet != (s.parquet != nil):
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "its format is not that of " + s.files[0].path,
			Advice: "give NumPy files or Parquet files, not both"}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait, to read from it take what is there
		return &sheets.Error{Kind: sheets.ErrFormat, Detail: "it is not a regular file", Advice: "write the rows to a file"}
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if inParquet {
		return s.openParquet(file, path)
	}
	return s.openNPY(file, path, info.Size())
}

func (s *Shards) openNPY(file *os.File, path string, size int64) error {
	a, err := readNPYHeader(file)
	if err != nil {
		return err
	}
	offset, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	want := offset + int64(a.rows)*int64(a.cols)*int64(a.size)
	switch {
	case a.columnMajor:
		return &sheets.Error{Kind: sheets.ErrShape, Detail: "the numbers are in column order",
			Advice: "save it with numpy.save(path, numpy.ascontiguousarray(x))"}
	case len(s.files) > 0 && a.cols != s.Cols:
		return &sheets.Error{Kind: sheets.ErrShape, Detail: fmt.Sprintf("it has %d columns, but %s has %d", a.cols,
			s.files[0].path,
			s.Cols), Advice: "all files must hold rows of one array"}
	case size != want:
		return &sheets.Error{Kind: sheets.ErrRead, Detail: fmt.Sprintf("it has %d bytes, but its header promises %d", size,
			want),
			Advice: "check that the file is complete"}
	}
	s.single = s.single && a.kind == 'f' && a.size == sizeOfNumber[float32]()
	s.add(shard{path: path, rows: a.rows, array: a, offset: offset}, a.cols)
	return nil
}

func (s *Shards) add(one shard, cols int) {
	one.first = s.Rows
	s.files = append(s.files, one)
	s.Rows, s.Cols = s.Rows+one.rows, cols
}

// InSingle reports whether all numbers are stored as float32.
func (s *Shards) InSingle() bool { return s.single }

// Columns returns the names of the columns, which only Parquet files have.
func (s *Shards) Columns() []string {
	if s.parquet == nil {
		return nil
	}
	return s.parquet.Names
}

// Place returns the file that a row is in, and its number there, from 0.
func (s *Shards) Place(row int) (path string, at int) {
	i := slices.IndexFunc(s.files, func(one shard) bool { return row < one.first+one.rows })
	return s.files[i].path, row - s.files[i].first
}

// RowName names a row with its file, such as "row 17 of part-3.npy".
func (s *Shards) RowName(row int) string {
	if row < 0 || row >= s.Rows {
		return fmt.Sprintf("row %d", row)
	}
	path, at := s.Place(row)
	return fmt.Sprintf("row %d of %s", at, path)
}

// ReadShards reads the rows from from to to-1. Only the option MaxMemory has an effect.
func ReadShards[T matrix.Float](ctx context.Context, s *Shards, from, to int, opts sheets.Options) (matrix.Dense[T],
	error) {
	whole := array{element: s.files[0].array.element, rows: max(to-from, 0), cols: s.Cols}
	var number T
	if err := sheets.Allow(opts, whole.arrayBytes(int64(unsafe.Sizeof(number)), true, false),
		fmt.Sprintf("an array of %d x %d numbers", whole.rows, whole.cols)); err != nil {
		return matrix.Dense[T]{}, err
	}
	rows, at := matrix.New[T](whole.rows, s.Cols), 0
	err := eachBlock(ctx, s, from, to, func(block matrix.Dense[T]) error {
		matrix.Copy(rows.Slice(at, at+block.Rows), block)
		at += block.Rows
		return nil
	})
	return rows, err
}

// shardBlock is the number of rows that are read at a time.
const shardBlock = 1 << 13

// eachBlock visits the rows from from to to-1 in order, some at a time. They are valid during the visit.
func eachBlock[T matrix.Float](ctx context.Context, s *Shards, from, to int, visit func(matrix.Dense[T]) error) error {
	for _, one := range s.files {
		low, high := max(from, one.first)-one.first, min(to, one.first+one.rows)-one.first
		if low >= high {
			continue
		}
		if err := eachOfFile(ctx, s, one, low, high, visit); err != nil {
			return inFile(one.path, ended(ctx, err))
		}
	}
	return nil
}

// eachOfFile is eachBlock for the rows of one file.
func eachOfFile[T matrix.Float](ctx context.Context, s *Shards, one shard, from, to int,
	visit func(matrix.Dense[T]) error) error {
	file, err := os.Open(one.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if s.parquet != nil {
		return eachOfParquet(ctx, s.parquet, file, from, to, visit)
	}
	part, row := one.array, int64(one.array.cols)*int64(one.array.size)
	for ; from < to; from += shardBlock {
		part.rows = min(shardBlock, to-from)
		bytes := int64(part.rows) * row
		r := io.NewSectionReader(file, one.offset+int64(from)*row, bytes)
		block, err := readArray[T](ctxio.Reader(ctx, r), part, bytes, arrayUse{})
		if err != nil {
			return err
		}
		if err := visit(block); err != nil {
			return err
		}
	}
	return nil
}
