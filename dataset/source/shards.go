package source

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/matrix"
)

// Shards are NumPy files that hold the rows of one array, file after file. Their headers
// have been read, their numbers have not.
type Shards struct {
	Rows, Cols int
	files      []shard
}

type shard struct {
	path   string
	array  array
	first  int   // its first row
	offset int64 // of its first number
}

// OpenShards reads the headers of the files that match a pattern such as part-*.npy, in
// the order of their names. They must have the same number of columns, in row order, and
// must not be compressed.
func OpenShards(pattern string) (*Shards, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return nil, &Error{File: pattern, Kind: ErrRead, Detail: "no file has such a name", Advice: "check the pattern; quote it so that the shell leaves it alone"}
	}
	return openShards(paths)
}

// OpenShard is OpenShards for one file, whatever its name.
func OpenShard(path string) (*Shards, error) { return openShards([]string{path}) }

func openShards(paths []string) (*Shards, error) {
	s := &Shards{}
	for _, path := range paths {
		if err := s.open(path); err != nil {
			return nil, inFile(path, err)
		}
	}
	return s, nil
}

func (s *Shards) open(path string) error {
	if !strings.EqualFold(filepath.Ext(path), ".npy") {
		return &Error{Kind: ErrFormat, Detail: "the extension is " + filepath.Ext(path), Advice: "several files at once must be .npy files, not compressed"}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait, to read from it take what is there
		return &Error{Kind: ErrFormat, Detail: "it is not a regular file", Advice: "write the rows to a file"}
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
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
		return &Error{Kind: ErrShape, Detail: "the numbers are in column order", Advice: "save it with numpy.save(path, numpy.ascontiguousarray(x))"}
	case len(s.files) > 0 && a.cols != s.Cols:
		return &Error{Kind: ErrShape, Detail: fmt.Sprintf("it has %d columns, but %s has %d", a.cols, s.files[0].path, s.Cols), Advice: "all files must hold rows of one array"}
	case info.Size() != want:
		return &Error{Kind: ErrRead, Detail: fmt.Sprintf("it has %d bytes, but its header promises %d", info.Size(), want), Advice: "check that the file is complete"}
	}
	s.files = append(s.files, shard{path, a, s.Rows, offset})
	s.Rows, s.Cols = s.Rows+a.rows, a.cols
	return nil
}

// RowName says in which file a row is, such as "row 17 of part-3.npy".
func (s *Shards) RowName(row int) string {
	for _, one := range s.files {
		if at := row - one.first; at >= 0 && at < one.array.rows {
			return fmt.Sprintf("row %d of %s", at, one.path)
		}
	}
	return fmt.Sprintf("row %d", row)
}

// ReadShards reads the rows from from to to-1. Only the option MaxMemory has an effect.
func ReadShards[T matrix.Float](ctx context.Context, s *Shards, from, to int, opts Options) (matrix.Dense[T], error) {
	whole := array{element: s.files[0].array.element, rows: max(to-from, 0), cols: s.Cols}
	var number T
	if err := opts.allow(whole.arrayBytes(int64(unsafe.Sizeof(number)), true, false), fmt.Sprintf("an array of %d x %d numbers", whole.rows, whole.cols)); err != nil {
		return matrix.Dense[T]{}, err
	}
	rows := matrix.New[T](whole.rows, s.Cols)
	for _, one := range s.files {
		low, high := max(from, one.first), min(to, one.first+one.array.rows)
		if low >= high {
			continue
		}
		part, err := readShard[T](ctx, one, low-one.first, high-one.first)
		if err != nil {
			return matrix.Dense[T]{}, inFile(one.path, ended(ctx, err))
		}
		matrix.Copy(rows.Slice(low-from, high-from), part)
	}
	return rows, nil
}

// readShard reads some rows of one file.
func readShard[T matrix.Float](ctx context.Context, one shard, from, to int) (matrix.Dense[T], error) {
	file, err := os.Open(one.path)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	defer file.Close()
	part, row := one.array, int64(one.array.cols)*int64(one.array.size)
	part.rows = to - from
	bytes := int64(part.rows) * row
	r := io.NewSectionReader(file, one.offset+int64(from)*row, bytes)
	return readArray[T](ctxio.Reader(ctx, r), part, bytes, arrayUse{})
}
