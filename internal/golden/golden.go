// Package golden gives tests access to reference numbers. Only test files import it.
//
// The complete set lies beside the checkout, in ../shared/golden relative to the module's root, with
// real data sets in ../shared/data. It is optional: without it, tests read testdata/golden.zip, which has
// every algorithm but not every size (testdata/compact.py makes it), and a test that asks for more is skipped. With
// NEXTBATCH_REQUIRE_SHARED=1 that test fails instead, so that a run that must compare with everything cannot
// pass by skipping. Any other problem (an unexpected element type, a damaged header) fails the test.
//
// Names of arrays are paths below the golden folder, such as
// "cholesky/indefinite.npy".
package golden

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// requireVariable names the environment variable that turns skips into failures.
const requireVariable = "NEXTBATCH_REQUIRE_SHARED"

// Data returns the folder of the real data sets.
func Data(t testing.TB) string {
	t.Helper()
	dir, err := locate(".", "data")
	check(t, err)
	return dir
}

// Read returns a file of the golden numbers.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := find(".", name)
	check(t, err)
	return raw
}

// Shape returns the shape of the named array; that of a scalar is empty.
func Shape(t testing.TB, name string) []int {
	t.Helper()
	return load(t, name).shape
}

// Matrix returns the named array of floats; n numbers in one dimension become a
// 1 x n matrix. Numbers in float32 are converted to float64, which is exact.
func Matrix(t testing.TB, name string) matrix.Dense[float64] {
	t.Helper()
	a := loadFloats(t, name)
	switch len(a.shape) {
	case 1:
		return matrix.View(1, a.shape[0], a.floats)
	case 2:
		return matrix.View(a.shape[0], a.shape[1], a.floats)
	}
	t.Fatalf("golden: %s has shape %v and is not a matrix", name, a.shape)
	panic("unreachable")
}

// Vector returns the named array of floats, which has one dimension.
func Vector(t testing.TB, name string) []float64 {
	t.Helper()
	a := loadFloats(t, name)
	if len(a.shape) != 1 {
		t.Fatalf("golden: %s has shape %v and is not a vector", name, a.shape)
	}
	return a.floats
}

// Ints returns the named array of integers or truth values (0 and 1), whatever
// its shape, in row-major order.
func Ints(t testing.TB, name string) []int {
	t.Helper()
	a := load(t, name)
	if a.ints == nil {
		t.Fatalf("golden: %s holds %s, not integers", name, a.dtype)
	}
	return a.ints
}

// Scalar returns a number from the scalars of manifest.json.
func Scalar(t testing.TB, name string) float64 {
	t.Helper()
	var v float64
	Entry(t, name, &v)
	return v
}

// Entry decodes one entry of the scalars of manifest.json, which may be
// structured, into the value that out points to.
func Entry(t testing.TB, name string, out any) {
	t.Helper()
	var manifest struct{ Scalars map[string]json.RawMessage }
	JSON(t, "manifest.json", &manifest)
	raw, ok := manifest.Scalars[name]
	if !ok {
		t.Fatalf("golden: manifest.json has no scalar %q", name)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatalf("golden: scalar %q of manifest.json: %v", name, err)
	}
}

// JSON decodes a JSON file of the golden folder, such as "large/manifest.json",
// into the value that out points to.
func JSON(t testing.TB, name string, out any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, name), out); err != nil {
		t.Fatalf("golden: %s: %v", name, err)
	}
}

func loadFloats(t testing.TB, name string) array {
	t.Helper()
	a := load(t, name)
	if a.floats == nil {
		t.Fatalf("golden: %s holds %s, not floats", name, a.dtype)
	}
	return a
}

func load(t testing.TB, name string) array {
	t.Helper()
	a, err := parseNPY(Read(t, name))
	if err != nil {
		t.Fatalf("golden: %s: %v", name, err)
	}
	return a
}

// errAbsent reports that there is no such folder beside the checkout: the only
// failure that is a reason to skip.
var errAbsent = errors.New("the folder beside the checkout is absent")

// check ends the test if there is an error.
func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errAbsent) && os.Getenv(requireVariable) != "1" {
		t.Skipf("golden: %v; set %s=1 to fail instead", err, requireVariable)
	}
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
}

// find reads a file of the complete folder or, where there is none, of the compact set of the module
// that contains the folder start.
func find(start, name string) ([]byte, error) {
	dir, absent := locate(start, "golden")
	if absent == nil {
		return os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	}
	root, err := moduleRoot(start)
	if err != nil {
		return nil, err
	}
	compact, err := zip.OpenReader(filepath.Join(root, filepath.FromSlash(compactSet)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent
	}
	if err != nil {
		return nil, err
	}
	defer compact.Close()
	raw, err := findIn(&compact.Reader, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w, and the compact set has no %s", absent, name)
	}
	return raw, err
}

// compactSet is the file of the module with the part of the numbers that every checkout has.
const compactSet = "internal/golden/testdata/golden.zip"

// findIn reads a file of the compact set, which has one of several equal files; same.json
// names it for the others.
func findIn(compact fs.FS, name string) ([]byte, error) {
	raw, err := fs.ReadFile(compact, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return raw, err
	}
	list, err := fs.ReadFile(compact, "same.json")
	if err != nil {
		return nil, err
	}
	var same map[string]string
	if err := json.Unmarshal(list, &same); err != nil {
		return nil, fmt.Errorf("same.json: %w", err)
	}
	if same[name] == "" {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(compact, same[name])
}

// locate returns the folder part of ../shared, relative to the module that
// contains the folder start.
func locate(start, part string) (string, error) {
	root, err := moduleRoot(start)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(filepath.Dir(root), "shared", part)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return "", fmt.Errorf("%w: no folder %s", errAbsent, dir)
	}
	return dir, err
}

func moduleRoot(start string) (string, error) {
	dir, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod in or above %s", start)
		}
		dir = parent
	}
}
