package cli

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nextbatch/nextbatch/fitted"
)

// checkOutput rejects an output file that cannot be written, before any work is done.
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
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err // the name is that of the probe
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errorf("%s %s cannot be written: there is no folder %s; create it first", flag, path, filepath.Dir(path))
	}
	if err != nil {
		return errorf("%s %s cannot be written: %w", flag, path, err)
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}

// flagged is a file, and the flag (or argument) that names it.
type flagged struct{ flag, path string }

// checkDistinct rejects an output that is also an input or another output: one
// would overwrite the other.
func checkDistinct(inputs, outputs []flagged) error {
	for i, out := range outputs {
		for _, other := range slices.Concat(inputs, outputs[:i]) {
			if out.path != "" && other.path != "" && sameFile(out.path, other.path) {
				return usagef("%s and %s name the same file, %s; write to another one", other.flag, out.flag, out.path)
			}
		}
	}
	return nil
}

// sameFile reports whether two names denote one regular file, which may not
// exist yet. Devices and pipes may be named twice.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	if errX == nil || errY == nil {
		return false
	}
	x, errX = os.Stat(filepath.Dir(a))
	y, errY = os.Stat(filepath.Dir(b))
	return errX == nil && errY == nil && os.SameFile(x, y) && filepath.Base(a) == filepath.Base(b)
}

// tableExtensions are the extensions of files that can hold a batch; .gz may follow.
func tableExtensions() []string {
	return []string{".csv", ".tsv", ".xlsx", ".jsonl", ".ndjson", ".parquet"}
}

// isTableFile reports whether a file in a folder has one of these extensions, perhaps followed by .gz. Excel leaves a
// file that begins with ~$ beside a workbook that is open.
func isTableFile(path string) bool {
	return !strings.HasPrefix(path, "~$") && slices.ContainsFunc(tableExtensions(),
		func(e string) bool { return strings.HasSuffix(strings.TrimSuffix(path, ".gz"), e) })
}

// number is a float64 that JSON can hold.
type number = fitted.Float

// printJSON prints one object.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
