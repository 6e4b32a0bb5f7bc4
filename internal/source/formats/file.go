package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/ctxio"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// ReadFile reads the table in a file, in the format of its extension unless the options name another.
func ReadFile(ctx context.Context, path string, opts sheets.Options) (*dataset.Table, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if paths, _ := filepath.Glob(path); len(paths) > 0 {
			return readParts(ctx, path, paths, opts)
		}
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return readFolder(ctx, path, opts)
	}
	read, err := readerFor(extensionOf(path), opts)
	if err != nil {
		return nil, inFile(path, err)
	}
	before := opts.Overflow.Mark()
	t, err := readOnce(ctx, path, read, opts, nil)
	if late := sheets.LateColumns(err); late != nil && isRegular(path) {
		if err := opts.Overflow.CutTo(before); err != nil {
			return nil, err
		}
		t, err = readOnce(ctx, path, read, opts, late)
	}
	// beyond what was guessed from
	if errors.Is(err, sheets.ErrEncoding) && opts.Encoding == "" && isDelimited(path, opts) && isRegular(path) {
		opts.Encoding = "windows-1252"
		if again, err := ReadFile(ctx, path, opts); err == nil {
			return withEncoding(again, opts.Encoding), nil
		}
	}
	return t, inFile(path, ended(ctx, once(err, opts)))
}

// isDelimited reports whether a file is a text of separated fields.
func isDelimited(path string, opts sheets.Options) bool {
	format := extensionOf(path)
	if opts.Format != "" {
		format = "." + strings.ToLower(opts.Format)
	}
	return slices.Contains([]string{".csv", ".data", ".dat", ".txt", ".tsv", ".tab"}, format)
}

// withEncoding notes an encoding that was found out late.
func withEncoding(t *dataset.Table, encoding string) *dataset.Table {
	o := t.Origin()
	o.Notes = append([]string{"the encoding is " + encoding}, o.Notes...)
	t.SetOrigin(o)
	return t
}

// Read reads a table that has no file name, such as one from standard input, in the format that the options name or
// that its first bytes suggest; it may be compressed with gzip.
func Read(ctx context.Context, r io.Reader, opts sheets.Options) (*dataset.Table, error) {
	content, err := decompress(ctxio.Detached(ctx, r))
	if err != nil {
		return nil, ended(ctx, err)
	}
	start := bufio.NewReaderSize(content, bufferSize)
	if opts.Format == "" {
		first, _ := start.Peek(sniffBytes) // the reader will report what Peek could not read
		opts.Format = strings.TrimPrefix(cmp.Or(sniff(first), delimited(first)), ".")
	}
	read, err := readerFor("", opts)
	if err != nil {
		return nil, err
	}
	t, err := read(ctx, start, opts, nil)
	return t, ended(ctx, once(err, opts))
}

// sniffBytes suffice to detect a format.
const sniffBytes = 4096

// delimited distinguishes text with tabs from text with commas, by its first line.
func delimited(start []byte) string {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	if bytes.IndexByte(line, '\t') >= 0 && bytes.IndexByte(line, ',') < 0 {
		return ".tsv"
	}
	return ".csv"
}

// once ends the advice of an error, which is about a source that cannot be read a second time where a column is not
// numeric: it says how the first time would suffice.
func once(err error, opts sheets.Options) error {
	if at := (*sheets.Error)(nil); errors.As(err, &at) && sheets.LateColumns(err) != nil {
		at.Hints = append(at.Hints, options.Hint{Option: "Kinds", Value: []string{at.Name},
			Before: "; if the column holds words, give ", After: ", because this source cannot be read twice"})
	}
	return sheets.Worded(err, opts)
}

// isRegular reports whether a file can be read a second time.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func readOnce(ctx context.Context, path string, read tableReader, opts sheets.Options,
	notNumeric []int) (*dataset.Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	defer release(ctx, file)()
	content, err := open(file)
	if err != nil {
		return nil, err
	}
	return read(ctx, content, opts, notNumeric)
}

// ReadMatrix reads the numbers in a file: the array of a NumPy file (.npy), or one of a NumPy archive (.npz) or of a
// MATLAB file (.mat).
func ReadMatrix[T matrix.Float](ctx context.Context, path string, opts sheets.Options) (matrix.Dense[T], error) {
	read, err := matrixReader[T](path)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return matrix.Dense[T]{}, err
	}
	defer file.Close()
	defer release(ctx, file)()
	content, err := open(file)
	if err != nil {
		return matrix.Dense[T]{}, inFile(path, ended(ctx, err))
	}
	m, err := read(ctx, content, opts)
	return m, inFile(path, err)
}

// matrixReader returns the reader for the file's extension.
func matrixReader[T matrix.Float](path string) (func(context.Context, io.Reader,
	sheets.Options) (matrix.Dense[T], error), error) {
	switch extension := extensionOf(path); extension {
	case ".npy":
		return ReadNPY[T], nil
	case ".npz":
		return ReadNPZ[T], nil
	case ".mat":
		return ReadMAT[T], nil
	default:
		return nil, &sheets.Error{File: path, Kind: sheets.ErrFormat, Detail: "the extension is " + extension,
			Advice: "give a file that ends in .npy, .npz or .mat"}
	}
}
