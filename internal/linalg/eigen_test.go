package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// randomSymmetric fills the lower triangle; the upper one is NaN.
func randomSymmetric[T matrix.Float](r *rand.Rand, n int) matrix.Dense[T] {
	a := strided[T](r, n, n)
	for i := range n {
		fillNaN(a.Row(i)[i+1:])
	}
	return a
}

// decompose checks everything that holds for a decomposition of any matrix.
func decompose[T matrix.Float](t *testing.T, what string, a matrix.Dense[T]) ([]T, matrix.Dense[T]) {
	t.Helper()
	n := a.Rows
	values := make([]T, n)
	vectors := strided[T](rand.New(rand.NewPCG(1, 1)), n, n)
	padding := paddingOf(vectors)
	if err := SymEigen(nil, values, vectors, a); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	requirePadding(t, what, padding, vectors)
	if !slices.IsSorted(values) {
		t.Fatalf("%s: not ascending: %v", what, values)
	}
	requireOrthonormal(t, what, vectors)
	requireEigenvectors(t, what, values, vectors, a)
	return values, vectors
}

func requireOrthonormal[T matrix.Float](t *testing.T, what string, v matrix.Dense[T]) {
	t.Helper()
	tol := roundoff[T]() * 4 * (8 + math.Sqrt(float64(v.Rows)))
	double := toFloat64(v, NoTrans)
	for i := range v.Rows {
		if row := v.Row(i); row[largestAt(row)] < 0 {
			t.Fatalf("%s: the largest element of vector %d is negative", what, i)
		}
		for k := range i + 1 {
			sum, _ := dotAbs(double.Row(i), double.Row(k))
			if i == k {
				sum--
			}
			if !(math.Abs(sum) <= tol) {
				t.Fatalf("%s: vectors %d and %d are off by %v", what, i, k, sum)
			}
		}
	}
}

// requireEigenvectors compares |A·v − λ·v| with the norm of A, and the trace with
// the sum of the eigenvalues.
func requireEigenvectors[T matrix.Float](t *testing.T, what string, values []T, v, a matrix.Dense[T]) {
	t.Helper()
	n, norm, diagonal, sum := a.Rows, 0.0, 0.0, 0.0
	double, doubleV := lowerOf(a, NoTrans), toFloat64(v, NoTrans)
	MirrorLower(double)
	for i := range n {
		_, squares := dotAbs(double.Row(i), double.Row(i))
		norm += squares
		diagonal += double.At(i, i)
		sum += float64(values[i])
	}
	norm = math.Sqrt(norm)
	tol := roundoff[T]() * (20 + math.Sqrt(float64(n))) * norm
	if !(math.Abs(diagonal-sum) <= tol*float64(n)) {
		t.Fatalf("%s: trace %v, eigenvalues add up to %v", what, diagonal, sum)
	}
	for k := range n {
		for i := range n {
			residual, _ := dotAbs(double.Row(i), doubleV.Row(k))
			residual -= float64(values[k]) * doubleV.At(k, i)
			if !(math.Abs(residual) <= tol) {
				t.Fatalf("%s: residual of vector %d is %v in element %d, the matrix is of norm %v", what, k, residual, i, norm)
			}
		}
	}
}

func TestSymEigen(t *testing.T) {
	t.Run("float32", testSymEigen[float32])
	t.Run("float64", testSymEigen[float64])
}

func testSymEigen[T matrix.Float](t *testing.T) {
	r := rand.New(rand.NewPCG(23, 1))
	for _, n := range triangularSizes(40, 63, 64, 65, 66, 97, 128, 129, 130, 250) {
		decompose(t, fmt.Sprintf("n = %d", n), randomSymmetric[T](r, n))
	}
}

func TestSymEigenTwoByTwo(t *testing.T) {
	values, vectors := decompose(t, "2x2", matrix.FromRows([][]float64{{2, math.NaN()}, {1, 2}}))
	h := math.Sqrt(0.5)
	for i, want := range []float64{1, 3, h, -h, h, h} {
		if got := append(slices.Clone(values), vectors.Clone().Data...)[i]; math.Abs(math.Abs(got)-math.Abs(want)) > 1e-15 {
			t.Fatalf("values %v, vectors %v", values, vectors.Clone().Data)
		}
	}
}

// withEigenvalues returns Vᵀ·diag(values)·V for random orthonormal rows V.
func withEigenvalues(r *rand.Rand, values []float64) matrix.Dense[float64] {
	n := len(values)
	v := matrix.New[float64](n, n)
	if err := SymEigen(nil, make([]float64, n), v, randomSymmetric[float64](r, n)); err != nil {
		panic(err)
	}
	a := matrix.New[float64](n, n)
	for i := range n {
		for k := range n {
			for p, x := range values {
				a.Data[i*n+k] += x * v.At(p, i) * v.At(p, k)
			}
		}
	}
	return a
}

func TestSymEigenKnownValues(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 2))
	const n = 90
	cases := map[string]func(i int) float64{
		"repeated":  func(i int) float64 { return float64(i / 30) },
		"all one":   func(int) float64 { return 1 },
		"low rank":  func(i int) float64 { return float64(max(0, i-80)) },
		"graded":    func(i int) float64 { return math.Pow(10, float64(i)/6-15) },
		"clustered": func(i int) float64 { return 1 + 1e-13*float64(i) },
		"both ends": func(i int) float64 { return math.Pow(float64(i-n/2), 3) },
	}
	for what, value := range cases {
		want := make([]float64, n)
		for i := range want {
			want[i] = value(i)
		}
		got, _ := decompose(t, what, withEigenvalues(r, want))
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-13*max(math.Abs(want[n-1]), math.Abs(want[0])) {
				t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], want[i])
			}
		}
	}
}

