package golden

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// npy builds a file as NumPy writes it.
func npy(dtype, shape string, body []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", dtype, shape)
	return append(withHeader(header), body...)
}

func withHeader(header string) []byte {
	raw := binary.LittleEndian.AppendUint16([]byte(npyMagic), uint16(len(header)))
	return append(raw, header...)
}

func TestParseNPY(t *testing.T) {
	f8 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1.5))
	f4 := binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.25))
	i8 := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	i4 := binary.LittleEndian.AppendUint32(nil, math.MaxUint32-1)
	tests := []struct {
		raw  []byte
		want array
	}{
		{npy("<f8", "(1, 2)", append(f8, f8...)), array{"<f8", []int{1, 2}, []float64{-1.5, -1.5}, nil}},
		{npy("<f4", "(1,)", f4), array{"<f4", []int{1}, []float64{0.25}, nil}},
		{npy("<i8", "(1,)", i8), array{"<i8", []int{1}, nil, []int{-1}}},
		{npy("<i4", "(1,)", i4), array{"<i4", []int{1}, nil, []int{-2}}},
		{npy("|b1", "(2,)", []byte{1, 0}), array{"|b1", []int{2}, nil, []int{1, 0}}},
		{npy("<f8", "()", f8), array{"<f8", nil, []float64{-1.5}, nil}},
		{npy("<f8", "(3, 0)", nil), array{"<f8", []int{3, 0}, []float64{}, nil}},
	}
	for _, test := range tests {
		got, err := parseNPY(test.raw)
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %+v, %v; want %+v", test.raw, got, err, test.want)
		}
	}
}

func TestParseNPYRefuses(t *testing.T) {
	tests := []struct {
		name string
		raw  []byte
		word string
	}{
		{"empty", nil, "not an NPY file"},
		{"magic only", []byte(npyMagic), "not an NPY file"},
		{"version 2", append([]byte("\x93NUMPY\x02\x00"), 0, 0), "not an NPY file"},
		{"header beyond the file", append([]byte(npyMagic), 200, 0), "the header ends"},
		{"no dictionary", withHeader("nothing"), "cannot read the header"},
		{"big endian", npy(">f8", "(1,)", make([]byte, 8)), "element type"},
		{"Fortran order", withHeader("{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }\n"), "Fortran"},
		{"too short", npy("<f8", "(2,)", make([]byte, 8)), "do not hold shape"},
		{"too long", npy("<f8", "(2,)", make([]byte, 24)), "do not hold shape"},
		{"cut element", npy("<f8", "(1,)", make([]byte, 9)), "do not hold shape"},
		{"overflowing shape", npy("|b1", "(4294967296, 4294967296)", nil), "do not hold shape"},
		{"beyond int", npy("|b1", "(99999999999999999999,)", nil), "out of range"},
		{"two numbers in one place", npy("|b1", "(1 1)", make([]byte, 11)), "invalid syntax"},
	}
	for _, test := range tests {
		if _, err := parseNPY(test.raw); err == nil || !strings.Contains(err.Error(), test.word) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.word)
		}
	}
}

func TestLocate(t *testing.T) {
	top := t.TempDir()
	inside := filepath.Join(top, "checkout", "a", "b")
	mustMkdir(t, inside)
	if _, err := moduleRoot(inside); err == nil {
		t.Skip("a go.mod lies above the temporary folder")
	}
	if _, err := locate(inside, "golden"); err == nil || errors.Is(err, errAbsent) {
		t.Errorf("no go.mod: error %v, which must not be a reason to skip", err)
	}
	mustWrite(t, filepath.Join(top, "checkout", "go.mod"))
	if _, err := locate(inside, "golden"); !errors.Is(err, errAbsent) {
		t.Errorf("no folder: error %v, want %v", err, errAbsent)
	}
	want := filepath.Join(top, "shared", "golden")
	mustMkdir(t, want)
	if got, err := locate(inside, "golden"); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	mustWrite(t, filepath.Join(top, "shared", "data"))
	if _, err := locate(inside, "data"); !errors.Is(err, errAbsent) {
		t.Errorf("a file in place of the folder: error %v, want %v", err, errAbsent)
	}
}

