package sets

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nextbatch/nextbatch/dataset"
	"github.com/nextbatch/nextbatch/dataset/source"
	"github.com/nextbatch/nextbatch/internal/golden"
)

// firstRows are the inputs and labels of the first rows of the files.
var firstRows = map[string]struct {
	inputs string
	label  float64
}{
	"sgemm":    {"[16 16 16 8 8 8 8 2 1 1 0 0 0 0]", math.Log((115.8 + 115.87) / 2)},
	"protein":  {"[13558.3 4305.35 0.31754 162.173 1.8727905e+06 215.359 4287.87 102 27.0302]", 17.284},
	"fried":    {"[0.487 0.072 0.004 0.833 0.765 0.6 0.132 0.886 0.073 0.342]", 17.949},
	"diamonds": {"[0.23 61.5 55 3.95 3.98 2.43 0 0 1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0]", 326},
}

// TestSetsOfThePaper prepares the real files: the counts are those of the
// paper's table of data set characteristics.
func TestSetsOfThePaper(t *testing.T) {
	t.Parallel()
	dir := golden.Data(t)
	tested := 0
	for _, set := range All() {
		if _, err := set.find(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		tested++
		t.Run(set.Name, func(t *testing.T) {
			r, err := Load(t.Context(), set.Name, dir)
			if err != nil {
				t.Fatal(err)
			}
			split, err := NewSplit(r.X.Rows, PaperSizes(r.X.Rows), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(split.Pool) != set.Pool || len(split.Test) != set.Test || r.X.Cols != set.Features {
				t.Errorf("pool %d, test %d, features %d; the paper has %d, %d, %d",
					len(split.Pool), len(split.Test), r.X.Cols, set.Pool, set.Test, set.Features)
			}
			want, known := firstRows[set.Name]
			if got := fmt.Sprint(r.X.Row(0)); known && (got != want.inputs || math.Abs(r.Y[0]-want.label) > 1e-12) {
				t.Errorf("first row %s, label %v; want %s, %v", got, r.Y[0], want.inputs, want.label)
			}
		})
	}
	if tested != 5 {
		t.Errorf("%d sets were found, want 5", tested)
	}
}

// TestPokerLayout reads a small file in the layout of the real one.
func TestPokerLayout(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for row := range 26 {
		for card := range 5 {
			fmt.Fprintf(&text, "%d,%d,", row%4+1, (row+card)%13+1)
		}
		fmt.Fprintf(&text, "%d\n", row%10)
	}
	dir := t.TempDir()
	writeFile(t, dir, "poker-hand-testing.data", []byte(text.String()))
	r, err := Load(t.Context(), "poker", dir)
	if err != nil {
		t.Fatal(err)
	}
	features := r.Encoder.Features()
	if len(features) != 95 || features[0] != "column0=1" || features[4] != "column0 missing" ||
		!slices.Contains(features, "column9=13") {
		t.Errorf("%d features: %q", len(features), features)
	}
	if ones := count(r.X.Row(3), 1); ones != 10 || r.Y[3] != 3 {
		t.Errorf("row 3 has %d ones, label %v", ones, r.Y[3])
	}
}

func count(row []float32, value float32) int {
	n := 0
	for _, v := range row {
		if v == value {
			n++
		}
	}
	return n
}

func TestLoadSetRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Load(t.Context(), "iris", dir); err == nil || !strings.Contains(err.Error(),
		"choose from sgemm, wec_sydney, ct_slices") {
		t.Error(err)
	}
	if _, err := Load(t.Context(), "fried", dir); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "fried.arff") {
		t.Error(err)
	}
	writeFile(t, dir, "sgemm_product.csv", []byte("a,b\n1,2\n"))
	if _, err := Load(t.Context(), "sgemm", dir); err == nil ||
		!strings.Contains(err.Error(), "there is no column 14 (from 0); the table has 2") {
		t.Error(err)
	}
	writeFile(t, dir, "diamonds.csv", []byte("carat,cost\n1,2\n"))
	if _, err := Load(t.Context(), "diamonds", dir); !errors.As(err, new(*dataset.ColumnError)) {
		t.Error(err)
	}
	writeFile(t, dir, "CASP.csv", []byte("RMSD,F1\n1\n"))
	if _, err := Load(t.Context(), "protein", dir); !errors.Is(err, source.ErrRagged) {
		t.Error(err)
	}
}
