package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// reader reads a table. notNumeric lists the columns, from 0, that an earlier
// pass found not to be numeric.
type reader func(ctx context.Context, r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error)

// readers holds the reader by extension.
var readers = map[string]reader{
	".csv": readCSV, ".data": readCSV, ".dat": readCSV, ".txt": readCSV,
	".tsv": readTSV, ".tab": readTSV,
	".xlsx": readXLSX, ".xlsm": readXLSX,
	".jsonl": readJSONLines, ".ndjson": readJSONLines,
	".arff": typed(ReadARFF), ".parquet": typed(ReadParquet),
	".npy": typed(ReadNPYTable), ".npz": typed(ReadNPZTable), ".mat": typed(ReadMATTable),
}

// formatName names the formats that can be recognised by their first bytes.
var formatName = map[string]string{
	".parquet": "a Parquet file", ".xlsx": "an Excel workbook", ".npy": "a NumPy array", ".npz": "a NumPy archive",
	".mat": "a MATLAB file", ".arff": "an ARFF file", ".jsonl": "JSON lines",
}

// typed is for formats that declare the kinds of their columns.
func typed(read func(context.Context, io.Reader, Options) (*dataset.Table, error)) reader {
	return func(ctx context.Context, r io.Reader, opts Options, _ []int) (*dataset.Table, error) {
		return read(ctx, r, opts)
	}
}

// CheckFormat rejects a name that Options.Format cannot have.
func CheckFormat(name string) error {
	if _, known := readers["."+strings.ToLower(name)]; known || name == "" {
		return nil
	}
	return &Error{Kind: ErrFormat, Detail: fmt.Sprintf("there is no format %q", name),
		Advice: "formats are csv, tsv, jsonl, xlsx, parquet, arff, npy, npz and mat"}
}

// readerFor returns the reader that the options name, or else the one for the
// extension.
func readerFor(extension string, opts Options) (reader, error) {
	if opts.Format != "" {
		return readers["."+strings.ToLower(opts.Format)], CheckFormat(opts.Format)
	}
	if read, known := readers[extension]; known {
		return read, nil
	}
	e := &Error{Kind: ErrFormat, Detail: "the extension is " + extension, Advice: hints[extension]}
	if extension == "" {
		e.Detail = "the name has no extension"
	}
	if e.Advice == "" {
		e.Advice = "say which it is, such as --format csv; formats are csv, tsv, jsonl, xlsx, parquet, arff, npy, npz and mat"
	}
	return nil, e
}

// hints lists what to do with files that others write and that nextbatch does
// not read.
var hints = map[string]string{
	".xls":  "open it in Excel or LibreOffice, and save it as .xlsx or .csv",
	".xlsb": "open it in Excel, and save it as .xlsx or .csv",
	".ods":  "open it in LibreOffice, and save it as .xlsx or .csv", ".numbers": "export it from Numbers as .xlsx or .csv",
	".json":    `write one object per line and name the file .jsonl; in pandas, df.to_json("t.jsonl", orient="records", lines=True)`,
	".feather": pandasHint("read_feather"), ".arrow": pandasHint("read_feather"), ".orc": pandasHint("read_orc"),
	".pkl": pandasHint("read_pickle"), ".pickle": pandasHint("read_pickle"),
	".h5": pandasHint("read_hdf"), ".hdf": pandasHint("read_hdf"), ".hdf5": pandasHint("read_hdf"),
	".dta":      "in Stata, write it with: export delimited t.csv; or " + pandasHint("read_stata"),
	".sav":      "in SPSS, save it as .csv; or " + pandasHint("read_spss"),
	".sas7bdat": "in SAS, write it with PROC EXPORT as .csv; or " + pandasHint("read_sas"), ".xpt": pandasHint("read_sas"),
	".rds": rHint, ".rdata": rHint, ".rda": rHint,
	".db": sqlHint, ".sqlite": sqlHint, ".sqlite3": sqlHint,
	".zip": "unpack it, and give the file inside", ".7z": "unpack it, and give the file inside",
	".tar": "unpack it, and give the file inside",
	".bz2": packHint, ".xz": packHint, ".zst": packHint, ".lz4": packHint,
}

func pandasHint(read string) string {
	return fmt.Sprintf(`in Python, write it with pandas.%s("t").to_parquet("t.parquet")`, read)
}

const (
	rHint    = `in R, write it with write.csv(x, "t.csv", row.names = FALSE)`
	sqlHint  = `write the table with sqlite3 -header -csv FILE "select * from TABLE" > t.csv`
	packHint = "decompress it, or compress it with gzip"
)

const oleMagic = "\xd0\xcf\x11\xe0"

// sniff returns the extension that fits the first bytes of a file, or "" where
// they may be any text.
func sniff(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte("PAR1")):
		return ".parquet"
	case bytes.HasPrefix(start, []byte("\x93NUMPY")):
		return ".npy"
	case bytes.HasPrefix(start, []byte("MATLAB 5.0")):
		return ".mat"
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		if name := firstEntry(start); strings.HasSuffix(name, ".npy") {
			return ".npz"
		}
		return ".xlsx"
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return ".jsonl"
	case len(text) >= 9 && bytes.EqualFold(text[:9], []byte("@relation")), bytes.HasPrefix(text, []byte("%")):
		return ".arff"
	}
	return ""
}

// firstEntry returns the name in the header at the start of a zip archive.
func firstEntry(start []byte) string {
	const header, length = 30, 26
	if len(start) < header {
		return ""
	}
	n := int(start[length]) | int(start[length+1])<<8
	return string(start[header:min(header+n, len(start))])
}
