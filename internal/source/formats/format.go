package formats

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/options"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// tableReader reads a table. notNumeric lists the columns, from 0, that an earlier pass found not to be numeric.
type tableReader func(ctx context.Context, r io.Reader, opts sheets.Options, notNumeric []int) (*dataset.Table, error)

// readers holds the reader by extension.
var readers = map[string]tableReader{
	".csv": readCSV, ".data": readCSV, ".dat": readCSV, ".txt": readCSV,
	".tsv": readTSV, ".tab": readTSV,
	".xlsx": readXLSX, ".xlsm": readXLSX,
	".jsonl": readJSONLines, ".ndjson": readJSONLines,
	".arff": typed(ReadARFF), ".parquet": typed(ReadParquet),
	".npy": typed(ReadNPYTable), ".npz": typed(ReadNPZTable), ".mat": typed(ReadMATTable),
}

// typed is for formats that declare the kinds of their columns.
func typed(read func(context.Context, io.Reader, sheets.Options) (*dataset.Table, error)) tableReader {
	return func(ctx context.Context, r io.Reader, opts sheets.Options, _ []int) (*dataset.Table, error) {
		return read(ctx, r, opts)
	}
}

// CheckFormat rejects a name that Options.Format cannot have.
func CheckFormat(name string) error {
	if _, known := readers["."+strings.ToLower(name)]; known || name == "" {
		return nil
	}
	return &sheets.Error{Kind: sheets.ErrFormat, Detail: fmt.Sprintf("there is no format %q", name),
		Advice: formatNames}
}

const formatNames = "formats are csv, tsv, jsonl, xlsx, parquet, arff, npy, npz and mat"

// readerFor returns the reader that the options name, or else the one for the extension.
func readerFor(extension string, opts sheets.Options) (tableReader, error) {
	if opts.Format != "" {
		return readers["."+strings.ToLower(opts.Format)], CheckFormat(opts.Format)
	}
	if read, known := readers[extension]; known {
		return read, nil
	}
	e := &sheets.Error{Kind: sheets.ErrFormat, Detail: "the extension is " + extension, Advice: hints[extension]}
	if extension == "" {
		e.Detail = "the name has no extension"
	}
	if e.Advice == "" {
		e.Hints = []options.Hint{{Before: "say which it is, such as ", Option: "Format", Value: []string{"csv"},
			After: "; " + formatNames, Otherwise: formatNames}}
	}
	return nil, sheets.Worded(e, opts)
}
