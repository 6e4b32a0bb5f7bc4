package cli

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// checkOutput refuses a file that cannot be written before any work is done.
func checkOutput(flag, path string, extensions ...string) error {
	if path == "" {
		return nil
	}
	extension := strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz")))
	known := false
	for _, e := range extensions {
		known = known || e == extension
	}
	if len(extensions) > 0 && !known {
		return usagef("%s %s: the name must end in %s", flag, path, strings.Join(extensions, ", "))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s %s is a directory", flag, path)
	} else if err == nil && !info.Mode().IsRegular() {
		return nil // a pipe or the like
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".nextbatch-*.tmp")
	if err != nil {
		return errorf("%s %s cannot be written: %w", flag, path, err)
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// tableExtensions are those of files that can hold a batch; .gz may follow.
func tableExtensions() []string { return []string{".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"} }

// number is a float64 that JSON can hold: null where it is not finite.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// printJSON prints one object.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