func TestAbsentFolderSkipsOrFails(t *testing.T) {
	checkout := filepath.Join(t.TempDir(), "checkout")
	mustMkdir(t, checkout)
	mustWrite(t, filepath.Join(checkout, "go.mod"))
	t.Chdir(checkout)
	for value, want := range map[string]string{"": "skip", "0": "skip", "1": "fail"} {
		t.Setenv(requireVariable, value)
		if r := record(func(t testing.TB) { Read(t, "X_train.npy") }); r.what != want || !strings.Contains(r.text, "absent") {
			t.Errorf("%s=%q: %s with %q, want %s", requireVariable, value, r.what, r.text, want)
		}
	}
}

func TestFailures(t *testing.T) {
	checkout := filepath.Join(t.TempDir(), "checkout")
	golden := filepath.Join(filepath.Dir(checkout), "shared", "golden")
	mustMkdir(t, checkout)
	mustMkdir(t, golden)
	mustWrite(t, filepath.Join(checkout, "go.mod"))
	t.Chdir(checkout)
	files := map[string][]byte{
		"floats.npy":    npy("<f8", "(1, 2)", make([]byte, 16)),
		"cube.npy":      npy("<f8", "(1, 1, 1)", make([]byte, 8)),
		"ints.npy":      npy("<i8", "(1,)", make([]byte, 8)),
		"broken.npy":    []byte("no"),
		"manifest.json": []byte(`{"scalars": {"word": "x", "two": 2}}`),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(golden, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		word string
		run  func(t testing.TB)
	}{
		{"absent.npy", func(t testing.TB) { Matrix(t, "absent.npy") }},
		{"not an NPY file", func(t testing.TB) { Matrix(t, "broken.npy") }},
		{"not floats", func(t testing.TB) { Matrix(t, "ints.npy") }},
		{"not floats", func(t testing.TB) { Vector(t, "ints.npy") }},
		{"not integers", func(t testing.TB) { Ints(t, "floats.npy") }},
		{"not a matrix", func(t testing.TB) { Matrix(t, "cube.npy") }},
		{"not a vector", func(t testing.TB) { Vector(t, "floats.npy") }},
		{`no scalar "three"`, func(t testing.TB) { Scalar(t, "three") }},
		{`scalar "word"`, func(t testing.TB) { Scalar(t, "word") }},
		{"ints.npy", func(t testing.TB) { JSON(t, "ints.npy", new(any)) }},
	}
	for _, test := range tests {
		if r := record(test.run); r.what != "fail" || !strings.Contains(r.text, test.word) {
			t.Errorf("%s with %q, want a failure with %q", r.what, r.text, test.word)
		}
	}
	if got := Scalar(t, "two"); got != 2 {
		t.Errorf("scalar two is %v", got)
	}
}

func TestMaxRelDiff(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		got, want []float64
		diff      float64
	}{
		{nil, nil, 0},
		{[]float64{1, -4}, []float64{1, -4}, 0},
		{[]float64{1.5, -4}, []float64{1, -4}, 0.125},
		{[]float64{nan, inf, -inf, 2}, []float64{nan, inf, -inf, 2}, 0},
		{[]float64{nan, 2}, []float64{1, 2}, inf},
		{[]float64{1, 2}, []float64{nan, 2}, inf},
		{[]float64{inf, 2}, []float64{-inf, 2}, inf},
		{[]float64{1, 2}, []float64{inf, 2}, inf},
		{[]float64{1e-300}, []float64{0}, inf},
	}
	for _, test := range tests {
		if diff := maxRelDiff(test.got, test.want); diff != test.diff {
			t.Errorf("MaxRelDiff(%v, %v) = %v, want %v", test.got, test.want, diff, test.diff)
		}
	}
}

func TestMustMatch(t *testing.T) {
	want := matrix.FromRows([][]float64{{1, 2, 3}, {4, 5, 8}})
	got := matrix.FromRows([][]float64{{9, 1, 2, 3}, {9, 4, 5.5, 8}}).Block(0, 2, 1, 4)
	MustMatch(t, "numbers", got, want, 0.0625)
	if r := record(func(t testing.TB) { MustMatch(t, "numbers", got, want, 0.06) }); r.what != "fail" ||
		!strings.Contains(r.text, "numbers: row 1, column 1 is 5.5, want 5") {
		t.Errorf("%s with %q", r.what, r.text)
	}
	if r := record(func(t testing.TB) { MustMatchVector(t, "numbers", []float32{1}, nil, 1) }); r.what != "fail" {
		t.Errorf("wrong length: %s with %q", r.what, r.text)
	}
}

