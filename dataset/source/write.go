package source

import (
	"io"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/matrix"
)

// WriteFile writes the table to a file, in the format of its extension: CSV (.csv), tab-separated text (.tsv, .tab),
// JSON lines (.jsonl, .ndjson), an Excel workbook (.xlsx), Parquet (.parquet), or a NumPy array if all columns are
// numeric (.npy). With .gz after it, the file is compressed. It appears under its name only once it is complete;
// until then, any existing file stays.
func WriteFile(path string, t *dataset.Table) error { return formats.WriteFile(path, t) }

// WriteCSV writes the table as CSV text with a header, which ReadCSV reads back:
// numbers in their shortest form, missing values as empty fields. The separator of fields and the
// decimal mark are those of the table's origin, if it has one.
func WriteCSV(w io.Writer, t *dataset.Table) error { return formats.WriteCSV(w, t) }

// WriteJSONLines writes each row as a JSON object on a line of its own, with the columns in order: numbers as
// numbers, other values as strings, and a missing value as null. JSON has no infinity, so an infinite number is an
// error.
func WriteJSONLines(w io.Writer, t *dataset.Table) error { return formats.WriteJSONLines(w, t) }

// WriteParquet writes the table as a Parquet file, which ReadParquet reads back. A numeric column is int64 if all its
// values are integers and none is missing, otherwise double; other columns are strings. Missing values are nulls.
func WriteParquet(w io.Writer, t *dataset.Table) error { return formats.WriteParquet(w, t) }

// WriteMatrix writes the numbers to a NumPy file (.npy), which appears under
// its name only once it is complete. With .gz after it, the file is compressed.
func WriteMatrix[T matrix.Float](path string, m matrix.Dense[T]) error {
	return formats.WriteMatrix(path, m)
}

// WriteNPY writes the matrix in NumPy's format, which ReadNPY and numpy.load read.
func WriteNPY[T matrix.Float](w io.Writer, m matrix.Dense[T]) error { return formats.WriteNPY(w, m) }
