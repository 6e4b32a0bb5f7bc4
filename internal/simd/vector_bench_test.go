package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// benchBytes is the size of a slice. All slices of a primitive fit into the
// second-level cache.
const benchBytes = 128 << 10

// BenchmarkPrimitives measures the primitives on slices in cache. Bytes are
// those of all slices.
func BenchmarkPrimitives(b *testing.B) {
	b.Run("float32", func(b *testing.B) { benchPrimitives[float32](b, benchBytes/4) })
	b.Run("float64", func(b *testing.B) { benchPrimitives[float64](b, benchBytes/8) })
}

func benchPrimitives[T Float](b *testing.B, n int) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, p := range primitives[T]() {
		args := p.randomArgs(r, n)
		run := func(s *Set[T]) { p.run(s, args) }
		switch p.name {
		case "Adam":
			for i, v := range args[2] {
				args[2][i] = T(math.Abs(float64(v))) // second moments
			}
		case "MinLabel": // without the test's bookkeeping
			label := make([]int32, n)
			run = func(s *Set[T]) { s.MinLabel(args[0], label, args[1], 1) }
		case "DotRows", "SqDistRows": // in a shape of their own
			f, dst := rowFuncs[T]()[p.name], make([]T, n/128)
			run = func(s *Set[T]) { f(s, dst, args[0][:128], args[1], 128) }
		}
		for _, s := range Available[T]() {
			b.Run(p.name+"/"+s.Name(), func(b *testing.B) {
				b.SetBytes(int64(p.slices * benchBytes))
				for b.Loop() {
					run(s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
			})
		}
	}
}
