package formats

import (
	"compress/gzip"
	"io"
	"path/filepath"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// writers holds the writer by extension.
var writers = map[string]func(io.Writer, *dataset.Table) error{
	".csv": WriteCSV, ".tsv": writeTSV, ".tab": writeTSV,
	".jsonl": WriteJSONLines, ".ndjson": WriteJSONLines,
	".parquet": WriteParquet, ".xlsx": writeWorkbook,
	".npy": writeNPYTable,
}

// WriteFile writes the table to a file, in the format of its extension: CSV (.csv), tab-separated text (.tsv, .tab),
// JSON lines (.jsonl, .ndjson), an Excel workbook (.xlsx), Parquet (.parquet), or a NumPy array if all columns are
// numeric (.npy).
func WriteFile(path string, t *dataset.Table) error {
	write, err := writerFor(path)
	if err != nil {
		return err
	}
	return writeWhole(path, func(w io.Writer) error { return write(w, t) })
}

// WriteStyled writes the table to a file as text with the delimiter, the line ends, the byte-order mark and the
// unnamed columns of the style, in UTF-8.
func WriteStyled(path string, t *dataset.Table, s dataset.Style) error {
	if s.Delimiter == 0 {
		s.Delimiter = ','
		if extension := extensionOf(path); extension == ".tsv" || extension == ".tab" {
			s.Delimiter = '\t'
		}
	}
	return writeWhole(path, func(w io.Writer) error { return writeText(w, t, s) })
}

func writerFor(path string) (func(io.Writer, *dataset.Table) error, error) {
	extension := extensionOf(path)
	write, known := writers[extension]
	if !known {
		return nil, &sheets.Error{File: path, Kind: sheets.ErrFormat, Detail: "the extension is " + extension,
			Advice: "choose a name that ends in .csv, .tsv, .xlsx, .jsonl, .parquet or .npy, with .gz after it to compress"}
	}
	return write, nil
}

// WriteMatrix writes the numbers to a NumPy file (.npy), which appears under
// its name only once it is complete. With .gz after it, the file is compressed.
func WriteMatrix[T matrix.Float](path string, m matrix.Dense[T]) error {
	return writeArray(path, func(w io.Writer) error { return WriteNPY(w, m) })
}

// WriteMatrixRows is WriteMatrix for a matrix of the given number of rows that the function writes block by block.
func WriteMatrixRows(path string, rows int, write func(*NPYRows) error) error {
	return writeArray(path, func(w io.Writer) error { return write(&NPYRows{w: w, rows: rows}) })
}

func writeArray(path string, write func(io.Writer) error) error {
	if extension := extensionOf(path); extension != ".npy" {
		return &sheets.Error{File: path, Kind: sheets.ErrFormat, Detail: "the extension is " + extension,
			Advice: "choose a name that ends in .npy"}
	}
	return writeWhole(path, write)
}

// writeWhole compresses the file if its name ends in .gz.
func writeWhole(path string, write func(io.Writer) error) error {
	err := atomicfile.Write(path, func(w io.Writer) error {
		if !strings.EqualFold(filepath.Ext(path), ".gz") {
			return write(w)
		}
		z := gzip.NewWriter(w)
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	})
	return inFile(path, err)
}

// WriteToFill is WriteFile for a table in which people fill in the columns of labels: in a workbook, these are
// coloured.
func WriteToFill(path string, t *dataset.Table, labels ...string) error {
	if extensionOf(path) != ".xlsx" {
		return WriteFile(path, t)
	}
	return writeWhole(path, func(w io.Writer) error { return WriteXLSX(w, t, labels...) })
}
