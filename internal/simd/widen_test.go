package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWiden requires every number, and that nothing beside them is written.
func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for _, s := range Available[float64]() {
		for n := range 140 {
			src := random[float32](r, n)
			if n > 3 {
				src[n-1], src[n/2], src[1] = float32(math.NaN()), math.SmallestNonzeroFloat32, float32(math.Inf(-1))
			}
			dst := guarded(make([]float64, n))
			s.Widen(dst.body, src)
			dst.check(t)
			for i, v := range src {
				if math.Float64bits(dst.body[i]) != math.Float64bits(float64(v)) {
					t.Fatalf("%s: number %d of %d: %g, want %g", s.Name(), i, n, dst.body[i], v)
				}
			}
		}
		mustPanic(t, "too few numbers", func() { s.Widen(make([]float64, 9), make([]float32, 8)) })
	}
}
