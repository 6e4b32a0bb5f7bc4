package formats

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// WriteCSV writes the table as CSV text with a header, which ReadCSV reads back: numbers in their shortest form,
// missing values as empty fields.
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

// needsQuotes reports whether a reader would misread the unquoted field: it contains special characters, or blanks at
// an end or a byte-order mark at the start, which would be lost.
func needsQuotes(field string, delimiter byte) bool {
	return strings.IndexByte(field, delimiter) >= 0 || strings.ContainsAny(field, "\"\r\n") ||
		strings.Trim(field, " \t") != field || hasMark(field)
}

// WriteJSONLines writes each row as a JSON object on a line of its own, with the columns in order: numbers as
// numbers, other values as strings, and a missing value as null.
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
				return &sheets.Error{Row: row + 1, Column: j + 1, Name: c.Name(), Kind: sheets.ErrRange,
					Detail: "JSON has no infinity",
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
