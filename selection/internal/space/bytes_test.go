package space

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/internal/linalg"
	"github.com/nextbatch/nextbatch/internal/simd"
	"github.com/nextbatch/nextbatch/matrix"
	"github.com/nextbatch/nextbatch/selection/internal/hardrows"
)

// TestByteProducts compares products with their bounds, for vectors of every
// size and for rows of the pool.
func TestByteProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for name, f := range hardrows.Some() {
		rows := hardrows.Matrix[float64](f, LeastByteRows, 150, 1)
		b := newByteRows(&space[float64]{}, rows.Rows, rows.Cols)
		b.fill(rows)
		q := b.newQuery()
		ints, products := make([]int32, rows.Rows), make([]float64, rows.Rows)
		for i := range 40 {
			w := make([]float64, rows.Cols)
			for j := range w {
				w[j] = r.NormFloat64() * math.Pow(10, float64(20*(i%9-4))) * math.Pow(float64(1+j), float64(-(i%4)))
			}
			if i%5 == 0 {
				copy(w, rows.Row(i))
			}
			q.set(w)
			b.dots(ints, q, 0)
			linalg.MulVec(nil, products, rows, w)
			for row, p := range products {
				rough := b.step[row] * q.step * float64(ints[row])
				if !(math.Abs(p-rough) <= b.off[row]*q.reach) {
					t.Fatalf("%s, vector %d: the product with row %d is %v, not %v ± %v", name, i, row, p, rough, b.off[row]*q.reach)
				}
			}
		}
	}
}

// TestBytesAreClose checks that bounds are of use: for normal numbers a product
// is known up to about a hundredth of the norms.
func TestBytesAreClose(t *testing.T) {
	rows := hardrows.Matrix[float64](hardrows.Some()["normal"], LeastByteRows, 150, 1)
	b := newByteRows(&space[float64]{}, rows.Rows, rows.Cols)
	b.fill(rows)
	q := b.newQuery()
	q.set(rows.Row(0))
	set := simd.For[float64]()
	for i, off := range b.off {
		if norms := math.Sqrt(set.SumSquares(rows.Row(i)) * set.SumSquares(rows.Row(0))); off*q.reach > 0.015*norms {
			t.Fatalf("row %d: the bound is %v, the norms are %v", i, off*q.reach, norms)
		}
	}
}

// TestBytesOfNothing rounds rows and vectors without a number, or with NaN.
func TestBytesOfNothing(t *testing.T) {
	rows := matrix.New[float64](LeastByteRows, leastByteCols)
	rows.Row(1)[3] = math.NaN()
	b := newByteRows(&space[float64]{}, rows.Rows, rows.Cols)
	b.fill(rows)
	q := b.newQuery()
	q.set(rows.Row(0))
	if bound := b.off[0] * q.reach; !(bound >= 0) || bound > 1e-300 {
		t.Errorf("the bound of zeros is %v", bound)
	}
	if bound := b.off[1] * q.reach; bound == bound {
		t.Errorf("the bound of NaN is %v", bound)
	}
	q.set(rows.Row(1))
	if bound := b.off[0] * q.reach; bound == bound {
		t.Errorf("the bound with a vector that has a NaN is %v", bound)
	}
}

// fill rounds all rows.
func (b *byteRows) fill(rows matrix.Dense[float64]) {
	for i := range rows.Rows {
		b.set(i, rows.Row(i), 0)
	}
}
