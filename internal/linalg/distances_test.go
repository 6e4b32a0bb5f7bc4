package linalg

import (
	"fmt"
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

func TestSqDistMatrix(t *testing.T) {
	t.Run("float32", testSqDistMatrix[float32])
	t.Run("float64", testSqDistMatrix[float64])
}

func testSqDistMatrix[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(24, 1))
	for trial := range 60 {
		limit := []int{4, 40, 150}[trial%3]
		x := strided[T](r, r.IntN(limit), r.IntN(limit))
		y := strided[T](r, r.IntN(limit), x.Cols)
		dst := strided[T](r, x.Rows, y.Rows)
		padding := paddingOf(dst)
		SqDistMatrix(nil, dst, x, y)
		requirePadding(t, "distances", padding, dst)
		requirePairs(t, SqDistances, dst, x, y)
	}
}

func requirePairs[T matrix.Float](t *testing.T, what Pairwise, got, x, y matrix.Dense[T]) {
	t.Helper()
	for i := range x.Rows {
		for k := range y.Rows {
			want, dist, norms := plainPair(x.Row(i), y.Row(k))
			if what == SqDistances {
				want = dist
			}
			tol := roundoff[T]() * norms * 2 * (2 + math.Sqrt(float64(x.Cols)))
			v := float64(got.At(i, k))
			if !(math.Abs(v-want) <= tol) || what == SqDistances && v < 0 {
				t.Fatalf("%v, %v: [%d,%d] is %v, want %v", x.Shape(), y.Shape(), i, k, v, want)
			}
		}
	}
}

// TestSqDistMatrixSelf has rows that are equal or nearly so, where the norms
// cancel.
func TestSqDistMatrixSelf(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 2))
	x := strided[float32](r, 150, 30)
	for i := 1; i < x.Rows; i += 2 {
		copy(x.Row(i), x.Row(i-1))
		x.Row(i)[0] += 1e-6
	}
	d := matrix.New[float32](150, 150)
	SqDistMatrix(nil, d, x, x)
	requirePairs(t, SqDistances, d, x, x)
	for i := range 150 {
		for k := range i + 1 {
			if d.At(i, k) != d.At(k, i) || i == k && d.At(i, i) != 0 {
				t.Fatalf("[%d,%d] is %v, [%d,%d] is %v", i, k, d.At(i, k), k, i, d.At(k, i))
			}
		}
	}
}

func TestSqDistMatrixKeepsNaN(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 3))
	x, y := strided[float64](r, 5, 3), strided[float64](r, 4, 3)
	x.Set(2, 1, math.NaN())
	d := matrix.New[float64](5, 4)
	SqDistMatrix(nil, d, x, y)
	for i := range 5 {
		if math.IsNaN(d.At(i, 0)) != (i == 2) {
			t.Fatalf("row %d: %v", i, d.Row(i))
		}
	}
}

func TestPairwiseBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 4))
	shapes := [][2]int{{0, 5}, {5, 0}, {3, 4}, {pairRows + 1, 3}, {2, pairCols + 1}, {pairRows + 3, pairCols + 2}}
	for _, what := range []Pairwise{InnerProducts, SqDistances} {
		for _, s := range shapes {
			x, y := strided[float64](r, s[0], 5), strided[float64](r, s[1], 5)
			all, seen := matrix.New[float64](s[0], s[1]), matrix.New[float64](s[0], s[1])
			PairwiseBlocks(nil, what, x, y, func(row, col int, block matrix.Dense[float64]) {
				matrix.Copy(all.Block(row, row+block.Rows, col, col+block.Cols), block)
				for i := range block.Rows {
					for k := range seen.Row(row + i)[col : col+block.Cols] {
						seen.Row(row + i)[col+k]++
					}
				}
			})
			for i, n := range seen.Data {
				if n != 1 {
					t.Fatalf("%v: element %d was visited %v times", s, i, n)
				}
			}
			requirePairs(t, what, all, x, y)
		}
	}
}

// TestPairwiseBlocksAgree compares with the whole matrix, including the zero
// diagonal.
func TestPairwiseBlocksAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 5))
	x := strided[float32](r, pairCols+70, 7)
	whole := matrix.New[float32](x.Rows, x.Rows)
	SqDistMatrix(nil, whole, x, x)
	PairwiseBlocks(nil, SqDistances, x, x, func(row, col int, block matrix.Dense[float32]) {
		for i := range block.Rows {
			requireSameBits(t, "block", whole.Row(row + i)[col:col+block.Cols], block.Row(i))
		}
	})
}

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

func TestDistancesSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 8))
	x, y := strided[float64](r, 3*rowPiece+5, 40), strided[float64](r, 300, 40)
	requireAnyThreads(t, "SqDistMatrix", func() []float64 {
		d := matrix.New[float64](x.Rows, y.Rows)
		SqDistMatrix(nil, d, x, y)
		return d.Data
	})
	requireAnyThreads(t, "PairwiseBlocks", func() []float64 {
		var sums []float64
		PairwiseBlocks(nil, InnerProducts, y, x, func(row, col int, block matrix.Dense[float64]) {
			sums = append(sums, block.Clone().Data...)
		})
		return sums
	})
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

func TestDistancesAllocateNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 9))
	x, y := strided[float32](r, 2*rowPiece, 20), strided[float32](r, 60, 20)
	d, means, sums, vec := matrix.New[float32](x.Rows, 60), make([]float64, 20), make([]float32, 20), make([]float32, x.Rows)
	requireNoAllocs(t, "SqDistMatrix", func() { SqDistMatrix(nil, d, x, y) })
	requireNoAllocs(t, "ColumnMeans", func() { ColumnMeans(nil, means, x) })
	requireNoAllocs(t, "MulVecT", func() { MulVecT(nil, sums, x, vec) })
	visit := func(int, int, matrix.Dense[float32]) {}
	requireNoAllocs(t, "PairwiseBlocks", func() { PairwiseBlocks(nil, SqDistances, x, y, visit) })
}

func TestDistanceShapes(t *testing.T) {
	x, y, d := matrix.New[float64](4, 3), matrix.New[float64](5, 2), matrix.New[float64](4, 5)
	requireShapeError(t, y.Shape(), x.Shape(), func() { SqDistMatrix(nil, d, x, y) })
	requireShapeError(t, d.Shape(), matrix.Shape{Rows: 4, Cols: 4}, func() { SqDistMatrix(nil, d, x, x) })
	requireShapeError(t, y.Shape(), x.Shape(), func() { PairwiseBlocks(nil, InnerProducts, x, y, nil) })
	two, three, four := matrix.Shape{Rows: 2, Cols: 1}, matrix.Shape{Rows: 3, Cols: 1}, matrix.Shape{Rows: 4, Cols: 1}
	requireShapeError(t, two, three, func() { ColumnMeans(nil, make([]float64, 2), x) })
	requireShapeError(t, two, three, func() { MulVecT(nil, make([]float64, 2), x, make([]float64, 4)) })
	requireShapeError(t, two, four, func() { MulVecT(nil, make([]float64, 3), x, make([]float64, 2)) })
}

func BenchmarkSqDistMatrix(b *testing.B) {
	r := rand.New(rand.NewPCG(24, 10))
	for _, cols := range []int{10, 512} {
		x, y := strided[float32](r, 4096, cols), strided[float32](r, 512, cols)
		d := matrix.New[float32](4096, 512)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("4096x%dx512/threads=%d", cols, threads), func(b *testing.B) {
				team := NewTeam(threads)
				for b.Loop() {
					SqDistMatrix(team, d, x, y)
				}
			})
		}
	}
}
