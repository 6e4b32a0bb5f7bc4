package simd

import (
	"fmt"
	"testing"
)

// BenchmarkMulBlocks measures the ceiling of products of split numbers: the
// operands are already split and stay in the second-level cache.
func BenchmarkMulBlocks(b *testing.B) {
	s := For[float32]()
	if !s.Splits() {
		b.Skip("the set in use does not multiply split numbers")
	}
	const blocks = 16
	for _, panels := range []int{1, 4, 8, 16} {
		b.Run(fmt.Sprintf("panels=%d", panels), func(b *testing.B) {
			left, right := make([]uint32, blocks*BlockWords), make([]uint32, panels*blocks*BlockWords)
			cols := panels * BlockSide
			c, work := make([]float32, BlockSide*cols), make([]float32, BlockWork)
			for b.Loop() {
				s.MulBlocks(c, cols, BlockSide, cols, 1, left, right, nil, nil, 0, 0, 0, work)
			}
			b.ReportMetric(2*float64(BlockSide*cols*blocks*BlockSide)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkSplit splits a left operand of 32 x 512 and transposes it.
func BenchmarkSplit(b *testing.B) {
	s := For[float32]()
	if !s.Splits() {
		b.Skip("the set in use does not multiply split numbers")
	}
	const cols = 512
	src, work := make([]float32, BlockSide*cols), make([]float32, BlockWork)
	dst := make([]uint32, cols/BlockSide*BlockWords)
	for name, f := range map[string]func(){
		"rows": func() { s.SplitRows(dst, src, cols, BlockSide, cols, work) },
		"cols": func() { s.SplitCols(dst, BlockWords, src, cols, BlockSide, cols, work) },
		"turn": func() { s.TurnBlocks(dst) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(src)), "ns/number")
		})
	}
}
