package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// splitSet returns the set that multiplies split numbers.
func splitSet(t *testing.T) *Set[float32] {
	t.Helper()
	for _, s := range Available[float32]() {
		if s.Splits() {
			return s
		}
	}
	t.Skip("this CPU does not multiply split numbers")
	return nil
}

// TestMulBlocks compares the product with float64, with guards around c and garbage
// where c must not be read; the error stays within the bound in split.go.
func TestMulBlocks(t *testing.T) {
	s := splitSet(t)
	r := rand.New(rand.NewPCG(7, 8))
	work := make([]float32, BlockWork)
	for range 300 {
		rows, cols, blocks, tail := 1+r.IntN(BlockSide), 1+r.IntN(100), 1+r.IntN(5), r.IntN(4)
		k, ldc := blocks*BlockSide, cols+r.IntN(3)
		panels := (cols + BlockSide - 1) / BlockSide
		alpha, beta := []float32{1, -1, 0.5}[r.IntN(3)], []float32{0, 1, -0.25}[r.IntN(3)]
		a, b := random[float32](r, rows*k), random[float32](r, k*cols)
		tailA, tailB := random[float32](r, rows*tail), random[float32](r, tail*panels*BlockSide)
		left, right := make([]uint32, blocks*BlockWords), make([]uint32, panels*blocks*BlockWords)
		s.SplitRows(left, a, k, rows, k, work)
		for i := range blocks {
			s.SplitCols(right[i*BlockWords:], blocks*BlockWords, b[i*BlockSide*cols:], cols, BlockSide, cols, work)
		}
		before := random[float32](r, (rows-1)*ldc+cols)
		got := guarded(before)
		if beta == 0 {
			got.body[0] = float32(math.NaN()) // must not be read
		}
		s.MulBlocks(got.body, ldc, rows, cols, alpha, left, right, tailA, tailB, tail, panels*BlockSide, beta, work)
		got.check(t)
		for i := range rows {
			for j := range cols {
				sum, size := 0.0, 0.0
				for p := range k {
					v := float64(a[i*k+p]) * float64(b[p*cols+j])
					sum, size = sum+v, size+math.Abs(v)
				}
				for p := range tail {
					v := float64(tailA[i*tail+p]) * float64(tailB[p*panels*BlockSide+j])
					sum, size = sum+v, size+math.Abs(v)
				}
				want := float64(alpha) * sum
				if beta != 0 {
					want += float64(beta) * float64(before[i*ldc+j])
					size += math.Abs(float64(before[i*ldc+j]))
				}
				bound := 0x1p-24 * float64(20+6*blocks+tail+2) * size
				if d := math.Abs(float64(got.body[i*ldc+j]) - want); !(d <= bound) {
					t.Fatalf("%d x %d x %d, tail %d: element %d,%d is %g, want %g, off by %.3g of the "+
						"bound", rows, k, cols, tail, i, j, got.body[i*ldc+j], want, d/bound)
				}
			}
		}
	}
}

// TestMulBlocksNotFinite: a number that is not finite, or too large, makes its row
// or column of the product NaN, and no other.
func TestMulBlocksNotFinite(t *testing.T) {
	s := splitSet(t)
	// Infinities, a number that rounds to one, NaN of several digits.
	for _, bits := range []uint32{0x7f800000, 0xff800000, 0x7f7f8000, 0x7fc00000, 0x7f800001, 0x7fffffff, 0xffffffff} {
		for at := range BlockSide {
			bad := ones()
			bad[at] = math.Float32frombits(bits)
			c := multiplyBlocks(s, bad, ones(), false)
			turned := multiplyBlocks(s, ones(), bad, false)
			alsoTurned := multiplyBlocks(s, ones(), bad, true)
			for i := range BlockSide {
				for j := range BlockSide {
					what := fmt.Sprintf("%x in place %d: [%d,%d]", bits, at, i, j)
					mustBeNaN(t, what+", left", c[i*BlockSide+j], i == 0)
					mustBeNaN(t, what+", right", turned[i*BlockSide+j], j == at)
					mustBeNaN(t, what+", turned", alsoTurned[i*BlockSide+j], j == 0)
				}
			}
		}
	}
}

