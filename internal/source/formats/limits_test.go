package formats

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
	"github.com/nextbatch/nextbatch/matrix"
)

// sameTable writes a table in every format that tables are read from, and
// returns the paths.
func sameTable(t *testing.T, rows, cols int) []string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	m := matrix.New[float64](rows, cols)
	for i := range m.Data {
		m.Data[i] = random.Float64()
	}
	columns := make([]dataset.Column, cols)
	var arff strings.Builder
	for j := range columns {
		c := dataset.NewNumeric("c" + string(rune('a'+j)))
		for i := range rows {
			c.Append(m.At(i, j))
		}
		columns[j] = c
		arff.WriteString("@attribute " + c.Name() + " real\n")
	}
	table, err := dataset.NewTable(columns...)
	if err != nil {
		t.Fatal(err)
	}
	var csv, npy, parquet, lines bytes.Buffer
	if err := errors.Join(WriteCSV(&csv, table), WriteNPY(&npy, m), WriteParquet(&parquet, table),
		WriteJSONLines(&lines, table)); err != nil {
		t.Fatal(err)
	}
	mat := matFile(binary.LittleEndian, variable{name: "x", class: mxDOUBLE, shape: []int32{int32(rows), int32(cols)},
		kind: 9, numbers: m.Data})
	_, body, _ := strings.Cut(csv.String(), "\n")
	files := map[string][]byte{
		"t.csv": csv.Bytes(), "t.npy": npy.Bytes(), "t.npz": npzFile(t, zipped{"x.npy", zip.Deflate, npy.Bytes()}),
		"t.parquet": parquet.Bytes(),
		"t.arff":    []byte(arff.String() + "@data\n" + body), "t.mat": mat,
		"t.jsonl": lines.Bytes(), "t.xlsx": xlsxFile(t, sheetOf(csv.String())),
	}
	var paths []string
	for name, content := range files {
		paths = append(paths, writeFile(t, dir, name, content), writeFile(t, dir, name+".gz", compressed(t, string(content))))
	}
	return paths
}

// TestMaxMemory reads a table of 2.6 MB in every format: it fits 32 MiB, and
// not 1 MiB.
func TestMaxMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads large tables")
	}
	for _, path := range sameTable(t, 40_000, 8) {
		if _, err := ReadFile(t.Context(), path, sheets.Options{MaxMemory: 32 << 20}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		_, err := ReadFile(t.Context(), path, sheets.Options{MaxMemory: 1 << 20})
		if !errors.Is(err, sheets.ErrMemory) || !strings.Contains(err.Error(), "MiB") || !strings.Contains(err.Error(),
			path) {
			t.Errorf("%s: %v", path, err)
		}
		if isArray := strings.Contains(path, ".npy") || strings.Contains(path, ".npz") ||
			strings.Contains(path, ".mat"); isArray {
			if _, err := ReadMatrix[float32](t.Context(), path, sheets.Options{MaxMemory: 1 << 20}); !errors.Is(err,
				sheets.ErrMemory) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestArchivesAreMeasuredBeforeTheyAreRead has archives whose header claims 512
// MiB: the limit applies before memory is allocated for them.
func TestArchivesAreMeasuredBeforeTheyAreRead(t *testing.T) {
	var npy bytes.Buffer
	if err := writeNPYHeader(&npy, "<f8", 1<<19, 128); err != nil {
		t.Fatal(err)
	}
	npy.Write(make([]byte, 8<<20))
	dir := t.TempDir()
	for _, path := range []string{
		writeFile(t, dir, "x.npz", npzFile(t, zipped{"x.npy", zip.Deflate, npy.Bytes()})),
		writeFile(t, dir, "x.npy.gz", compressed(t, npy.String())),
		writeFile(t, dir, "x.npy", npy.Bytes()),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadFile(t.Context(), path, sheets.Options{MaxMemory: 100 << 20})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, sheets.ErrMemory) || !strings.Contains(err.Error(),
			"524288 x 128 numbers takes 1.0 GiB, but only 100.0 MiB is allowed") {
			t.Errorf("%s: %v", path, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
			t.Errorf("%s: %d bytes were allocated", path, took)
		}
	}
}

// TestReadersEndWithTheContext reads files with a context that has ended, and
// with one that ends midway.
func TestReadersEndWithTheContext(t *testing.T) {
	paths := sameTable(t, 40_000, 8)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range paths {
		if _, err := ReadFile(over, path, sheets.Options{}); err != context.Canceled {
			t.Errorf("%s: %v", path, err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".gz") {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := &cancelling{Reader: bytes.NewReader(content), after: len(content) / 2, cancel: cancel}
		_, err = readers[extensionOf(path)](ctx, r, sheets.Options{}, nil)
		if err = ended(ctx, err); err != context.Canceled || r.read > len(content)/2+bufferSize*9/8 {
			t.Errorf("%s: %v, after %d of %d bytes", path, err, r.read, len(content))
		}
		cancel()
	}
}

// cancelling cancels a context once n bytes have been read.
type cancelling struct {
	io.Reader
	after, read int
	cancel      func()
}

func (r *cancelling) Read(to []byte) (int, error) {
	n, err := r.Reader.Read(to)
	if r.read += n; r.read >= r.after {
		r.cancel()
	}
	return n, err
}
