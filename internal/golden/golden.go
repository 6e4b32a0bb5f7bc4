// Package golden gives tests access to the reference numbers that lie beside the
// checkout, in ../shared/golden relative to the module's root. Only test files
// import it.
//
// The folder is optional: without it, a test that asks for it is skipped. With
// NEXTBATCH_REQUIRE_SHARED=1 the test fails instead, so that a run that must
// compare with the reference cannot pass by skipping. Any other problem (a missing
// file, an unexpected element type, a damaged header) fails the test.
//
// Names of arrays are paths below the golden folder, such as
// "cholesky/indefinite.npy".
package golden

import (
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

// Dir returns the folder of the golden numbers.
func Dir(t testing.TB) string {
	t.Helper()
	return shared(t, "golden")
}

// Data returns the folder of the real data sets.
func Data(t testing.TB) string {
	t.Helper()
	return shared(t, "data")
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
	if err := json.Unmarshal(read(t, name), out); err != nil {
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
	a, err := parseNPY(read(t, name))
	if err != nil {
		t.Fatalf("golden: %s: %v", name, err)
	}
	return a
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	return raw
}

// errAbsent reports that there is no such folder beside the checkout: the only
// failure that is a reason to skip.
var errAbsent = errors.New("the folder beside the checkout is absent")

func shared(t testing.TB, part string) string {
	t.Helper()
	dir, err := locate(".", part)
	if errors.Is(err, errAbsent) && os.Getenv(requireVariable) != "1" {
		t.Skipf("golden: %v; set %s=1 to fail instead", err, requireVariable)
	}
	if err != nil {
		t.Fatalf("golden: %v", err)
	}
	return dir
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
