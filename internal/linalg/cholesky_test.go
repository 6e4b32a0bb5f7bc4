package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nextbatch/nextbatch/internal/golden"
	"github.com/nextbatch/nextbatch/matrix"
)

// symmetric returns L·D·Lᵀ in float64, rounded to T, for a unit lower triangular
// L and the diagonal D, with NaN above the diagonal.
func symmetric[T matrix.Float](r *rand.Rand, n int, d func(i int) float64) matrix.Dense[T] {
	l := randomLower[float64](r, n)
	for i := range n {
		l.Set(i, i, 1)
	}
	ld := l.Clone()
	for i := range n {
		for k := range i + 1 {
			ld.Set(i, k, l.At(i, k)*d(k))
		}
	}
	a := strided[T](r, n, n)
	for i := range n {
		fillNaN(a.Row(i))
		for j := range i + 1 {
			sum, _ := dotAbs(ld.Row(i)[:j+1], l.Row(j))
			a.Set(i, j, T(sum))
		}
	}
	return a
}

func one(int) float64 { return 1 }

// requireFactor compares L·Lᵀ with A, within the error bound of Cholesky:
// n·u·Σ|l|·|l|.
func requireFactor[T matrix.Float](t *testing.T, what string, l, a matrix.Dense[T], jitter float64) {
	t.Helper()
	n, double := a.Rows, toFloat64(l, NoTrans)
	for i := range n {
		for j := i + 1; j < n; j++ {
			if l.At(i, j) != 0 {
				t.Fatalf("%s: [%d,%d] above the diagonal is %v", what, i, j, l.At(i, j))
			}
		}
		for j := range i + 1 {
			sum, size := dotAbs(double.Row(i), double.Row(j))
			want := float64(a.At(i, j))
			if i == j {
				want += jitter
			}
			if !(math.Abs(sum-want) <= roundoff[T]()*float64(n+4)*size) {
				t.Fatalf("%s: [%d,%d] of the product is %v, want %v", what, i, j, sum, want)
			}
		}
	}
}

func TestCholesky(t *testing.T) {
	t.Run("float32", testCholesky[float32])
	t.Run("float64", testCholesky[float64])
}

func testCholesky[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(22, 1))
	for _, n := range triangularSizes(70, 97, 144, 257, 400) {
		a := symmetric[T](r, n, one)
		what := fmt.Sprintf("n = %d", n)
		m := a
		m.Data = append([]T(nil), a.Data...)
		if err := Cholesky(nil, m); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		requireFactor(t, what, m, a, 0)
		requirePadding(t, what, paddingOf(a), m)
	}
}

// TestCholeskyNearlySingular has pivots from 1 down to 1e-10.
func TestCholeskyNearlySingular(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 2))
	for _, n := range []int{2, 30, 100, 200} {
		a := symmetric[float64](r, n, func(i int) float64 { return math.Pow(10, -10*float64(i)/float64(n)) })
		m := a.Clone()
		if err := Cholesky(nil, m); err != nil {
			t.Fatalf("n = %d: %v", n, err)
		}
		requireFactor(t, fmt.Sprintf("n = %d", n), m, a, 0)
	}
}

func TestCholeskyReportsPivot(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 3))
	for _, n := range []int{1, 2, 3, 40, 70, 130, 250} {
		for range 5 {
			bad := r.IntN(n)
			a := symmetric[float64](r, n, func(i int) float64 {
				if i >= bad {
					return -0.5
				}
				return 1
			})
			err := Cholesky(nil, a)
			var pivot *PivotError
			if !errors.As(err, &pivot) || pivot.Index != bad || math.Abs(pivot.Value+0.5) > 1e-9 {
				t.Fatalf("n = %d, pivot %d of -0.5: error %v", n, bad, err)
			}
		}
	}
}

func TestCholeskyNotFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 4))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, n := range []int{1, 5, 60, 150} {
			for range 5 {
				i := r.IntN(n)
				a := symmetric[float64](r, n, one)
				a.Set(i, r.IntN(i+1), bad)
				dst := matrix.New[float64](n, n)
				rescue, err := CholeskyRescue(nil, dst, a)
				var pivot *PivotError
				if !errors.As(err, &pivot) || pivot.Index != i || rescue != (Rescue{}) {
					t.Fatalf("n = %d, %v in row %d: %+v, error %v", n, bad, i, rescue, err)
				}
				if err := Cholesky(nil, a); !errors.As(err, &pivot) || pivot.Index != i {
					t.Fatalf("n = %d, %v in row %d: error %v", n, bad, i, err)
				}
			}
		}
	}
}