func TestFolder(t *testing.T) {
	if got := Matrix(t, "X_train.npy").Shape(); got != (matrix.Shape{Rows: 40, Cols: 6}) {
		t.Errorf("X_train is %v", got)
	}
	if got := Shape(t, "X_pool.npy"); !reflect.DeepEqual(got, []int{500, 6}) {
		t.Errorf("shape of X_pool is %v", got)
	}
	if got := len(Vector(t, "y_train.npy")); got != 40 {
		t.Errorf("y_train has %d numbers", got)
	}
	if got := Scalar(t, "cholesky/n_failures"); got != 3 {
		t.Errorf("cholesky/n_failures is %v", got)
	}
	var sizes []int
	if Entry(t, "relu/sizes", &sizes); !reflect.DeepEqual(sizes, []int{6, 32, 32, 1}) {
		t.Errorf("relu/sizes is %v", sizes)
	}
}

func TestLargeFolder(t *testing.T) {
	if got := Ints(t, "large/idx_lcmd_tp_f32.npy"); len(got) != 256 {
		t.Errorf("the LCMD batch has %d rows", len(got))
	}
}

// TestWithoutTheFolder reads the compact set where no folder lies beside the checkout.
func TestWithoutTheFolder(t *testing.T) {
	zipped, err := os.ReadFile(filepath.Join("testdata", "golden.zip"))
	if err != nil {
		t.Fatal(err)
	}
	checkout := filepath.Join(t.TempDir(), "checkout")
	mustMkdir(t, filepath.Join(checkout, "internal", "golden", "testdata"))
	mustWrite(t, filepath.Join(checkout, "go.mod"))
	if err := os.WriteFile(filepath.Join(checkout, filepath.FromSlash(compactSet)), zipped, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(checkout)
	t.Setenv(requireVariable, "1")
	if got := Matrix(t, "X_train.npy").Shape(); got != (matrix.Shape{Rows: 40, Cols: 6}) {
		t.Errorf("X_train is %v", got)
	}
	large := func(t testing.TB) { Ints(t, "large/idx_lcmd_tp_f32.npy") }
	if r := record(large); r.what != "fail" || !strings.Contains(r.text, "the compact set has no large/") {
		t.Errorf("%s with %q", r.what, r.text)
	}
	t.Setenv(requireVariable, "0")
	if r := record(large); r.what != "skip" {
		t.Errorf("%s with %q", r.what, r.text)
	}
}

// TestCompactSet compares each file of the compact set with that of the complete folder.
func TestCompactSet(t *testing.T) {
	dir, err := locate(".", "golden")
	check(t, err)
	compact, err := zip.OpenReader(filepath.Join("testdata", "golden.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer compact.Close()
	names := map[string]string{}
	same, err := findIn(&compact.Reader, "same.json")
	if err := errors.Join(err, json.Unmarshal(same, &names)); err != nil || len(names) == 0 {
		t.Fatalf("same.json: %v, %d files", err, len(names))
	}
	for _, f := range compact.File {
		names[f.Name] = f.Name
	}
	delete(names, "same.json")
	for name := range names {
		got, err := findIn(&compact.Reader, name)
		want, absent := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err := errors.Join(err, absent); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, or another content", name, err)
		}
	}
}

// TestEveryArrayReads compares each array of the manifest with its file.
func TestEveryArrayReads(t *testing.T) {
	var manifest struct {
		Arrays map[string]struct {
			File  string
			Shape []int
		}
	}
	JSON(t, "manifest.json", &manifest)
	for name, entry := range manifest.Arrays {
		t.Run(name, func(t *testing.T) {
			if got := Shape(t, entry.File); len(got)+len(entry.Shape) > 0 && !reflect.DeepEqual(got, entry.Shape) {
				t.Errorf("shape %v, the manifest says %v", got, entry.Shape)
			}
		})
	}
}

// outcome is what a call did to its test.
type outcome struct{ what, text string }

// recorder stands in for a test that is expected to skip or fail.
type recorder struct {
	testing.TB
	outcome
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) { r.end("skip", format, args) }

func (r *recorder) Fatalf(format string, args ...any) { r.end("fail", format, args) }

func (r *recorder) end(what, format string, args []any) {
	r.outcome = outcome{what, fmt.Sprintf(format, args...)}
	runtime.Goexit()
}

// record runs f in its own goroutine, which a skip or a failure ends.
func record(f func(t testing.TB)) outcome {
	r := &recorder{outcome: outcome{what: "pass"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.outcome
}

func mustMkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
