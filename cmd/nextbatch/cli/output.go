package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
)

// tableWriters write a table in the format of an extension.
var tableWriters = map[string]func(io.Writer, *dataset.Table) error{
	".csv":     source.WriteCSV,
	".jsonl":   writeJSONLines,
	".ndjson":  writeJSONLines,
	".parquet": source.WriteParquet,
}

// checkOutput refuses a file that cannot be written before any work is done.
func checkOutput(flag, path string, extensions ...string) error {
	if path == "" {
		return nil
	}
	extension := strings.ToLower(filepath.Ext(path))
	known := false
	for _, e := range extensions {
		known = known || e == extension
	}
	if len(extensions) > 0 && !known {
		return usagef("%s %s: the name must end in %s", flag, path, strings.Join(extensions, ", "))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s %s is a directory", flag, path)
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".nextbatch-*.tmp")
	if err != nil {
		return errorf("%s %s cannot be written: %w", flag, path, err)
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// tableExtensions are those that writeTable knows.
func tableExtensions() []string { return []string{".csv", ".jsonl", ".ndjson", ".parquet"} }

// writeTable writes a table in the format that the file's name says.
func writeTable(path string, t *dataset.Table) error {
	write := tableWriters[strings.ToLower(filepath.Ext(path))]
	return writeFile(path, func(w io.Writer) error { return write(w, t) })
}

// writeFile writes to a temporary file beside path, which takes its name only
// when it is complete.
func writeFile(path string, write func(io.Writer) error) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".nextbatch-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = temporary.Close()
			_ = os.Remove(temporary.Name())
			err = errorf("%s: %w", path, err)
		}
	}()
	buffered := bufio.NewWriterSize(temporary, 1<<16)
	if err = write(buffered); err != nil {
		return err
	}
	if err = buffered.Flush(); err != nil {
		return err
	}
	if err = temporary.Chmod(0o644); err != nil {
		return err
	}
	if err = temporary.Sync(); err != nil {
		return err
	}
	if err = temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// number is a float64 that JSON can hold: null where it is not finite.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// writeJSONLines writes one object for each row; a missing value is null.
func writeJSONLines(w io.Writer, t *dataset.Table) error {
	for row := range t.Rows() {
		line := []byte{'{'}
		for j, c := range t.Columns() {
			if j > 0 {
				line = append(line, ',')
			}
			name, err := json.Marshal(c.Name())
			if err != nil {
				return err
			}
			var value any = c.Format(row)
			if n, ok := c.(*dataset.Numeric); ok {
				value = number(n.Float(row))
			} else if c.Missing(row) {
				value = nil
			}
			text, err := json.Marshal(value)
			if err != nil {
				return err
			}
			line = append(append(append(line, name...), ':'), text...)
		}
		if _, err := w.Write(append(line, '}', '\n')); err != nil {
			return err
		}
	}
	return nil
}

// printJSON prints one object.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
