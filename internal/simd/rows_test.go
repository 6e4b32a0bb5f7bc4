package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

type rowFunc[T Float] func(s *Set[T], dst, q, rows []T, stride int)

func rowFuncs[T Float]() map[string]rowFunc[T] {
	return map[string]rowFunc[T]{"DotRows": (*Set[T]).DotRows, "SqDistRows": (*Set[T]).SqDistRows}
}

// TestRows holds the row primitives against their loops, for all lengths, for
// strides beyond the length, and for rows that end with their slice.
func TestRows(t *testing.T) {
	t.Run("float32", testRows[float32])
	t.Run("float64", testRows[float64])
}

func testRows[T Float](t *testing.T) {
	for name, f := range rowFuncs[T]() {
		for _, s := range Available[T]() {
			t.Run(name+"/"+s.Name(), func(t *testing.T) {
				r := rand.New(rand.NewPCG(11, 12))
				for _, width := range testLengths(r) {
					n, stride := r.IntN(14), width+r.IntN(3)
					testRowShape(t, s, f, r, n, width, stride)
				}
				for n := range 9 {
					// Without columns or without rows the stride means nothing.
					dst := guarded(random[T](r, n))
					f(s, dst.body, nil, nil, -n)
					dst.check(t)
					compareSlices(t, "no columns", dst.body, make([]T, n), 0)
					f(s, nil, make([]T, n), nil, -n)
				}
			})
		}
	}
}

func testRowShape[T Float](t *testing.T, s *Set[T], f rowFunc[T], r *rand.Rand, n, width, stride int) {
	t.Helper()
	q := guarded(random[T](r, width))
	var rows guard[T]
	if n > 0 {
		rows = guarded(random[T](r, (n-1)*stride+width))
	}
	got, want := guarded(make([]T, n)), make([]T, n)
	f(s, got.body, q.body, rows.body, stride)
	f(Available[T]()[0], want, q.body, rows.body, stride)
	q.check(t)
	rows.check(t)
	got.check(t)
	compareSlices(t, fmt.Sprintf("%d rows of %d, stride %d", n, width, stride),
		got.body, want, float64(width+8)*epsilon[T]())
}

// TestRowGrouping demands the bits of a row whichever rows it is computed
// with, so that threads may divide the rows as they like.
func TestRowGrouping(t *testing.T) {
	t.Run("float32", testRowGrouping[float32])
	t.Run("float64", testRowGrouping[float64])
}

func testRowGrouping[T Float](t *testing.T) {
	const n = 23
	r := rand.New(rand.NewPCG(13, 14))
	for name, f := range rowFuncs[T]() {
		for _, s := range Available[T]() {
			for _, width := range []int{1, 5, 31, 64, 131, 512} {
				q, rows := random[T](r, width), random[T](r, n*width)
				all := make([]T, n)
				f(s, all, q, rows, width)
				for from := range n {
					for to := from + 1; to <= n; to++ {
						part := make([]T, to-from)
						f(s, part, q, rows[from*width:], width)
						for i, v := range part {
							if math.Float64bits(float64(v)) != math.Float64bits(float64(all[from+i])) {
								t.Fatalf("%s of %s, width %d: row %d has other bits within %d..%d",
									name, s.Name(), width, from+i, from, to)
							}
						}
					}
				}
			}
		}
	}
}
