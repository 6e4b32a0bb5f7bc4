package simd

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkPrimitives measures every primitive on slices that stay in the
// second-level cache. Bytes are those of all slices.
func BenchmarkPrimitives(b *testing.B) {
	b.Run("float32", func(b *testing.B) { benchPrimitives[float32](b, 4) })
	b.Run("float64", func(b *testing.B) { benchPrimitives[float64](b, 8) })
}

func benchPrimitives[T Float](b *testing.B, size int) {
	const total = 128 << 10 // bytes of a slice
	r := rand.New(rand.NewPCG(15, 16))
	for _, p := range primitives[T]() {
		for _, s := range Available[T]() {
			b.Run(p.name+"/"+s.Name(), func(b *testing.B) {
				args := p.randomArgs(r, total/size)
				b.SetBytes(int64(p.slices * total))
				for b.Loop() {
					p.run(s, args)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(total/size), "ns/element")
			})
		}
	}
}
