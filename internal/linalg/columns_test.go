package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

func TestColumnMeans(t *testing.T) {
	t.Run("float32", testColumnMeans[float32])
	t.Run("float64", testColumnMeans[float64])
}

func testColumnMeans[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(24, 6))
	for _, rows := range []int{1, 2, 100, rowPiece, rowPiece + 1, 3*rowPiece - 1} {
		for _, cols := range []int{0, 1, 3, 40} {
			a, got := strided[T](r, rows, cols), make([]float64, cols)
			ColumnMeans(nil, got, a)
			for k := range cols {
				sum := 0.0
				for i := range rows {
					sum += float64(a.At(i, k))
				}
				if math.Abs(got[k]-sum/float64(rows)) > 1e-13 {
					t.Fatalf("%v: column %d has mean %v, want %v", a.Shape(), k, got[k], sum/float64(rows))
				}
			}
		}
	}
	none := []float64{1}
	if ColumnMeans(nil, none, matrix.New[T](0, 1)); !math.IsNaN(none[0]) {
		t.Fatalf("mean of nothing: %v", none)
	}
}

func TestMulVecT(t *testing.T) {
	t.Run("float32", testMulVecT[float32])
	t.Run("float64", testMulVecT[float64])
}

func testMulVecT[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(24, 7))
	for _, rows := range []int{0, 1, 2, 100, rowPiece + 1, 3*rowPiece - 1} {
		a, x, got := strided[T](r, rows, 33), make([]T, rows), make([]T, 33)
		for i := range x {
			x[i] = T(r.NormFloat64())
		}
		MulVecT(nil, got, a, x)
		for k := range got {
			sum, size := 0.0, 0.0
			for i := range x {
				term := float64(a.At(i, k)) * float64(x[i])
				sum += term
				size += math.Abs(term)
			}
			if !(math.Abs(float64(got[k])-sum) <= roundoff[T]()*size*50) {
				t.Fatalf("%v: element %d is %v, want %v", a.Shape(), k, got[k], sum)
			}
		}
	}
}

func TestColumnSumsSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 8))
	x := strided[float64](r, 3*rowPiece+5, 40)
	requireAnyThreads(t, "ColumnMeans", func() []float64 {
		means := make([]float64, 40)
		ColumnMeans(nil, means, x)
		return means
	})
	requireAnyThreads(t, "MulVecT", func() []float64 {
		sums := make([]float64, 40)
		MulVecT(nil, sums, x, x.Data[:x.Rows])
		return sums
	})
}

func TestColumnSumsAllocateNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 9))
	x := strided[float32](r, 2*rowPiece, 20)
	means, sums, vec := make([]float64, 20), make([]float32, 20), make([]float32, x.Rows)
	requireNoAllocs(t, "ColumnMeans", func() { ColumnMeans(nil, means, x) })
	requireNoAllocs(t, "MulVecT", func() { MulVecT(nil, sums, x, vec) })
}

func TestColumnSumShapes(t *testing.T) {
	x := matrix.New[float64](4, 3)
	two, three, four := matrix.Shape{Rows: 2, Cols: 1}, matrix.Shape{Rows: 3, Cols: 1}, matrix.Shape{Rows: 4, Cols: 1}
	requireShapeError(t, two, three, func() { ColumnMeans(nil, make([]float64, 2), x) })
	requireShapeError(t, two, three, func() { MulVecT(nil, make([]float64, 2), x, make([]float64, 4)) })
	requireShapeError(t, two, four, func() { MulVecT(nil, make([]float64, 3), x, make([]float64, 2)) })
}
