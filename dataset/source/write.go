package source

import (
	"bufio"
	"io"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
)

// WriteCSV writes the table as CSV text with a header, which ReadCSV reads back:
// numbers in their shortest form, missing values as empty fields.
func WriteCSV(w io.Writer, t *dataset.Table) error {
	to := bufio.NewWriterSize(w, bufferSize)
	writeRow(to, t.Names())
	fields := make([]string, len(t.Columns()))
	for row := range t.Rows() {
		for j, c := range t.Columns() {
			fields[j] = c.Format(row)
		}
		writeRow(to, fields)
	}
	return to.Flush() // which returns the first error of all writes
}

func writeRow(w *bufio.Writer, fields []string) {
	for j, field := range fields {
		if j > 0 {
			w.WriteByte(',')
		}
		if needsQuotes(field) || len(fields) == 1 && field == "" { // a blank line would be skipped
			field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
		}
		w.WriteString(field)
	}
	w.WriteByte('\n')
}

// needsQuotes says whether a reader would take the field for something else: it
// holds what has a meaning, or blanks at an end, which do not count.
func needsQuotes(field string) bool {
	return strings.ContainsAny(field, ",\"\r\n") || strings.Trim(field, " \t") != field
}
