//go:build !noasm

package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// splitLoopsOf returns a set that splits numbers, which needs AVX-512 alone; only multiplying them
// needs tiles.
func splitLoopsOf(t *testing.T) *Set[float32] {
	t.Helper()
	for _, s := range Available[float32]() {
		if s.Name() == "avx512" {
			return amxF32()
		}
	}
	t.Skip("this CPU does not have AVX-512")
	return nil
}

// parts returns the sum of the three parts of element (i, k) of a left operand.
func parts(block []uint32, i, k int) (sum float64) {
	for part := range 3 {
		tile := block[(2*part+i/16)*256:]
		word := tile[i%16*16+k%16]
		if k < 16 {
			word <<= 16
		}
		sum += float64(math.Float32frombits(word & 0xffff0000))
	}
	return sum
}

// TestSplitRows: the parts sum to the number, exactly unless it is tiny, and the padding is zero.
func TestSplitRows(t *testing.T) {
	s := splitLoopsOf(t)
	r := rand.New(rand.NewPCG(3, 4))
	work := make([]float32, BlockWork)
	for range 200 {
		rows, cols := 1+r.IntN(BlockSide), 1+r.IntN(100)
		if r.IntN(2) == 0 {
			rows = BlockSide
		}
		ld := cols + r.IntN(5)
		src := random[float32](r, (rows-1)*ld+cols)
		for i := range src {
			src[i] = float32(math.Ldexp(float64(src[i]), r.IntN(220)-150))
		}
		blocks := (cols + BlockSide - 1) / BlockSide
		dst := make([]uint32, blocks*BlockWords)
		for i := range dst {
			dst[i] = 0xdeadbeef
		}
		s.SplitRows(dst, src, ld, rows, cols, work)
		for i := range BlockSide {
			for k := range blocks * BlockSide {
				want := 0.0
				if i < rows && k < cols {
					want = float64(src[i*ld+k])
				}
				tolerance := 0.0
				if math.Abs(want) < 0x1p-110 {
					tolerance = 0x1p-133 // the last digit of a part
				}
				if got := parts(dst[k/BlockSide*BlockWords:], i, k%BlockSide); !(math.Abs(got-want) <= tolerance) {
					t.Fatalf("%d x %d: element %d,%d is %g, want %g", rows, cols, i, k, got, want)
				}
			}
		}
	}
}

// TestTurnBlocks: splitting the columns of a matrix equals splitting the rows of
// its transpose and transposing the blocks.
func TestTurnBlocks(t *testing.T) {
	s := splitLoopsOf(t)
	r := rand.New(rand.NewPCG(5, 6))
	work := make([]float32, BlockWork)
	for range 50 {
		rows, cols := 1+r.IntN(BlockSide), 1+r.IntN(BlockSide)
		m, turned := random[float32](r, rows*cols), make([]float32, rows*cols)
		for i := range rows {
			for j := range cols {
				turned[j*rows+i] = m[i*cols+j]
			}
		}
		want, got := make([]uint32, BlockWords), make([]uint32, BlockWords)
		s.SplitCols(want, BlockWords, m, cols, rows, cols, work)
		s.SplitRows(got, turned, rows, cols, rows, work)
		s.TurnBlocks(got)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%d x %d: word %d differs", rows, cols, i)
			}
		}
	}
}
