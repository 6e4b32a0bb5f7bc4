package sets

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/encode"
	"github.com/nextbatch/nextbatch/matrix"
)

// stock is a folder with the raw file of a small set.
func stock(t testing.TB) (s Set, dir, raw string) {
	t.Helper()
	i := slices.IndexFunc(layouts, func(l layout) bool { return l.set == "stock" })
	s, err := Find("stock")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	return s, dir, writeFile(t, dir, s.Files[0], []byte(layouts[i].file(40)))
}

func mustPrepare(t testing.TB, s Set, dir string) Prepared {
	t.Helper()
	p, err := s.Prepare(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPrepareTwiceDoesNothing(t *testing.T) {
	t.Parallel()
	s, dir, _ := stock(t)
	first := mustPrepare(t, s, dir)
	before, err := os.ReadFile(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	again := mustPrepare(t, s, dir)
	first.Already = true
	if !again.Already || again.Rows != first.Rows || again.Hash != first.Hash ||
		!slices.Equal(again.Features, first.Features) {
		t.Errorf("%+v, want %+v", again, first)
	}
	if err := os.Remove(first.Path); err != nil {
		t.Fatal(err)
	}
	mustPrepare(t, s, dir)
	if after, _ := os.ReadFile(first.Path); !bytes.Equal(before, after) {
		t.Error("the same raw file gives a different prepared one")
	}
	if want := []string{"stock.arff", "stock.arff.sha256", "stock.prepared.npz"}; !slices.Equal(folder(t, dir), want) {
		t.Error(folder(t, dir))
	}
}

// TestPreparedIsReadByNumpyAndAlone: any reader of NumPy archives reads the
// inputs, and the prepared file is sufficient without the raw one.
func TestPreparedIsReadByNumpyAndAlone(t *testing.T) {
	t.Parallel()
	s, dir, raw := stock(t)
	p := mustPrepare(t, s, dir)
	x, err := source.ReadMatrix[float32](t.Context(), p.Path, source.Options{Array: "X"})
	if err != nil || x.Shape() != (matrix.Shape{Rows: 40, Cols: 9}) {
		t.Errorf("%v, %v", x.Shape(), err)
	}
	if err := os.Remove(raw); err != nil {
		t.Fatal(err)
	}
	if r, err := Load(t.Context(), "stock", dir); err != nil || r.X.Rows != 40 || r.Y[1] != 10 {
		t.Error(err)
	}
}

// TestChangedRawFile: everything that uses a changed raw file refuses it, until
// the user accepts it.
func TestChangedRawFile(t *testing.T) {
	t.Parallel()
	s, dir, raw := stock(t)
	mustPrepare(t, s, dir)
	old, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, s.Files[0], bytes.Replace(old, []byte("\n1,2,"), []byte("\n1,3,"), 1))
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "its hash no longer matches") ||
			!strings.Contains(err.Error(), raw) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = Load(t.Context(), "stock", dir)
	refused("load", err)
	_, err = s.Prepare(t.Context(), dir)
	refused("prepare", err)
	_, err = new(Fetcher).Fetch(t.Context(), s, dir)
	refused("fetch", err)
	if err := os.Remove(s.preparedPath(dir)); err != nil {
		t.Fatal(err)
	}
	_, err = Load(t.Context(), "stock", dir)
	refused("load without the prepared one", err)
	if err := os.Remove(raw + pinSuffix); err != nil {
		t.Fatal(err)
	}
	mustPrepare(t, s, dir)
	if r, err := Load(t.Context(), "stock", dir); err != nil || r.X.At(1, 1) != 3 {
		t.Error(err)
	}
	writeFile(t, dir, s.Files[0], old)
	_, err = Load(t.Context(), "stock", dir)
	refused("load the old one", err)
}

func TestDamagedPin(t *testing.T) {
	t.Parallel()
	s, dir, raw := stock(t)
	for _, text := range []string{"", "abc  stock.arff\n", strings.Repeat("0", 64) + "  other.arff\n",
		strings.Repeat("g", 64) + "  stock.arff\n"} {
		writeFile(t, dir, s.Files[0]+pinSuffix, []byte(text))
		if _, err := s.Prepare(t.Context(), dir); !errors.Is(err, source.ErrFormat) ||
			!strings.Contains(err.Error(), raw+pinSuffix) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDamagedPrepared: Load reports what to do, and Prepare does it.
func TestDamagedPrepared(t *testing.T) {
	t.Parallel()
	s, dir, _ := stock(t)
	path := mustPrepare(t, s, dir).Path
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[bytes.Index(flipped, []byte("y.npy"))+40] ^= 1
	for name, content := range map[string][]byte{"empty": {}, "cut": whole[:len(whole)/2], "flipped": flipped} {
		writeFile(t, dir, filepath.Base(path), content)
		if _, err := Load(t.Context(), "stock", dir); !errors.Is(err, source.ErrRead) ||
			!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "prepare") {
			t.Errorf("%s: %v", name, err)
		}
	}
	writeFile(t, dir, filepath.Base(path), whole[:len(whole)/2])
	mustPrepare(t, s, dir)
	if _, err := Load(t.Context(), "stock", dir); err != nil {
		t.Error(err)
	}
	other := Set{Name: "fried", Files: []string{"x"}}
	writeFile(t, dir, "fried.prepared.npz", whole)
	if _, err := other.openPrepared(dir); !errors.Is(err, source.ErrRead) || !strings.Contains(err.Error(), `"stock"`) {
		t.Error(err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	s, dir, _ := stock(t)
	if _, err := s.Prepare(t.Context(), t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// A folder in place of the file, since root can write everywhere.
	if err := os.Mkdir(s.preparedPath(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
}

// preparedBytes is a small prepared set.
func preparedBytes(t testing.TB, format int) []byte {
	t.Helper()
	var b bytes.Buffer
	h := preparedHeader{Format: format, Set: "s", RawRows: 3, Encoder: encode.Encoder{Numeric: []string{"a", "b"}}}
	r := &Regression{X: matrix.View(2, 2, []float32{1, 2, 3, 4}), Y: []float64{5, 6}, Rows: []int{0, 2}}
	if err := writePrepared(&b, h, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// folders is an archive with a folder in place of each array.
func folders(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{headerEntry: `{"format":1,"set":"stock"}`, "X.npy/a": "",
		"y.npy/a": "", "rows.npy/a": ""} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzReadPrepared: any bytes give an error or a data set whose parts match.
func FuzzReadPrepared(f *testing.F) {
	whole := preparedBytes(f, preparedFormat)
	f.Add(whole)
	f.Add(whole[:len(whole)-30])
	f.Add(preparedBytes(f, 2))
	f.Add(folders(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		h, err := readPreparedHeader(z)
		if err != nil {
			return
		}
		if r, err := readPrepared(t.Context(), bytes.NewReader(file), h); err == nil &&
			(len(r.Y) != r.X.Rows || len(r.Rows) != r.X.Rows || r.X.Cols != len(r.Encoder.Features())) {
			t.Errorf("%v, %d labels, %d rows", r.X.Shape(), len(r.Y), len(r.Rows))
		}
	})
}

// FuzzReadPin: a pin that is read is a hash.
func FuzzReadPin(f *testing.F) {
	f.Add([]byte(strings.Repeat("0a", 32) + "  x\n"))
	f.Add([]byte("  x"))
	path := filepath.Join(f.TempDir(), "x")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path+pinSuffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if hash, err := readPin(path); err == nil && len(hash) != 64 {
			t.Errorf("%q", hash)
		}
	})
}
