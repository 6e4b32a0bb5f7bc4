package formats

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

type zipped struct {
	name    string
	method  uint16
	content []byte
}

func npzFile(t testing.TB, entries ...zipped) []byte {
	t.Helper()
	var file bytes.Buffer
	z := zip.NewWriter(&file)
	for _, e := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func twoArrays(t testing.TB) []byte {
	return npzFile(t,
		zipped{"x.npy", zip.Store, npyFile(1, npyHeaderText("<f4", "True", "(2, 2)"), []float32{1, 2, 3, 4})},
		zipped{"y.npy", zip.Deflate, npyFile(1, npyHeaderText("<i8", "False", "(2,)"), []int64{5, 6})},
		zipped{"readme.txt", zip.Deflate, []byte("not an array")})
}

func TestReadNPZ(t *testing.T) {
	file := twoArrays(t)
	for name, want := range map[string][][]float64{"x": {{1, 3}, {2, 4}}, "y": {{5}, {6}}} {
		for _, r := range []io.Reader{bytes.NewReader(file), bytes.NewBuffer(slices.Clone(file))} {
			m, err := ReadNPZ[float64](t.Context(), r, sheets.Options{Array: name})
			if err != nil {
				t.Fatal(err)
			}
			checkMatrix(t, name, m, want)
		}
	}
	path := writeFile(t, t.TempDir(), "two.npz", file)
	read, err := ReadFile(t.Context(), path, sheets.Options{Array: "x", ID: "c0"})
	if err != nil {
		t.Fatal(err)
	}
	if got := show(read); got != "c0 text [1] [2]\nc1 numeric [3] [4]\n" {
		t.Error(got)
	}
	m, err := ReadMatrix[float64](t.Context(), path, sheets.Options{Array: "y"})
	if err != nil {
		t.Fatal(err)
	}
	checkMatrix(t, "y", m, [][]float64{{5}, {6}})
	single := npzFile(t, zipped{"arr_0.npy", zip.Deflate, npyFile(1,
		npyHeaderText("<i8", "False", "(2,)"), []int64{5, 6})})
	if m, err = ReadNPZ[float64](t.Context(), bytes.NewReader(single), sheets.Options{}); err != nil {
		t.Fatal(err)
	}
	checkMatrix(t, "arr_0", m, [][]float64{{5}, {6}})
}

func TestReadNPZRefuses(t *testing.T) {
	file := twoArrays(t)
	stored := bytes.Clone(file)
	stored[bytes.Index(stored, []byte("'shape': (2, 2), }"))+30] ^= 1 // a number of x
	for name, test := range map[string]struct {
		file  []byte
		array string
		kind  error
		says  string
	}{
		"empty":    {nil, "", sheets.ErrRead, "zip"},
		"cut":      {file[:len(file)-30], "x", sheets.ErrRead, "zip"},
		"no name":  {file, "", sheets.ErrArray, "name one of x, y"},
		"absent":   {file, "z", sheets.ErrArray, "the arrays are x, y"},
		"text":     {file, "readme.txt", sheets.ErrArray, "the arrays are x, y"},
		"no array": {npzFile(t, zipped{"a.txt", zip.Store, nil}), "", sheets.ErrEmpty, ""},
		"twice": {npzFile(t, zipped{"a.npy", zip.Store, nil}, zipped{"a.npy", zip.Store, nil}), "a", sheets.ErrArray,
			"several"},
		"checksum": {stored, "x", sheets.ErrRead, "checksum"},
		"huge": {npzFile(t, zipped{"a.npy", zip.Deflate, npyFile(1, npyHeaderText("<f8", "True", "(99999999999, 9)"),
			[]float64{1})}), "a", sheets.ErrRead,
			"it ends after 1 of"},
	} {
		_, err := ReadNPZ[float64](t.Context(), bytes.NewReader(test.file), sheets.Options{Array: test.array})
		if at := (*sheets.Error)(nil); !errors.As(err, &at) || !errors.Is(err, test.kind) ||
			!strings.Contains(err.Error(), test.says) || at.Advice == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadNPZ(f *testing.F) {
	f.Add(twoArrays(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, name := range []string{"", "x"} {
			if _, err := ReadNPZ[float32](t.Context(), bytes.NewReader(file), sheets.Options{Array: name}); err != nil {
				mustBeTyped(t, err)
			}
		}
	})
}