func mustBeNaN(t *testing.T, what string, v float32, want bool) {
	t.Helper()
	if want != (v != v) || !want && v != BlockSide {
		t.Fatalf("%s is %v", what, v)
	}
}

func ones() []float32 {
	x := make([]float32, BlockWork)
	for i := range x {
		x[i] = 1
	}
	return x
}

// multiplyBlocks returns the product of two blocks, with the right one transposed
// on request.
func multiplyBlocks(s *Set[float32], a, b []float32, transposed bool) []float32 {
	work, c := make([]float32, BlockWork), make([]float32, BlockWork)
	left, right := make([]uint32, BlockWords), make([]uint32, BlockWords)
	s.SplitRows(left, a, BlockSide, BlockSide, BlockSide, work)
	if transposed {
		s.SplitRows(right, b, BlockSide, BlockSide, BlockSide, work)
		s.TurnBlocks(right)
	} else {
		s.SplitCols(right, BlockWords, b, BlockSide, BlockSide, BlockSide, work)
	}
	s.MulBlocks(c, BlockSide, BlockSide, BlockSide, 1, left, right, nil, nil, 0, 0, 0, work)
	return c
}

// TestMulBlocksBound has numbers of one sign and of very different sizes, whose
// errors do not cancel.
func TestMulBlocksBound(t *testing.T) {
	s := splitSet(t)
	r := rand.New(rand.NewPCG(9, 10))
	for trial := range 100 {
		a, b := make([]float32, BlockWork), make([]float32, BlockWork)
		for i := range a {
			a[i] = float32(math.Ldexp(1+r.Float64(), r.IntN(1+trial%20)))
			b[i] = float32(math.Ldexp(1+r.Float64(), -r.IntN(1+trial%20)))
		}
		c := multiplyBlocks(s, a, b, trial%2 == 1)
		for i := range BlockSide {
			for j := range BlockSide {
				sum := 0.0
				for k := range BlockSide {
					right := b[k*BlockSide+j]
					if trial%2 == 1 {
						right = b[j*BlockSide+k]
					}
					sum += float64(a[i*BlockSide+k]) * float64(right)
				}
				if off := math.Abs(float64(c[i*BlockSide+j])-sum) / sum; off > 26*0x1p-24 {
					t.Fatalf("[%d,%d] is off by %.1f units", i, j, off*0x1p24)
				}
			}
		}
	}
}

func TestBlocksRefuse(t *testing.T) {
	s := splitSet(t)
	x, work, words := ones(), make([]float32, BlockWork), make([]uint32, BlockWords)
	mustPanic(t, "too many rows", func() { s.SplitRows(words, x, 1, BlockSide+1, 1, work) })
	mustPanic(t, "a short source", func() { s.SplitRows(words, x[:100], BlockSide, BlockSide, BlockSide, work) })
	mustPanic(t, "a short destination", func() { s.SplitRows(words[1:], x, BlockSide, BlockSide, BlockSide, work) })
	mustPanic(t, "blocks that overlap", func() { s.SplitCols(words, 1, x, BlockSide, BlockSide, BlockSide, work) })
	mustPanic(t, "a short work space", func() { s.SplitCols(words, BlockWords, x, BlockSide, 3, 3, work[1:]) })
	mul := func(c []float32, rows, cols int, a, b []uint32, tail int) func() {
		return func() { s.MulBlocks(c, BlockSide, rows, cols, 1, a, b, x[:1], x[:1], tail, BlockSide, 0, work) }
	}
	mustPanic(t, "a product of too many rows", mul(x, BlockSide+1, 1, words, words, 0))
	mustPanic(t, "a short product", mul(x[1:], BlockSide, BlockSide, words, words, 0))
	mustPanic(t, "no left operand", mul(x, 1, 1, nil, words, 0))
	mustPanic(t, "a short right operand", mul(x, 1, 1, words, words[1:], 0))
	mustPanic(t, "a short tail", mul(x, 2, 1, words, words, 1))
}
