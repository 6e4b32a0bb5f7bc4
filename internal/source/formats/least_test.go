package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

// TestLeastBytes: a glance at a file promises no more than the table takes, and not much less.
func TestLeastBytes(t *testing.T) {
	parts := writeParts(t)
	all, err := ReadFile(t.Context(), parts, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.parquet"} {
		if err := WriteFile(filepath.Join(dir, name), all); err != nil {
			t.Fatal(err)
		}
	}
	for path, least := range map[string]int64{
		parts: 3, filepath.Join(parts, "part-*.parquet"): 3, filepath.Join(dir, "t.parquet"): 3,
		filepath.Join(dir, "t.csv"): 6, filepath.Join(dir, "t.tsv"): 6, filepath.Join(dir, "t.jsonl"): 6,
		filepath.Join(dir, "t.csv.gz"): 60,
	} {
		for _, opts := range []sheets.Options{{}, {Ignore: []string{"x", "id"}},
			{Kinds: map[string]dataset.Kind{"count": dataset.KindText}}} {
			table, err := ReadFile(t.Context(), path, opts)
			if err != nil {
				t.Fatal(err)
			}
			if got, whole := LeastBytes(t.Context(), path, opts), table.Bytes(); got > whole || got < whole/least {
				t.Errorf("%s, %v: at least %d bytes, but it takes %d", path, opts, got, whole)
			}
		}
	}
}

// TestLeastBytesOfLevels: long words, of which a row has only the number, promise little.
func TestLeastBytesOfLevels(t *testing.T) {
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "%s %d,%d\n", strings.Repeat("word ", 20), i%900, i%2)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := LeastBytes(t.Context(), path, sheets.Options{}); got < 50_000 || got > 8*50_000 {
		t.Errorf("at least %d bytes", got)
	}
}

// TestNoGlance: files that cannot be read, and small ones, promise nothing.
func TestNoGlance(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"small.csv": "a,b\n1,2\n", "binary.csv": strings.Repeat("\x00", 2*glance), "line.csv": strings.Repeat("1,", glance),
		"cut.parquet": "PAR1", "t.npy": "NUMPY", "t.xlsx": "PK", "t": "a",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LeastBytes(t.Context(), path, sheets.Options{}); got != 0 {
			t.Errorf("%s: at least %d bytes", name, got)
		}
	}
	for _, name := range []string{filepath.Join(dir, "absent.csv"), dir, os.DevNull} {
		if got := LeastBytes(t.Context(), name, sheets.Options{Format: "csv"}); got != 0 {
			t.Errorf("%s: at least %d bytes", name, got)
		}
	}
}
