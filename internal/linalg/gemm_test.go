package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/nextbatch/nextbatch/matrix"
)

// strided returns a random matrix with up to three elements of padding per row.
func strided[T matrix.Float](r *rand.Rand, rows, cols int) matrix.Dense[T] {
	stride := cols + r.IntN(4)
	d := matrix.Dense[T]{Rows: rows, Cols: cols, Stride: stride, Data: make([]T, max(0, rows*stride))}
	for i := range d.Data {
		d.Data[i] = T(r.NormFloat64())
	}
	return d
}

func at[T matrix.Float](m matrix.Dense[T], op Op, i, j int) float64 {
	if op == Trans {
		i, j = j, i
	}
	return float64(m.At(i, j))
}

// plainGemm is the float64 triple loop with which Gemm is compared.
func plainGemm[T matrix.Float](c matrix.Dense[T], alpha T, a matrix.Dense[T], opA Op, b matrix.Dense[T], opB Op,
	beta T) matrix.Dense[float64] {
	want := matrix.New[float64](c.Rows, c.Cols)
	inner := opA.shape(a.Rows, a.Cols).Cols
	for i := range c.Rows {
		for j := range c.Cols {
			sum := 0.0
			for k := range inner {
				sum += at(a, opA, i, k) * at(b, opB, k, j)
			}
			sum *= float64(alpha)
			if beta != 0 {
				sum += float64(beta) * float64(c.At(i, j))
			}
			want.Set(i, j, sum)
		}
	}
	return want
}

func TestGemm(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testGemm[float32](t, 2e-6) })
	t.Run("float64", func(t *testing.T) { testGemm[float64](t, 4e-15) })
}

func testGemm[T matrix.Float](t *testing.T, tol float64) {
	r := rand.New(rand.NewPCG(11, 12))
	for trial := range 120 {
		limit := []int{8, 40, 150}[trial%3]
		m, k, n := r.IntN(limit), r.IntN(limit), r.IntN(limit)
		if trial%20 == 7 {
			k = 1000 + r.IntN(1000) // more than one block of the sum
		}
		opA, opB := Op(r.IntN(2) == 1), Op(r.IntN(2) == 1)
		a := strided[T](r, opA.shape(m, k).Rows, opA.shape(m, k).Cols)
		b := strided[T](r, opB.shape(k, n).Rows, opB.shape(k, n).Cols)
		c := strided[T](r, m, n)
		alpha, beta := []T{1, -1, 0.5}[r.IntN(3)], []T{0, 1, -2}[r.IntN(3)]
		want := plainGemm(c, alpha, a, opA, b, opB, beta)
		padding := paddingOf(c)
		if beta == 0 && m*n > 0 {
			c.Set(m/2, n/2, T(math.NaN())) // must not be read
		}
		Gemm(nil, c, alpha, a, opA, b, opB, beta)
		scale := 1 + math.Sqrt(float64(k))
		for i := range m {
			for j := range n {
				if got := float64(c.At(i, j)); !(math.Abs(got-want.At(i, j)) <= tol*scale*(3+math.Abs(want.At(i, j)))) {
					t.Fatalf("%dx%dx%d, %v %v, alpha %v, beta %v: [%d,%d] = %v, want %v",
						m, k, n, opA, opB, alpha, beta, i, j, got, want.At(i, j))
				}
			}
		}
		for i, v := range paddingOf(c) {
			if v != padding[i] {
				t.Fatalf("%dx%dx%d: wrote into the padding between rows", m, k, n)
			}
		}
	}
}

// paddingOf collects the elements between the rows.
func paddingOf[T matrix.Float](m matrix.Dense[T]) []T {
	var p []T
	for i := range m.Rows {
		p = append(p, m.Data[i*m.Stride+m.Cols:(i+1)*m.Stride]...)
	}
	return p
}

// TestGemmBadStride covers the copies that are made of rows that lie 4 KiB apart.
func TestGemmBadStride(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, op := range []Op{NoTrans, Trans} {
		full := strided[float32](r, 130, 1024)
		full.Stride = 1024
		a := full.Block(0, 100, 3, 103)
		b, c := strided[float32](r, 100, 70), strided[float32](r, 100, 70)
		want := plainGemm(c, 1, a, op, b, NoTrans, 0)
		Gemm(nil, c, 1, a, op, b, NoTrans, 0)
		for i := range c.Rows {
			for j := range c.Cols {
				if math.Abs(float64(c.At(i, j))-want.At(i, j)) > 1e-4 {
					t.Fatalf("op %v: [%d,%d] = %v, want %v", op, i, j, c.At(i, j), want.At(i, j))
				}
			}
		}
	}
}

