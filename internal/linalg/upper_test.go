package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestUpper multiplies by triangles of one block and of several, and reuses each
// triangle.
func TestUpper(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testUpper[float32](t, 1e-6) })
	t.Run("float64", func(t *testing.T) { testUpper[float64](t, 1e-14) })
}

func testUpper[T matrix.Float](t *testing.T, tol float64) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, shape := range [][2]int{{0, 5}, {5, 0}, {1, 1}, {3, 40}, {70, 33}, {300, 64}, {150, 512}, {40, 1000}} {
		for _, op := range []Op{NoTrans, Trans} {
			a, m, c := strided[T](r, shape[0], shape[1]), strided[T](r, shape[1], shape[1]), strided[T](r, shape[0], shape[1])
			for i := range m.Rows {
				if op == Trans {
					clear(m.Row(i)[i+1:])
				} else {
					clear(m.Row(i)[:i])
				}
			}
			what := fmt.Sprint(shape, op)
			padding, u := paddingOf(c), NewUpper(m, op)
			requireAnyThreads(t, what, func() []T {
				u.Mul(nil, c, -2, a)
				return c.Clone().Data
			})
			left, columns := toFloat64(a, NoTrans), toFloat64(m, !op)
			for i := range c.Rows {
				for j, v := range c.Row(i) {
					if want, size := dotAbs(left.Row(i), columns.Row(j)); !(math.Abs(float64(v)+2*want) <= tol*size) {
						t.Fatalf("%s: [%d,%d] = %v, want %v", what, i, j, v, -2*want)
					}
				}
			}
			if !slices.Equal(paddingOf(c), padding) {
				t.Fatalf("%s: wrote into the padding between rows", what)
			}
		}
	}
}
