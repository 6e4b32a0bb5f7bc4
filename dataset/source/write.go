package source

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/atomicfile"
	"github.com/nextbatch/nextbatch/matrix"
)

// writers holds the writer by extension.
var writers = map[string]func(io.Writer, *dataset.Table) error{
	".csv": WriteCSV, ".tsv": writeTSV, ".tab": writeTSV,
	".jsonl": WriteJSONLines, ".ndjson": WriteJSONLines,
	".parquet": WriteParquet, ".xlsx": writeWorkbook,
	".npy": writeNPYTable,
}

// WriteFile writes the table to a file, in the format of its extension: CSV
// (.csv), tab-separated text (.tsv, .tab), JSON lines (.jsonl, .ndjson),
// an Excel workbook (.xlsx), Parquet (.parquet), or a NumPy array if all columns are
// numeric (.npy). With .gz after it, the file is compressed. It appears under its name only once it
// is complete; until then, any existing file stays.
func WriteFile(path string, t *dataset.Table) error {
	write, err := writerFor(path)
	if err != nil {
		return err
	}
	return writeWhole(path, func(w io.Writer) error { return write(w, t) })
}

// WriteStyled writes the table to a file as text with the delimiter, the line ends, the
// byte-order mark and the unnamed columns of the style, in UTF-8. Without a delimiter, it
// is that of the file's extension.
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
		return nil, &Error{File: path, Kind: ErrFormat, Detail: "the extension is " + extension,
			Advice: "choose a name that ends in .csv, .tsv, .xlsx, .jsonl, .parquet or .npy, with .gz after it to compress"}
	}
	return write, nil
}

// WriteMatrix writes the numbers to a NumPy file (.npy), which appears under
// its name only once it is complete. With .gz after it, the file is compressed.
func WriteMatrix[T matrix.Float](path string, m matrix.Dense[T]) error {
	return writeArray(path, func(w io.Writer) error { return WriteNPY(w, m) })
}

// WriteMatrixRows is WriteMatrix for a matrix of the given number of rows that the function writes
// block by block.
func WriteMatrixRows(path string, rows int, write func(*NPYRows) error) error {
	return writeArray(path, func(w io.Writer) error { return write(&NPYRows{w: w, rows: rows}) })
}

func writeArray(path string, write func(io.Writer) error) error {
	if extension := extensionOf(path); extension != ".npy" {
		return &Error{File: path, Kind: ErrFormat, Detail: "the extension is " + extension,
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

// WriteCSV writes the table as CSV text with a header, which ReadCSV reads back:
// numbers in their shortest form, missing values as empty fields. The separator of fields and the
// decimal mark are those of the table's origin, if it has one.
func WriteCSV(w io.Writer, t *dataset.Table) error {
	own := t.Origin()
	s := dataset.Style{Delimiter: ',', Decimal: own.Decimal, Mark: own.Mark, Encoding: own.Encoding}
	if own.Delimiter == ';' || own.Delimiter == '|' {
		s.Delimiter = own.Delimiter
	}
	return writeText(w, t, s)
}

func writeTSV(w io.Writer, t *dataset.Table) error {
	return writeText(w, t, dataset.Style{Delimiter: '\t', Decimal: t.Origin().Decimal, Mark: t.Origin().Mark,
		Encoding: t.Origin().Encoding})
}

func writeText(w io.Writer, t *dataset.Table, s dataset.Style) error {
	to := bufio.NewWriterSize(w, bufferSize)
	// so that Excel, which wrote the table, sees that this is UTF-8
	if s.Mark || s.Encoding != "" && s.Encoding != "utf-8" {
		to.WriteString(marks[0].bytes)
	}
	writeRow(to, headerOf(t, s), s)
	if s.Units != nil {
		writeRow(to, s.Units, s)
	}
	fields := make([]string, len(t.Columns()))
	for row := range t.Rows() {
		for j, c := range t.Columns() {
			fields[j] = c.Format(row)
			if s.Decimal == ',' && c.Kind() == dataset.KindNumeric {
				fields[j] = strings.Replace(fields[j], ".", ",", 1)
			}
		}
		writeRow(to, fields, s)
	}
	return to.Flush() // which returns the first error of all writes
}

// headerOf returns the names of the columns: one whose name the reader made up has none.
func headerOf(t *dataset.Table, s dataset.Style) []string {
	header := t.Names()
	for _, j := range s.Unnamed {
		if j < len(header) && header[j] == "column"+strconv.Itoa(j) {
			header[j] = ""
		}
	}
	return header
}

func writeRow(w *bufio.Writer, fields []string, s dataset.Style) {
	empty := !slices.ContainsFunc(fields, func(field string) bool { return field != "" })
	for j, field := range fields {
		if j > 0 {
			w.WriteByte(s.Delimiter)
		}
		if needsQuotes(field, s.Delimiter) || empty && j == 0 { // a line without values could be skipped
			field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
		}
		w.WriteString(field)
	}
	if s.CRLF {
		w.WriteByte('\r')
	}
	w.WriteByte('\n')
}

// needsQuotes reports whether a reader would misread the unquoted field: it
// contains special characters, or blanks at an end or a byte-order mark at the start, which
// would be lost.
func needsQuotes(field string, delimiter byte) bool {
	return strings.IndexByte(field, delimiter) >= 0 || strings.ContainsAny(field, "\"\r\n") ||
		strings.Trim(field, " \t") != field || hasMark(field)
}

// WriteJSONLines writes each row as a JSON object on a line of its own, with
// the columns in order: numbers as numbers, other values as strings, and a
// missing value as null. JSON has no infinity, so an infinite number is an
// error.
func WriteJSONLines(w io.Writer, t *dataset.Table) error {
	to := bufio.NewWriterSize(w, bufferSize)
	keys := make([][]byte, len(t.Columns()))
	for j, name := range t.Names() {
		keys[j] = append(appendJSON(nil, name), ':')
	}
	var line []byte
	for row := range t.Rows() {
		line = append(line[:0], '{')
		for j, c := range t.Columns() {
			if j > 0 {
				line = append(line, ',')
			}
			line = append(line, keys[j]...)
			var ok bool
			if line, ok = appendJSONValue(line, c, row); !ok {
				return &Error{Row: row + 1, Column: j + 1, Name: c.Name(), Kind: ErrRange, Detail: "JSON has no infinity",
					Advice: "write CSV or Parquet"}
			}
		}
		line = append(line, '}', '\n')
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
	return to.Flush()
}

func appendJSONValue(dst []byte, c dataset.Column, row int) (to []byte, ok bool) {
	if c.Missing(row) {
		return append(dst, "null"...), true
	}
	if numbers, ok := c.(*dataset.Numeric); ok {
		v := numbers.Float(row)
		return strconv.AppendFloat(dst, v, 'g', -1, 64), !math.IsInf(v, 0)
	}
	return appendJSON(dst, c.Format(row)), true
}

func appendJSON(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can always be marshalled
	}
	return append(dst, quoted...)
}

// writeNPYTable writes the columns, all of which must be numeric.
func writeNPYTable(w io.Writer, t *dataset.Table) error {
	m := matrix.New[float64](t.Rows(), len(t.Columns()))
	for j, c := range t.Columns() {
		numbers, ok := c.(*dataset.Numeric)
		if !ok {
			return &Error{Column: j + 1, Name: c.Name(), Kind: ErrNumber, Detail: "the column is " + c.Kind().String(),
				Advice: "leave it out, or write CSV or Parquet"}
		}
		for row := range t.Rows() {
			m.Set(row, j, numbers.Float(row))
		}
	}
	return WriteNPY(w, m)
}
