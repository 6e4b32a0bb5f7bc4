package formats

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/internal/source/sheets"
)

const pythonFiles = "testdata/python"

// pythonFile describes a file written by Python: an array, a table, or one that
// must be refused.
type pythonFile struct {
	File, Array string
	Rows, Cols  int
	Values      []any // numbers; strings where JSON has no number
	Refused     string
	Columns     []struct {
		Name, Kind string
		Values     []string
	}
}

func readExpected(t *testing.T) (files []pythonFile) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pythonFiles, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFilesThatPythonWrote reads files written by NumPy, SciPy and pandas; see
// testdata/README.md.
func TestFilesThatPythonWrote(t *testing.T) {
	kinds := map[string]error{"format": sheets.ErrFormat, "shape": sheets.ErrShape, "empty": sheets.ErrEmpty,
		"array": sheets.ErrArray}
	for _, f := range readExpected(t) {
		t.Run(f.File+" "+f.Array, func(t *testing.T) {
			path := filepath.Join(pythonFiles, f.File)
			switch {
			case f.Columns != nil:
				f.checkTable(t, path)
			case f.Refused != "":
				if _, err := ReadMatrix[float64](t.Context(), path, sheets.Options{Array: f.Array}); !errors.Is(err,
					kinds[f.Refused]) ||
					kinds[f.Refused] == nil {
					t.Errorf("%v, want %v", err, kinds[f.Refused])
				}
			default:
				f.checkArray(t, path)
			}
		})
	}
}

func (f pythonFile) checkArray(t *testing.T, path string) {
	m, err := ReadMatrix[float64](t.Context(), path, sheets.Options{Array: f.Array})
	if err != nil {
		t.Fatal(err)
	}
	if m.Rows != f.Rows || m.Cols != f.Cols {
		t.Fatalf("%v, want %d x %d", m.Shape(), f.Rows, f.Cols)
	}
	for k, want := range f.Values {
		if got := m.At(k/f.Cols, k%f.Cols); !same(got, want) {
			t.Errorf("number %d is %v, want %v", k, got, want)
		}
	}
}

func same(got float64, want any) bool {
	number, isNumber := want.(float64)
	if !isNumber {
		number, _ = strconv.ParseFloat(want.(string), 64)
	}
	return got == number || math.IsNaN(got) && math.IsNaN(number)
}

func (f pythonFile) checkTable(t *testing.T, path string) {
	table, err := ReadFile(t.Context(), path, sheets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Columns()) != len(f.Columns) {
		t.Fatalf("columns %q", table.Names())
	}
	for j, want := range f.Columns {
		c := table.Columns()[j]
		if c.Name() != want.Name || c.Kind().String() != want.Kind || c.Len() != len(want.Values) {
			t.Errorf("column %d is %q, %v, with %d rows; want %q, %s", j, c.Name(), c.Kind(), c.Len(), want.Name, want.Kind)
			continue
		}
		for row, value := range want.Values {
			if numbers, ok := c.(*dataset.Numeric); ok && value != "" {
				if !same(numbers.Float(row), value) {
					t.Errorf("%s, row %d: %v, want %s", want.Name, row, numbers.Float(row), value)
				}
			} else if c.Format(row) != value {
				t.Errorf("%s, row %d: %q, want %q", want.Name, row, c.Format(row), value)
			}
		}
	}
}
