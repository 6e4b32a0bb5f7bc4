package source

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// reader reads a table. notNumeric lists columns, from 0, of which an earlier
// attempt found that they are not numeric.
type reader func(r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error)

// readers holds the reader for each extension.
var readers = map[string]reader{
	".csv": readCSV, ".data": readCSV, ".txt": readCSV,
	".tsv": readTSV, ".tab": readTSV,
	".arff": func(r io.Reader, opts Options, _ []int) (*dataset.Table, error) { return ReadARFF(r, opts) },
}

func readTSV(r io.Reader, opts Options, notNumeric []int) (*dataset.Table, error) {
	opts.Delimiter = cmp.Or(opts.Delimiter, '\t')
	return readCSV(r, opts, notNumeric)
}

// ReadFile reads the table in a file, in the format that its extension says.
//
// A column whose first rows are numbers may have a word further down. Then the
// file is read again with that column as categorical, so that its values stay as
// they are spelt.
func ReadFile(path string, opts Options) (*dataset.Table, error) {
	extension := strings.ToLower(filepath.Ext(trimGzip(path)))
	read, known := readers[extension]
	if !known {
		return nil, &Error{File: path, Kind: ErrFormat, Detail: "the extension is " + extension,
			Advice: "rename the file to end in .csv, .tsv or .arff, with .gz after it if it is compressed"}
	}
	var notNumeric []int
	for {
		t, err := readOnce(path, read, opts, notNumeric)
		at := (*Error)(nil)
		if !errors.As(err, &at) {
			return t, err
		}
		at.File = path
		if !at.late {
			return nil, err
		}
		notNumeric = append(notNumeric, at.Column-1)
	}
}

func readOnce(path string, read reader, opts Options, notNumeric []int) (*dataset.Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := decompress(file)
	if err != nil {
		return nil, err
	}
	return read(text, opts, notNumeric)
}

// decompress looks at the content, because names are often wrong about it.
func decompress(file io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(file, bufferSize)
	if start, _ := buffered.Peek(2); !bytes.Equal(start, []byte("\x1f\x8b")) {
		return buffered, nil // what Peek could not read, the reader will report
	}
	text, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, &Error{Kind: ErrRead, Cause: err, Advice: "check that the file is whole"}
	}
	return text, nil
}

func trimGzip(path string) string {
	if strings.EqualFold(filepath.Ext(path), ".gz") {
		return path[:len(path)-len(".gz")]
	}
	return path
}
