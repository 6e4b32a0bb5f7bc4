package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// roundoff returns the unit in the last place of the type at 1.
func roundoff[T matrix.Float]() float64 {
	var zero T
	if _, ok := any(zero).(float32); ok {
		return 0x1p-23
	}
	return 0x1p-52
}

// randomLower returns a well-conditioned lower triangular matrix, with NaN above
// the diagonal, which nothing may read.
func randomLower[T matrix.Float](r *rand.Rand, n int) matrix.Dense[T] {
	l := strided[T](r, n, n)
	for i := range n {
		row := l.Row(i)
		for j := range row {
			row[j] /= T(math.Sqrt(float64(n)))
		}
		row[i] = T(1 + r.Float64())
		fillNaN(row[i+1:])
	}
	return l
}

func fillNaN[T matrix.Float](s []T) {
	for i := range s {
		s[i] = T(math.NaN())
	}
}

// requireSolved compares the residual of op(L)·x = b or x·op(L) = b with the error
// bound of substitution, element by element: n·u·Σ|l|·|x|.
func requireSolved[T matrix.Float](t *testing.T, what string, x, b matrix.Dense[T], side Side,
	l matrix.Dense[T], op Op) {
	t.Helper()
	left, right := lowerOf(l, op), toFloat64(x, Trans)
	if side == Right {
		left, right = toFloat64(x, NoTrans), lowerOf(l, !op)
	}
	for i := range x.Rows {
		for j := range x.Cols {
			want := float64(b.At(i, j))
			sum, size := dotAbs(left.Row(i), right.Row(j))
			size += math.Abs(want)
			if diff := math.Abs(sum - want); !(diff <= roundoff[T]()*float64(l.Rows+4)*size) {
				t.Fatalf("%s: residual [%d,%d] is %v, terms add up to %v", what, i, j, diff, size)
			}
		}
	}
}

func requirePadding[T matrix.Float](t *testing.T, what string, before []T, m matrix.Dense[T]) {
	t.Helper()
	for i, v := range paddingOf(m) {
		if v != before[i] {
			t.Fatalf("%s: wrote into the padding between rows", what)
		}
	}
}

// triangularSizes are all small sizes and some that are split several times.
func triangularSizes(small int, large ...int) []int {
	var sizes []int
	for n := range small + 1 {
		sizes = append(sizes, n)
	}
	return append(sizes, large...)
}

func TestSolveLower(t *testing.T) {
	t.Run("float32", testSolveLower[float32])
	t.Run("float64", testSolveLower[float64])
}

func testSolveLower[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(21, 1))
	for _, n := range triangularSizes(70, 129, 200, 301) {
		for _, side := range []Side{Left, Right} {
			for _, op := range []Op{NoTrans, Trans} {
				l, m := randomLower[T](r, n), r.IntN(40)
				b := strided[T](r, n, m)
				if side == Right {
					b = strided[T](r, m, n)
				}
				what := fmt.Sprintf("n = %d, m = %d, right %v, op %v", n, m, side, op)
				x, padding := b, paddingOf(b)
				b = b.Clone()
				if err := SolveLower(nil, x, side, l, op); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				requireSolved(t, what, x, b, side, l, op)
				requirePadding(t, what, padding, x)
			}
		}
	}
}

// TestSolveLowerGraded solves with rows scaled from 1 down to 1e-12, which must not
// increase the residual.
func TestSolveLowerGraded(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 2))
	const n = 190
	for _, side := range []Side{Left, Right} {
		for _, op := range []Op{NoTrans, Trans} {
			l := randomLower[float64](r, n)
			for i := range n {
				scaleRow(l.Row(i), math.Pow(10, -12*float64(i)/n))
			}
			b := strided[float64](r, n, n)
			x := b.Clone()
			if err := SolveLower(nil, x, side, l, op); err != nil {
				t.Fatal(err)
			}
			requireSolved(t, "graded", x, b, side, l, op)
		}
	}
}

func TestSolveLowerVec(t *testing.T) {
	t.Run("float32", testSolveLowerVec[float32])
	t.Run("float64", testSolveLowerVec[float64])
}

func testSolveLowerVec[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(21, 3))
	for _, n := range triangularSizes(70, 129, 300) {
		for _, op := range []Op{NoTrans, Trans} {
			l, b := randomLower[T](r, n), matrix.New[T](n, 1)
			for i := range b.Data {
				b.Data[i] = T(r.NormFloat64())
			}
			x := b.Clone()
			if err := SolveLowerVec(x.Data, l, op); err != nil {
				t.Fatal(err)
			}
			requireSolved(t, fmt.Sprintf("n = %d, op %v", n, op), x, b, Left, l, op)
		}
	}
}

func TestInvertLower(t *testing.T) {
	t.Run("float32", testInvertLower[float32])
	t.Run("float64", testInvertLower[float64])
}