func TestCholeskyRescueGolden(t *testing.T) {
	a, want := golden.Matrix(t, "cholesky/indefinite.npy"), golden.Matrix(t, "cholesky/indefinite_L.npy")
	l := matrix.New[float64](a.Rows, a.Cols)
	rescue, err := CholeskyRescue(nil, l, a)
	if err != nil {
		t.Fatal(err)
	}
	golden.MustMatch(t, "factor", l, want, 1e-10)
	jitter := golden.Scalar(t, "cholesky/added_jitter")
	if tries := int(golden.Scalar(t, "cholesky/n_failures")); rescue.Tries != tries ||
		math.Abs(rescue.Jitter/jitter-1) > 1e-10 {
		t.Fatalf("rescue %+v, want %v tries and a jitter of %v", rescue, tries, jitter)
	}
}

func TestCholeskyRescue(t *testing.T) {
	t.Run("float32", testCholeskyRescue[float32])
	t.Run("float64", testCholeskyRescue[float64])
}

// testCholeskyRescue uses a diagonal matrix, for which the number of tries is
// known: the element -x needs 1+2+4+… = 2^tries - 1 times eps to exceed x.
func testCholeskyRescue[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(22, 5))
	for _, n := range []int{2, 12, 100} {
		for tries := range maxRescues + 1 {
			a := symmetric[T](r, n, one)
			clearLower(a)
			eps := 1e-5 * float64(n-1) / float64(n)
			bad := -eps * (math.Exp2(float64(tries)) - 1) * 0.75
			a.Set(n/2, n/2, T(bad))
			if tries == 0 {
				a.Set(n/2, n/2, 1e-20)
			}
			l := strided[T](r, n, n)
			padding := paddingOf(l)
			rescue, err := CholeskyRescue(nil, l, a)
			if err != nil || rescue.Tries != tries {
				t.Fatalf("n = %d, element %v: %+v, %v; want %d tries", n, bad, rescue, err, tries)
			}
			want := (1e-5*trace(a)/float64(n) + 1e-30) * (math.Exp2(float64(tries)) - 1)
			if math.Abs(rescue.Jitter-want) > 1e-12*want {
				t.Fatalf("n = %d, %d tries: jitter %v, want %v", n, tries, rescue.Jitter, want)
			}
			requireFactor(t, fmt.Sprintf("n = %d, %d tries", n, tries), l, a, rescue.Jitter)
			requirePadding(t, "rescue", padding, l)
		}
	}
}

// clearLower turns the lower triangle into that of the identity.
func clearLower[T matrix.Float](a matrix.Dense[T]) {
	for i := range a.Rows {
		clear(a.Row(i)[:i])
		a.Set(i, i, 1)
	}
}

func TestCholeskyRescueFails(t *testing.T) {
	a := matrix.FromRows([][]float64{{1, 0, 0}, {0, -3, 0}, {0, 0, 2.5}})
	dst := matrix.New[float64](3, 3)
	rescue, err := CholeskyRescue(nil, dst, a)
	var pivot *PivotError
	if !errors.As(err, &pivot) || rescue.Tries != maxRescues || pivot.Index != 1 || pivot.Value != -3+rescue.Jitter {
		t.Fatalf("%+v, error %v", rescue, err)
	}
}

func TestCholeskyRescueSemidefinite(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 6))
	g, a := strided[float64](r, 150, 20), matrix.New[float64](150, 150)
	Syrk(nil, a, 1, g, NoTrans, 0)
	l := matrix.New[float64](150, 150)
	rescue, err := CholeskyRescue(nil, l, a)
	if err != nil || rescue.Tries != 1 {
		t.Fatalf("rank 20 of 150: %+v, %v", rescue, err)
	}
	requireFactor(t, "rank 20 of 150", l, a, rescue.Jitter)
	zero := matrix.New[float64](4, 4)
	if rescue, err = CholeskyRescue(nil, l.Block(0, 4, 0, 4), zero); err != nil || rescue != (Rescue{1e-30, 1}) {
		t.Fatalf("zero matrix: %+v, %v", rescue, err)
	}
}

func TestCholeskySameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 7))
	a := randomSPD(r, 500)
	requireAnyThreads(t, "Cholesky", func() []float64 {
		m := a.Clone()
		if err := Cholesky(nil, m); err != nil {
			t.Fatal(err)
		}
		return m.Data
	})
}

func TestCholeskyAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 8))
	a := randomSPD(r, 300)
	m := a.Clone()
	requireNoAllocs(t, "Cholesky", func() {
		matrix.Copy(m, a)
		_ = Cholesky(nil, m)
	})
	a.Set(3, 3, 0)
	requireNoAllocs(t, "CholeskyRescue", func() { _, _ = CholeskyRescue(nil, m, a) })
}

func TestCholeskyShapes(t *testing.T) {
	a := matrix.New[float64](4, 5)
	square := matrix.Shape{Rows: 4, Cols: 4}
	requireShapeError(t, a.Shape(), square, func() { _ = Cholesky(nil, a) })
	requireShapeError(t, a.Shape(), square, func() { _, _ = CholeskyRescue(nil, a, a) })
	requireShapeError(t, a.Shape(), square, func() { _, _ = CholeskyRescue(nil, a, a.Block(0, 4, 0, 4)) })
}
