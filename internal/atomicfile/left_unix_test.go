//go:build unix

package atomicfile_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nextbatch/nextbatch/internal/atomicfile"
)

// TestWriteRemovesWhatWasLeft: the next Write removes temporary files of the same path, but none
// that is young and empty, of another path, or being written.
func TestWriteRemovesWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.npy")
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{".x.npy.1.tmp", ".x.npy.old.tmp", ".y.npy.1.tmp", ".x.npy.2",
		".x.npy.3.tmp", ".x.npy.4.tmp"} {
		contents := []byte("part of a file")
		if name == ".x.npy.1.tmp" || name == ".x.npy.3.tmp" {
			contents = nil
		}
		if err := os.WriteFile(filepath.Join(dir, name), contents, 0o600); err != nil {
			t.Fatal(err)
		}
		if name != ".x.npy.3.tmp" && name != ".x.npy.4.tmp" {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	beside := func(w io.Writer) error { // the outer file, which looks old, is in use
		names, err := filepath.Glob(filepath.Join(dir, ".x.npy.*.tmp"))
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, ".x.npy.3.tmp")); err != nil {
			t.Errorf("a young file is gone: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, ".x.npy.4.tmp")); err == nil {
			t.Error("what another process had written is still there")
		}
		for _, name := range names {
			if err := os.Chtimes(name, long, long); err != nil {
				return err
			}
		}
		return atomicfile.Write(path, text("inner"))
	}
	if err := atomicfile.Write(path, beside); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".x.npy.2", ".x.npy.old.tmp", ".y.npy.1.tmp", "x.npy"}; err != nil || len(left) != len(want) {
		t.Errorf("%v, %v; want %v", left, err, want)
	}
}
