package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

type rowFunc[T Float] func(s *Set[T], dst, q, rows []T, stride int)

func rowFuncs[T Float]() map[string]rowFunc[T] {
	return map[string]rowFunc[T]{"DotRows": (*Set[T]).DotRows, "SqDistRows": (*Set[T]).SqDistRows,
		"DotListed": inTurn((*Set[T]).DotListed), "SqDistListed": inTurn((*Set[T]).SqDistListed)}
}

type listedFunc[T Float] func(s *Set[T], dst, q, rows []T, stride int, list []int32)

// inTurn lists all rows.
func inTurn[T Float](f listedFunc[T]) rowFunc[T] {
	return func(s *Set[T], dst, q, rows []T, stride int) {
		list := make([]int32, len(dst))
		for i := range list {
			list[i] = int32(i)
		}
		f(s, dst, q, rows, stride, list)
	}
}

// TestListedRows requires rows listed in any order to have the bits that they have
// among all rows.
func TestListedRows(t *testing.T) {
	t.Run("float32", testListedRows[float32])
	t.Run("float64", testListedRows[float64])
}

func testListedRows[T Float](t *testing.T) {
	compareListed(t, (*Set[T]).DotListed, (*Set[T]).DotRows)
	compareListed(t, (*Set[T]).SqDistListed, (*Set[T]).SqDistRows)
}

func compareListed[T Float](t *testing.T, listed listedFunc[T], inTurn rowFunc[T]) {
	const n, width, stride = 50, 77, 80
	r := rand.New(rand.NewPCG(15, 16))
	q, rows, all := random[T](r, width), random[T](r, n*stride), make([]T, n)
	for _, s := range Available[T]() {
		inTurn(s, all, q, rows, stride)
		for length := range 20 {
			list, got := make([]int32, length), make([]T, length)
			for i := range list {
				list[i] = int32(r.IntN(n))
			}
			listed(s, got, q, rows, stride, list)
			for i, v := range got {
				if v != all[list[i]] {
					t.Fatalf("%s: row %d of %d in the list is %v, not %v", s.Name(), list[i], length, v, all[list[i]])
				}
			}
		}
		for _, wrong := range []int32{-1, n} {
			mustPanic(t, "a list with row "+fmt.Sprint(wrong),
				func() { listed(s, make([]T, 1), q, rows, stride, []int32{wrong}) })
		}
	}
}

// TestRows compares the row primitives with their loops, for all lengths, for
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
	compareRows(t, s, f, q, rows, n, stride)
	if n == 0 || width == 0 {
		return
	}
	// A number that is not finite affects one row, or all of them.
	special := []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1))}
	for _, x := range []guard[T]{rows, q} {
		at := r.IntN(len(x.body))
		x.body[at] = special[r.IntN(len(special))]
		compareRows(t, s, f, q, rows, n, stride)
	}
}

func compareRows[T Float](t *testing.T, s *Set[T], f rowFunc[T], q, rows guard[T], n, stride int) {
	t.Helper()
	width := len(q.body)
	got, want := guarded(make([]T, n)), make([]T, n)
	f(s, got.body, q.body, rows.body, stride)
	f(Available[T]()[0], want, q.body, rows.body, stride)
	q.check(t)
	rows.check(t)
	got.check(t)
	compareSlices(t, fmt.Sprintf("%d rows of %d, stride %d", n, width, stride),
		got.body, want, float64(width+8)*epsilon[T]())
}

// TestRowGrouping requires a row to have the same bits whichever rows it is
// computed with, so that threads may divide the rows as they like.
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
								t.Fatalf("%s of %s, width %d: row %d has different bits within %d..%d",
									name, s.Name(), width, from+i, from, to)
							}
						}
					}
				}
			}
		}
	}
}

// TestRowsOutside passes strides with which rows overlap or extend beyond their
// slice, some of them only if the product does not overflow.
func TestRowsOutside(t *testing.T) {
	t.Run("float32", testRowsOutside[float32])
	t.Run("float64", testRowsOutside[float64])
}

func testRowsOutside[T Float](t *testing.T) {
	dst, q, rows := make([]T, 5), make([]T, 8), make([]T, 40)
	for name, f := range rowFuncs[T]() {
		for _, s := range Available[T]() {
			for _, stride := range []int{-8, 0, 7, 9, math.MaxInt/4 + 1, math.MaxInt/2 + 9, math.MaxInt} {
				mustPanic(t, fmt.Sprintf("%s of %s, stride %d", name, s.Name(), stride), func() { f(s, dst, q, rows, stride) })
			}
			mustPanic(t, name+" of "+s.Name()+", a row too few", func() { f(s, dst, q, rows[:39], 8) })
			f(s, dst, q, rows, 8)
		}
	}
}