func TestSymEigenSpecial(t *testing.T) {
	const n = 70
	diagonal, graded, zero := matrix.New[float64](n, n), matrix.New[float64](n, n), matrix.New[float64](n, n)
	path := matrix.New[float64](n, n)
	for i := range n {
		diagonal.Set(i, i, float64((i*37)%n))
		for k := range n {
			graded.Set(i, k, math.Pow(10, -float64(i+k)/3)*math.Cos(float64(i*k)))
		}
		if i > 0 {
			path.Set(i, i-1, 1)
		}
	}
	values, vectors := decompose(t, "diagonal", diagonal)
	for i, v := range values {
		if v != float64(i) || slices.Max(vectors.Row(i)) != 1 {
			t.Fatalf("diagonal: value %d is %v with vector %v", i, v, vectors.Row(i))
		}
	}
	values, _ = decompose(t, "zero", zero)
	if slices.Min(values) != 0 || slices.Max(values) != 0 {
		t.Fatalf("zero: values %v", values)
	}
	decompose(t, "graded down", graded)
	for i := range n {
		slices.Reverse(graded.Row(i))
	}
	for i := range n / 2 {
		for k := range n {
			a, b := graded.At(i, k), graded.At(n-1-i, k)
			graded.Set(i, k, b)
			graded.Set(n-1-i, k, a)
		}
	}
	decompose(t, "graded up", graded)
	values, _ = decompose(t, "path", path)
	for k, v := range values {
		if want := 2 * math.Cos(math.Pi*float64(n-k)/(n+1)); math.Abs(v-want) > 1e-14 {
			t.Fatalf("path: value %d is %v, want %v", k, v, want)
		}
	}
}

// TestSymEigenScale has elements whose squares overflow or underflow.
func TestSymEigenScale(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 3))
	a := randomSymmetric[float64](r, 50)
	want, _ := decompose(t, "plain", a)
	for _, exponent := range []int{-1000, -600, 600, 1015} {
		b := a.Clone()
		scaleRow(b.Data, math.Ldexp(1, exponent))
		got, vectors := make([]float64, 50), matrix.New[float64](50, 50)
		if err := SymEigen(nil, got, vectors, b); err != nil {
			t.Fatal(err)
		}
		requireOrthonormal(t, "scaled", vectors)
		for i := range want {
			if v := math.Ldexp(got[i], -exponent); math.Abs(v-want[i]) > 1e-13 {
				t.Fatalf("scaled by 2^%d: value %d is %v, want %v", exponent, i, v, want[i])
			}
		}
	}
}

func TestSymEigenInPlace(t *testing.T) {
	a := randomSymmetric[float64](rand.New(rand.NewPCG(23, 4)), 60)
	_, want := decompose(t, "apart", a)
	if err := SymEigen(nil, make([]float64, 60), a, a); err != nil {
		t.Fatal(err)
	}
	requireSameBits(t, "in place", want.Clone().Data, a.Clone().Data)
}

func TestSymEigenErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 5))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		a := randomSymmetric[float64](r, 40)
		a.Set(17, 5, bad)
		var notFinite *NotFiniteError
		err := SymEigen(nil, make([]float64, 40), matrix.New[float64](40, 40), a)
		if !errors.As(err, &notFinite) || notFinite.Row != 17 || notFinite.Col != 5 {
			t.Fatalf("%v: error %v", bad, err)
		}
	}
	j := new(eigenJob[float64])
	j.load(matrix.New[float64](5, 5), 0)
	j.reduce()
	j.accumulate()
	j.d[2], j.e[2] = math.NaN(), 1
	if at := j.iterate(); at < 1 || at > 3 {
		t.Fatalf("NaN in the tridiagonal matrix: index %d", at)
	}
}

func TestSymEigenSameBits(t *testing.T) {
	a := randomSymmetric[float64](rand.New(rand.NewPCG(23, 6)), 300)
	requireAnyThreads(t, "SymEigen", func() []float64 {
		values, vectors := make([]float64, 300), matrix.New[float64](300, 300)
		if err := SymEigen(nil, values, vectors, a); err != nil {
			t.Fatal(err)
		}
		return append(values, vectors.Data...)
	})
}

func TestSymEigenAllocatesNothing(t *testing.T) {
	a := randomSymmetric[float64](rand.New(rand.NewPCG(23, 7)), 200)
	values, vectors := make([]float64, 200), matrix.New[float64](200, 200)
	requireNoAllocs(t, "SymEigen", func() { _ = SymEigen(nil, values, vectors, a) })
}

func TestSymEigenShapes(t *testing.T) {
	a, b := matrix.New[float64](3, 3), matrix.New[float64](3, 4)
	values := make([]float64, 3)
	requireShapeError(t, b.Shape(), a.Shape(), func() { _ = SymEigen(nil, values, a, b) })
	requireShapeError(t, b.Shape(), a.Shape(), func() { _ = SymEigen(nil, values, b, a) })
	requireShapeError(t, matrix.Shape{Rows: 2, Cols: 1}, matrix.Shape{Rows: 3, Cols: 1},
		func() { _ = SymEigen(nil, values[:2], a, a) })
}
