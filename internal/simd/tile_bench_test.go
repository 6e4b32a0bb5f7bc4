package simd

import (
	"fmt"
	"testing"
)

// BenchmarkMulTiles measures the micro-kernel on operands that stay in cache.
func BenchmarkMulTiles(b *testing.B) {
	for _, k := range []int{10, 64, 256, 512} {
		benchMulTiles[float32](b, k)
		benchMulTiles[float64](b, k)
	}
}

func benchMulTiles[T Float](b *testing.B, k int) {
	s := For[T]()
	m, n := s.TileRows(), s.TileCols()
	b.Run(fmt.Sprintf("%s/%dx%dx%d", s.Name(), m, k, n), func(b *testing.B) {
		x, y, c := make([]T, m*(k+16)), make([]T, k*n), make([]T, m*512)
		for b.Loop() {
			s.MulTiles(c, 512, m, n, 1, x, k+16, 1, y, k, 0, Ahead{})
		}
		b.ReportMetric(2*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}
