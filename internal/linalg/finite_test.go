package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

func TestFirstNotFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	m := strided[float64](r, 9, 22).Block(0, 9, 0, 21)
	m.Data[m.Cols] = math.NaN() // in the padding
	if _, _, found := FirstNotFinite(nil, m); found {
		t.Fatal("found the padding")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		c := m.Clone()
		c.Set(4, 20, bad)
		c.Set(7, 0, math.NaN())
		if i, j, found := FirstNotFinite(nil, c); !found || i != 4 || j != 20 {
			t.Fatalf("%v: row %d, column %d, %v", bad, i, j, found)
		}
	}
	tall := matrix.New[float64](2000, 3)
	for _, i := range []int{1999, 700, 600} {
		tall.Set(i, 1, math.NaN())
		if row, col, found := FirstNotFinite(nil, tall); !found || row != i || col != 1 {
			t.Fatalf("row %d, column %d, %v, want row %d", row, col, found, i)
		}
	}
	large := matrix.FromRows([][]float32{{math.MaxFloat32, math.MaxFloat32}})
	if _, _, found := FirstNotFinite(nil, large); found {
		t.Fatal("large numbers are finite")
	}
}