func TestSyrk(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, op := range []Op{NoTrans, Trans} {
		for _, n := range []int{0, 1, 13, 33, 100, 577} {
			a := strided[float64](r, op.shape(n, 37).Rows, op.shape(n, 37).Cols)
			c := strided[float64](r, n, n)
			MirrorLower(c)
			want := plainGemm(c, 0.5, a, op, a, !op, 2)
			Syrk(nil, c, 0.5, a, op, 2)
			for i := range n {
				for j := range n {
					if math.Abs(c.At(i, j)-want.At(i, j)) > 1e-12 {
						t.Fatalf("n = %d, op %v: [%d,%d] = %v, want %v", n, op, i, j, c.At(i, j), want.At(i, j))
					}
				}
			}
		}
	}
}

// TestSameBitsForAnyThreads runs large products of all forms with several numbers
// of processors.
func TestSameBitsForAnyThreads(t *testing.T) {
	t.Run("float32", testSameBitsForAnyThreads[float32])
	t.Run("float64", testSameBitsForAnyThreads[float64])
}

func testSameBitsForAnyThreads[T matrix.Float](t *testing.T) {
	const m, k, n = 300, 1300, 200
	r := rand.New(rand.NewPCG(9, 10))
	for _, opA := range []Op{NoTrans, Trans} {
		left := opA.shape(m, k)
		a := strided[T](r, left.Rows, left.Cols)
		for _, opB := range []Op{NoTrans, Trans} {
			right := opB.shape(k, n)
			b := strided[T](r, right.Rows, right.Cols)
			requireAnyThreads(t, fmt.Sprintf("Gemm %v %v", opA, opB), func() []T {
				c := matrix.New[T](m, n)
				Gemm(nil, c, 1, a, opA, b, opB, 0)
				return c.Data
			})
		}
		requireAnyThreads(t, fmt.Sprintf("Syrk %v", opA), func() []T {
			c := matrix.New[T](m, m)
			Syrk(nil, c, 1, a, opA, 0)
			return c.Data
		})
	}
}

// requireAnyThreads requires the same result for several numbers of processors.
func requireAnyThreads[T matrix.Float](t *testing.T, what string, result func() []T) {
	t.Helper()
	var first []T
	for _, procs := range []int{1, 2, 3, 7} {
		withProcs(t, procs, func() {
			got := result()
			if procs == 1 {
				first = got
			}
			requireSameBits(t, fmt.Sprintf("%s with %d processors", what, procs), first, got)
		})
	}
}

func withProcs(t *testing.T, n int, body func()) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	body()
}

func requireSameBits[T matrix.Float](t *testing.T, what string, want, got []T) {
	t.Helper()
	for i, v := range want {
		if math.Float64bits(float64(v)) != math.Float64bits(float64(got[i])) {
			t.Fatalf("%s: element %d is %v, was %v with one", what, i, got[i], v)
		}
	}
}

// TestGemmSteadyStateAllocatesNothing also covers the pool.
func TestGemmSteadyStateAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a, b, c := strided[float32](r, 256, 100), strided[float32](r, 100, 64), strided[float32](r, 256, 64)
	requireNoAllocs(t, "a product", func() { Gemm(nil, c, 1, a, NoTrans, b, NoTrans, 0) })
}

func TestGemmShapes(t *testing.T) {
	a, b := matrix.New[float32](2, 3), matrix.New[float32](4, 5)
	defer func() {
		err, ok := recover().(matrix.ShapeError)
		if !ok || err.Got != b.Shape() || err.Want != a.Shape() {
			t.Fatalf("recovered %#v", err)
		}
	}()
	Gemm(nil, matrix.New[float32](2, 5), 1, a, NoTrans, b, NoTrans, 0)
}

// witness is an epilogue that records what it sees of a product.
type witness[T matrix.Float] struct {
	product, saw matrix.Dense[T]
	times        []int32
}

func newWitness[T matrix.Float](product matrix.Dense[T]) *witness[T] {
	return &witness[T]{product, matrix.New[T](product.Rows, product.Cols), make([]int32, product.Rows*product.Cols)}
}

func (w *witness[T]) Finish(r0, r1, c0, c1, _ int) {
	for i := r0; i < r1; i++ {
		for j := c0; j < c1; j++ {
			w.times[i*w.saw.Cols+j]++ // each element belongs to one call, so to one thread
			w.saw.Set(i, j, w.product.At(i, j))
		}
	}
}

// check fails unless every element was seen once, when it was final.
func (w *witness[T]) check(t *testing.T, what string) {
	t.Helper()
	for i := range w.saw.Rows {
		for j := range w.saw.Cols {
			if n := w.times[i*w.saw.Cols+j]; n != 1 || w.saw.At(i, j) != w.product.At(i, j) {
				t.Fatalf("%s: [%d,%d] was finished %d times, as %v, and is %v", what, i, j, n, w.saw.At(i, j), w.product.At(i, j))
			}
		}
	}
}

func TestEpilogueSeesEachElementOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, k := range []int{0, 5, 1500} {
		a, b, c := strided[float64](r, 90, k), strided[float64](r, k, 70), strided[float64](r, 90, 70)
		seen := newWitness(c)
		gemmThen(nil, c, 1, a, NoTrans, b, NoTrans, 0, seen)
		seen.check(t, fmt.Sprintf("k = %d", k))
	}
}
