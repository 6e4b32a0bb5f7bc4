package source

import (
	"context"
	"io"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/matrix"
)

// ReadFile reads the table in a file, in the format of its extension unless the
// options name another. A folder is read as the Parquet files in it, and a pattern such as
// part-*.parquet, unless a file has that name, as those that match it.
//
// A column whose first rows are numbers may have a word further down. The file is then read a second time with all
// such columns as categorical, so that their values keep their spelling. A source that cannot be read twice, such as
// a pipe, gives an error that names the value.
func ReadFile(ctx context.Context, path string, opts Options) (*dataset.Table, error) {
	return formats.ReadFile(ctx, path, opts)
}

// Read reads a table that has no file name, such as one from standard input, in the format that the options name or
// that its first bytes suggest; it may be compressed with gzip. It returns when the context ends, even while r waits.
func Read(ctx context.Context, r io.Reader, opts Options) (*dataset.Table, error) {
	return formats.Read(ctx, r, opts)
}

// ReadCSV reads a table from CSV text. Fields may be quoted with ", and may then contain delimiters, line ends and
// doubled quotes; blanks around an unquoted field are ignored. Lines end with LF, CR LF or CR; a byte-order mark and
// blank lines are skipped, and so are lines at the end and columns without a name at the end that have no values.
//
// What the options do not say about the encoding, the delimiter and the marks in
// numbers is guessed from the start of the text; the table's Origin tells.
//
// The first 1000 rows decide the kind of a column: numeric if all values there are numbers or missing, or all but a
// few, otherwise categorical, or text if there are more than 1000 levels. If later values do not fit, that is an
// error, where ReadFile reads the file a second time with what it has learnt.
func ReadCSV(ctx context.Context, r io.Reader, opts Options) (*dataset.Table, error) {
	return formats.ReadCSV(ctx, r, opts)
}

// ReadParquet reads a table from a Parquet file. Booleans, integers, floats and decimals are numeric; strings are
// categorical, or text if there are more than 1000 levels; dates and times are text in ISO 8601; a null is a missing
// value. Columns of lists or groups must be ignored. Integers that float64 cannot represent are an error, unless the
// column is declared text. The options Delimiter and Header have no effect.
//
// Parquet needs random access: a reader without it, such as one that decompresses, is first read into memory.
func ReadParquet(ctx context.Context, r io.Reader, opts Options) (t *dataset.Table, err error) {
	return formats.ReadParquet(ctx, r, opts)
}

// ReadMatrix reads the numbers in a file: the array of a NumPy file (.npy), or one of a NumPy archive (.npz) or of a
// MATLAB file (.mat). The file may be compressed with gzip. Only the options Array and MaxMemory have an effect.
func ReadMatrix[T matrix.Float](ctx context.Context, path string, opts Options) (matrix.Dense[T], error) {
	return formats.ReadMatrix[T](ctx, path, opts)
}

// ReadNPY reads an array in NumPy's format, versions 1 to 3: floats of 2, 4 or 8 bytes, integers of 1 to 8 bytes,
// signed or not, and booleans, in either byte order, in row or column order. Only the option MaxMemory has an effect.
// A one-dimensional array becomes one column. Numbers are rounded to T; one out of T's range is an error, but NaN and
// infinity are kept.
func ReadNPY[T matrix.Float](ctx context.Context, r io.Reader, opts Options) (matrix.Dense[T], error) {
	return formats.ReadNPY[T](ctx, r, opts)
}

// ReadNPZ reads one array of an archive written by numpy.savez or savez_compressed, named by Options.Array, as
// ReadNPY does. A reader without random access is first read into memory.
func ReadNPZ[T matrix.Float](ctx context.Context, r io.Reader, opts Options) (matrix.Dense[T], error) {
	return formats.ReadNPZ[T](ctx, r, opts)
}
