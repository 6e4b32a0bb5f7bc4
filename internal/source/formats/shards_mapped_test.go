//go:build unix

package formats_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/source/formats"
	"github.com/nextbatch/nextbatch/matrix"
)

// TestMapShards maps files of either precision, and several at once: what is mapped equals
// what is read.
func TestMapShards(t *testing.T) {
	dir := t.TempDir()
	rows := matrix.New[float64](9000, 3)
	for i := range rows.Data {
		rows.Data[i] = float64(i) / 7
	}
	write := func(name string, put func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		path := filepath.Join(dir, name)
		if err := put(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	double := write("double.npy", func(b *bytes.Buffer) error { return source.WriteNPY(b, rows) })
	single := write("single.npy", func(b *bytes.Buffer) error {
		return source.WriteNPY(b,
			matrix.Converted[float32](rows))
	})
	write("part-0.npy", func(b *bytes.Buffer) error { return source.WriteNPY(b, rows.Slice(0, 8500)) })
	write("part-1.npy", func(b *bytes.Buffer) error { return source.WriteNPY(b, rows.Slice(8500, 9000)) })
	for _, pattern := range []string{double, single, filepath.Join(dir, "part-*.npy")} {
		shards, err := formats.OpenShards(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if shards.InSingle() != (pattern == single) {
			t.Errorf("%s: InSingle is %v", pattern, shards.InSingle())
		}
		mapsAsRead[float32](t, shards, pattern)
		mapsAsRead[float64](t, shards, pattern)
	}
}

func mapsAsRead[T matrix.Float](t *testing.T, shards *formats.Shards, name string) {
	t.Helper()
	temp := t.TempDir()
	want, err := formats.ReadShards[T](t.Context(), shards, 0, shards.Rows, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := formats.MapShards[T](t.Context(), shards, temp)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if !slices.Equal(got.Rows.Data, want.Data) {
		t.Errorf("%s: other numbers than those that are read", name)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%s: files are left: %v, %v", name, left, err)
	}
}

// TestWriteMatrixRows compares a file that is written in blocks with one that is not.
func TestWriteMatrixRows(t *testing.T) {
	path, rows := filepath.Join(t.TempDir(), "x.npy"), matrix.New[float32](50, 3)
	for i := range rows.Data {
		rows.Data[i] = float32(i)
	}
	err := formats.WriteMatrixRows(path, rows.Rows, func(file *formats.NPYRows) error {
		if err := file.Write(rows.Slice(0, 20)); err != nil {
			return err
		}
		return file.Write(rows.Slice(20, 50))
	})
	var want bytes.Buffer
	got, failed := os.ReadFile(path)
	if err != nil || failed != nil || source.WriteNPY(&want, rows) != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%v, %v, or another file", err, failed)
	}
}
