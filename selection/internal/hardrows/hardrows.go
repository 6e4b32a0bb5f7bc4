// Package hardrows generates rows that are hard for bounds, for tests only.
package hardrows

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/nextbatch/nextbatch/internal/rowfile"
	"github.com/nextbatch/nextbatch/matrix"
)

// Kind computes a feature from its row and column.
type Kind func(r *rand.Rand, i, j int) float64

// Some returns the kinds for tests that run several methods on each: all, or a few
// under -short.
func Some() map[string]Kind {
	kinds := All()
	if testing.Short() {
		maps.DeleteFunc(kinds, func(name string, _ Kind) bool {
			return !slices.Contains([]string{"normal", "decaying", "duplicates", "equally far", "outlier"}, name)
		})
	}
	return kinds
}

// All returns all kinds.
func All() map[string]Kind {
	return map[string]Kind{
		"normal":      func(r *rand.Rand, _, _ int) float64 { return r.NormFloat64() },
		"decaying":    func(r *rand.Rand, _, j int) float64 { return r.NormFloat64() / float64(1+j*j) },
		"far away":    func(r *rand.Rand, _, j int) float64 { return 1000 + r.NormFloat64()/float64(1+j) },
		"duplicates":  func(_ *rand.Rand, i, j int) float64 { return math.Sin(float64((i%50)*(j+1))) / float64(1+j) },
		"equally far": func(_ *rand.Rand, i, j int) float64 { return map[bool]float64{true: 1}[i%150 == j] },
		"grid":        func(r *rand.Rand, _, j int) float64 { return map[bool]float64{true: float64(r.IntN(3))}[j < 4] },
		"clustered":   func(r *rand.Rand, i, j int) float64 { return math.Cos(float64((i%9)*(j+3))) + 1e-4*r.NormFloat64() },
		"low rank":    func(_ *rand.Rand, i, j int) float64 { return math.Sin(float64(i)) * math.Cos(float64(j)) },
		"other sizes": func(r *rand.Rand, i, _ int) float64 { return r.NormFloat64() * math.Pow(10, float64(i%12-6)) },
		"tiny":        func(r *rand.Rand, _, j int) float64 { return 3e-21 * r.NormFloat64() / float64(1+j) },
		"huge":        func(r *rand.Rand, _, j int) float64 { return 1e17 * r.NormFloat64() / float64(1+j) },
		"outlier": func(r *rand.Rand, i, j int) float64 {
			return r.NormFloat64() * (1 + 1e6*float64(1/(1+i))) / float64(1+j)
		},
		"zero": func(*rand.Rand, int, int) float64 { return 0 },
	}
}

// Matrix returns rows of a kind.
func Matrix[T matrix.Float](f Kind, rows, cols int, seed uint64) matrix.Dense[T] {
	r := rand.New(rand.NewPCG(seed, 1))
	m := matrix.New[T](rows, cols)
	for i := range rows {
		for j := range cols {
			m.Row(i)[j] = T(f(r, i, j))
		}
	}
	return m
}

// InFile returns rows that are in a file on the disk.
func InFile(t *testing.T, rows matrix.Dense[float32]) matrix.Dense[float32] {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(unsafe.Slice((*byte)(unsafe.Pointer(&rows.Data[0])), 4*len(rows.Data))); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); err != nil { // the system keeps what is not on the disk
		t.Fatal(err)
	}
	mapping, err := rowfile.Open[float32](path, 0, rows.Rows, rows.Cols)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(mapping.Close)
	return mapping.Rows
}