func testInvertLower[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(21, 4))
	for _, n := range triangularSizes(70, 97, 200, 301) {
		l := randomLower[T](r, n)
		what := fmt.Sprintf("n = %d", n)
		m := l
		m.Data = append([]T(nil), l.Data...)
		if err := InvertLower(nil, m); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		requirePadding(t, what, paddingOf(l), m)
		requireInverse(t, what, m, l)
	}
}

// requireInverse compares x·L with I, and requires x to be lower triangular.
func requireInverse[T matrix.Float](t *testing.T, what string, x, l matrix.Dense[T]) {
	t.Helper()
	left, right := toFloat64(x, NoTrans), lowerOf(l, Trans)
	for i := range x.Rows {
		for j := range x.Rows {
			if j > i && x.At(i, j) != 0 {
				t.Fatalf("%s: [%d,%d] above the diagonal is %v", what, i, j, x.At(i, j))
			}
			sum, size := dotAbs(left.Row(i), right.Row(j))
			if i == j {
				sum--
			}
			if !(math.Abs(sum) <= roundoff[T]()*20*(1+size)) {
				t.Fatalf("%s: element [%d,%d] of the product with L is off by %v", what, i, j, sum)
			}
		}
	}
}

func TestSingularTriangle(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 5))
	for _, bad := range []float64{0, math.NaN(), math.Inf(1), 5e-324} {
		l, b, x := randomLower[float64](r, 150), strided[float64](r, 150, 3), make([]float64, 150)
		l.Set(77, 77, bad)
		l.Set(99, 99, 0)
		before := append([]float64(nil), b.Data...)
		m := l.Clone()
		for _, err := range []error{SolveLower(nil, b, Left, l, Trans), SolveLowerVec(x, l, NoTrans), InvertLower(nil, m)} {
			var pivot *PivotError
			if !errors.As(err, &pivot) || pivot.Index != 77 || math.Float64bits(pivot.Value) != math.Float64bits(bad) {
				t.Fatalf("pivot 77 of %v: error %v", bad, err)
			}
		}
		requireSameBits(t, "after the error", before, b.Data)
	}
}

func TestTriangularSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 6))
	l, b := randomLower[float64](r, 400), strided[float64](r, 400, 300)
	inverse := func() []float64 {
		m := l.Clone()
		if err := InvertLower(nil, m); err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	solved := func(side Side, op Op) []float64 {
		x := b.Clone()
		if side == Right {
			x = matrix.View(300, 400, x.Data)
		}
		if err := SolveLower(nil, x, side, l, op); err != nil {
			t.Fatal(err)
		}
		return x.Data
	}
	requireAnyThreads(t, "InvertLower", inverse)
	for _, side := range []Side{Left, Right} {
		for _, op := range []Op{NoTrans, Trans} {
			requireAnyThreads(t, "SolveLower", func() []float64 { return solved(side, op) })
		}
	}
}

func TestTriangularAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 7))
	l, b, x := randomLower[float64](r, 200), strided[float64](r, 200, 50), make([]float64, 200)
	m := l.Clone()
	requireNoAllocs(t, "SolveLower", func() { _ = SolveLower(nil, b, Left, l, NoTrans) })
	requireNoAllocs(t, "SolveLowerVec", func() { _ = SolveLowerVec(x, l, NoTrans) })
	requireNoAllocs(t, "InvertLower", func() { _ = InvertLower(nil, m) })
}

// requireNoAllocs requires that work allocates nothing once the free lists are filled. It
// tries several times: the runtime may allocate in the meantime, too.
func requireNoAllocs(t *testing.T, what string, work func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the free lists
	n := 0.0
	for range 5 {
		if n = testing.AllocsPerRun(20, work); n == 0 {
			return
		}
	}
	t.Errorf("%s: %v allocations", what, n)
}

func TestTriangularShapes(t *testing.T) {
	l, b := matrix.New[float64](3, 3), matrix.New[float64](4, 5)
	requireShapeError(t, b.Shape(), matrix.Shape{Rows: 3, Cols: 5}, func() { _ = SolveLower(nil, b, Left, l, NoTrans) })
	requireShapeError(t, b.Shape(), matrix.Shape{Rows: 4, Cols: 3}, func() { _ = SolveLower(nil, b, Right, l, NoTrans) })
	requireShapeError(t, b.Shape(), matrix.Shape{Rows: 4, Cols: 4}, func() { _ = SolveLower(nil, l, Right, b, NoTrans) })
	requireShapeError(t, b.Shape(), matrix.Shape{Rows: 4, Cols: 4}, func() { _ = InvertLower(nil, b) })
	requireShapeError(t, matrix.Shape{Rows: 2, Cols: 1}, matrix.Shape{Rows: 3, Cols: 1},
		func() { _ = SolveLowerVec(make([]float64, 2), l, NoTrans) })
}

func requireShapeError(t *testing.T, got, want matrix.Shape, work func()) {
	t.Helper()
	defer func() {
		t.Helper()
		err, ok := recover().(matrix.ShapeError)
		if !ok || err.Got != got || err.Want != want {
			t.Fatalf("recovered %v, want a shape error of %v and %v", err, got, want)
		}
	}()
	work()
}
