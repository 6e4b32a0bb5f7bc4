package linalg

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// plainPair returns the inner product and the squared distance of two rows, and
// the sum of their squared norms.
//
//go:norace
func plainPair[T matrix.Float](x, y []T) (inner, dist, norms float64) {
	for i := range x {
		a, b := float64(x[i]), float64(y[i])
		inner += a * b
		dist += (a - b) * (a - b)
		norms += a*a + b*b
	}
	return inner, dist, norms
}

func TestRowProducts(t *testing.T) {
	t.Run("float32", testRowProducts[float32])
	t.Run("float64", testRowProducts[float64])
}

func testRowProducts[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	for _, rows := range []int{0, 1, 7, rowPiece, 2*rowPiece + 3} {
		a, q := strided[T](r, rows, 37), strided[T](r, 1, 37).Row(0)
		inner, dist, norms := make([]T, rows), make([]T, rows), make([]T, rows)
		MulVec(nil, inner, a, q)
		SqDistTo(nil, dist, a, q)
		RowNorms(nil, norms, a)
		for i := range rows {
			wantInner, wantDist, size := plainPair(a.Row(i), q)
			wantNorm, _, _ := plainPair(a.Row(i), a.Row(i))
			tol := roundoff[T]() * size * 10
			if !(math.Abs(float64(inner[i])-wantInner) <= tol && math.Abs(float64(dist[i])-wantDist) <= tol &&
				math.Abs(float64(norms[i])-wantNorm) <= tol) {
				t.Fatalf("row %d of %d: %v %v %v, want %v %v %v", i, rows, inner[i], dist[i], norms[i],
					wantInner, wantDist, wantNorm)
			}
		}
	}
}

func TestRowProductsSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 2))
	a, q := strided[float64](r, 4*rowPiece+7, 37), strided[float64](r, 1, 37).Row(0)
	for _, op := range []func(dst []float64){
		func(dst []float64) { MulVec(nil, dst, a, q) },
		func(dst []float64) { SqDistTo(nil, dst, a, q) },
		func(dst []float64) { RowNorms(nil, dst, a) },
	} {
		requireAnyThreads(t, "row products", func() []float64 {
			dst := make([]float64, a.Rows)
			op(dst)
			return dst
		})
		dst := make([]float64, a.Rows)
		requireNoAllocs(t, "row products", func() { op(dst) })
	}
}

func TestRowProductShapes(t *testing.T) {
	a := matrix.New[float64](4, 3)
	requireShapeError(t, matrix.Shape{Rows: 3, Cols: 1}, matrix.Shape{Rows: 4, Cols: 1},
		func() { RowNorms(nil, make([]float64, 3), a) })
	requireShapeError(t, matrix.Shape{Rows: 1, Cols: 4}, matrix.Shape{Rows: 1, Cols: 3},
		func() { MulVec(nil, make([]float64, 4), a, make([]float64, 4)) })
}
