package linalg

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// TestPacked requires products with a packed operand to have the bits of Gemm: all
// shapes, both forms, sums of one block and of several.
func TestPacked(t *testing.T) {
	t.Run("float32", testPacked[float32])
	t.Run("float64", testPacked[float64])
}

func testPacked[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, rows := range []int{0, 1, 5, 14, 33} {
		for _, inner := range []int{0, 1, 32, 700} {
			for _, cols := range []int{1, 31, 64, 101} {
				for _, op := range []Op{NoTrans, Trans} {
					shape := op.shape(inner, cols)
					a, b := strided[T](r, rows, inner), strided[T](r, shape.Rows, shape.Cols)
					got, want := strided[T](r, rows, cols), matrix.New[T](rows, cols)
					Pack(b, op).Mul(got, -2, a)
					Gemm(nil, want, -2, a, NoTrans, b, op, 0)
					requireSameBits(t, fmt.Sprintf("%d rows, %d products, %d columns", rows, inner, cols), want.Data, got.Clone().Data)
				}
			}
		}
	}
}
